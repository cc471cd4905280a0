"""The paper's data sets: the registry, loading, preparing, verifying, and the command."""

import io
import json
import lzma
import os
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from pairsift.cli.datasets import datasets as command
from pairsift.data.datasets import (
    DATASETS,
    DatasetError,
    fetch,
    find_dataset,
    list_here,
    load_dataset,
    load_dataset_rows,
    part_path,
    registry,
    verify,
)

# The paper's Table "Data Sets Statistics": data, positive, negative, points, pairs, dimension, AUC; * is multi-class.
TABLE = """
MQ-08 931 14280 15211 26589360 10042 CV
letter* 789 19211 20000 30314958 16 CV
yahoo2 638 34177 34815 43609852 1966 test
yahoo2_v2 1899 32916 34815 125014968 1966 test
protein* 8198 9568 17766 156876928 357 test
news20 9999 9997 19996 199920006 1355191 CV
rcv1 10491 9751 20242 204595482 47236 CV
a9a 7841 24720 32561 387659040 123 test
bank 5289 39922 45211 422294916 51 CV
ijcnn1 4853 45137 49990 438099722 22 CV
MQ-07 3863 65760 69623 508061760 10036 CV
shuttle* 34108 9392 43500 640684672 9 test
mnist* 5923 54077 60000 640596142 780 test
connect* 44473 23084 67557 2053229464 126 CV
acoustic* 18261 60562 78823 2211845364 50 test
real-sim 22238 50071 72309 2226957796 20958 CV
yahoo1 8941 464193 473134 8300699226 20643 test
yahoo1_v2 45111 428023 473134 38617091106 20643 test
covtype 297711 283301 581012 168683648022 54 CV
url 792145 1603985 2396130 2541177395650 3231961 CV
"""


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """An empty PAIRSIFT_DATA and an empty cache."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("PAIRSIFT_DATA", str(data))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return data, cache / "pairsift" / "datasets"


def put(folder, name, part, text):
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / f"{name}.{part}.svm.xz").write_bytes(lzma.compress(text))


def small(name="letter", **changes):
    return replace(DATASETS[name], points=3, positives=1, negatives=2, dimension=4, **changes)


def run(*arguments):
    return CliRunner().invoke(command, list(arguments))


# The registry


def test_registry_equals_the_papers_table():
    lines = [line.split() for line in TABLE.strip().splitlines()]
    assert [find_dataset(line[0].rstrip("*")).name for line in lines] == list(DATASETS)
    for name, *numbers, auc in lines:
        dataset = find_dataset(name.rstrip("*"))
        here = [dataset.positives, dataset.negatives, dataset.points, dataset.pairs, dataset.dimension]
        assert here == [int(number) for number in numbers]
        assert (dataset.auc, dataset.multiclass) == (auc, name.endswith("*"))


@pytest.mark.parametrize("name", DATASETS)
def test_every_entry_is_complete(name):
    dataset = DATASETS[name]
    assert dataset.published.startswith("https://")
    assert dataset.licence
    assert dataset.positive_labels
    assert dataset.fetchable == (dataset.obtain is None)
    assert (dataset.auc == "CV") or dataset.parts == ("train", "test")
    names = [file.name for file in dataset.files]
    assert len(set(names)) == len(names)
    for file in dataset.files:
        assert file.name
        assert "/" not in file.name
        assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32


@pytest.mark.parametrize("name", ["../a9a", "/etc/passwd", "a9a/../a9a", "..", "", "a9a\x00", "nosuch", "*"])
def test_names_never_lead_out_of_the_folder(name, folders):
    for call in (find_dataset, load_dataset, part_path, verify, fetch):
        with pytest.raises(DatasetError, match=r"There is no data set .* the paper's are: MQ2008, letter"):
            call(name)
    assert run("fetch", name).exit_code == 2


# Loading


def test_load_from_data_folder_then_cache(folders):
    data, cache = folders
    put(cache, "letter", "train", b"+1 1:1 4:0.5\n-1 2:1\n")
    X, y = load_dataset("Letter")
    assert X.shape == (2, 4)
    assert y.tolist() == [1, -1]
    put(data, "letter", "train", b"+1 1:1\n")
    assert load_dataset("letter")[0].shape == (1, 1)
    assert list_here() == ["letter"]
    rows, labels, _ = load_dataset_rows("letter")
    assert (rows.n_rows, labels.tolist()) == (1, [1])


def test_test_part_has_the_width_of_train(folders):
    data, _ = folders
    put(data, "a9a", "train", b"+1 1:1 9:0.5\n")
    put(data, "a9a", "test", b"-1 2:1\n")
    assert load_dataset("a9a", "test")[0].shape == (1, 9)
    (data / "a9a" / "a9a.meta.json").write_text(json.dumps({"parts": {"test": {"dim": 12}}}))
    assert load_dataset("a9a", split="test")[0].shape == (1, 12)


def test_what_is_not_here_says_so(folders):
    data, _ = folders
    put(data, "letter", "train", b"+1 1:1\n")
    with pytest.raises(DatasetError, match=r"a9a is not here .*here are: letter\). Run: pairsift datasets fetch a9a"):
        load_dataset("a9a")
    with pytest.raises(DatasetError, match=r"yahoo1 is not here .*Ask Yahoo Webscope for 'C14"):
        load_dataset("yahoo1")
    with pytest.raises(DatasetError, match=r"no test part of letter: the paper uses 5-fold"):
        load_dataset("letter", "test")
    with pytest.raises(DatasetError, match=r"split must be 'train' or 'test'; got 'all'"):
        load_dataset("letter", "all")


def test_damaged_description(folders):
    data, _ = folders
    put(data, "letter", "train", b"+1 1:1\n")
    (data / "letter" / "letter.meta.json").write_text("{")
    with pytest.raises(DatasetError, match=r"letter.meta.json cannot be read"):
        load_dataset("letter")


# Preparing, from files that the user brings


def test_prepare_makes_first_class_against_rest(folders, tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "letter.scale").write_bytes(b"1\t1:0.5  2:-1\r\n26 3:1 \n")
    (raw / "letter.scale.t").write_bytes(b"2.0 4:0.125 # note\n\n")
    dataset = small(files=tuple(replace(file, sha256=None) for file in DATASETS["letter"].files))
    result = fetch(dataset, folder=folders[0], raw=raw)
    assert result.status == "equal"
    X, y = load_dataset("letter")
    assert y.tolist() == [1, -1, -1]
    assert X.toarray().tolist() == [[0.5, -1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0.125]]
    meta = json.loads((folders[0] / "letter" / "letter.meta.json").read_text())
    assert meta["parts"]["train"]["rows"] == 3
    assert sorted(p.name for p in (folders[0] / "letter").iterdir()) == ["letter.meta.json", "letter.train.svm.xz"]


def test_prepare_keeps_query_ids_apart(folders, tmp_path):
    for k in range(1, 6):
        (tmp_path / f"S{k}.txt").write_bytes(b"2 qid:%d 1:0.5 #docid = GX0\n1 qid:%d 46:1\n" % (k, k))
    fetch("MQ2007", folder=folders[0], raw=tmp_path)
    X, y = load_dataset("MQ-07")
    assert X.shape == (10, 46)
    assert y.tolist() == [1, -1] * 5
    ids = (folders[0] / "MQ2007" / "MQ2007.train.qid").read_text().split()
    assert ids == [str(k // 2 + 1) for k in range(10)]


def test_prepare_bank(folders, tmp_path):
    columns = (
        "age;job;marital;education;default;balance;housing;loan;contact;day;month;duration;campaign;pdays;previous"
    )
    text = (
        f'{columns};poutcome;"y"\n'
        '20;"b";"m";"p";"no";0;"no";"no";"c";1;"may";10;1;-1;0;"u";"no"\n'
        '40;"a";"m";"p";"no";50;"yes";"no";"c";2;"jun";30;1;-1;0;"u";"yes"\n'
        '30;"a";"m";"p";"no";100;"yes";"no";"c";2;"jun";20;1;-1;4;"u";"no"\n'
    )
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("bank-full.csv", text)
    with zipfile.ZipFile(tmp_path / "bank+marketing.zip", "w") as archive:
        archive.writestr("bank.zip", inner.getvalue())
    fetch("bank", folder=folders[0], raw=tmp_path)
    X, y = load_dataset("bank")
    assert y.tolist() == [-1, 1, -1]
    # age, balance, day, duration, campaign, pdays, previous, then job=a, job=b, marital=m, ...
    np.testing.assert_array_equal(
        X.toarray()[:, :9],
        [[0, 0, 0, 0, 0, 0, 0, 0, 1], [1, 0.5, 1, 1, 0, 0, 0, 1, 0], [0.5, 1, 1, 0.5, 0, 0, 1, 1, 0]],
    )
    assert X.shape[1] == 7 + 2 + 1 + 1 + 1 + 2 + 1 + 1 + 2 + 1
    (tmp_path / "bank+marketing.zip").write_bytes(b"no archive")
    with pytest.raises(DatasetError, match=r"not UCI's archive of the bank data"):
        fetch("bank", folder=folders[0], raw=tmp_path, force=True)


def test_raw_files_are_checked(folders, tmp_path):
    with pytest.raises(DatasetError, match=r"has no file letter.scale"):
        fetch("letter", folder=folders[0], raw=tmp_path)
    (tmp_path / "letter.scale").write_bytes(b"1 1:1\n")
    with pytest.raises(DatasetError, match=r"letter.scale has the wrong checksum"):
        fetch("letter", folder=folders[0], raw=tmp_path)
    (tmp_path / "connect-4").write_bytes(b"1 1:1\nwin 1:1\n")
    with pytest.raises(DatasetError, match=r"connect-4 has the label b'win'"):
        fetch("connect-4", folder=folders[0], raw=tmp_path)
    assert list_here() == []
    with pytest.raises(DatasetError, match=r"cannot be downloaded freely. Ask Yahoo Webscope"):
        fetch("yahoo2_v2", folder=folders[0])


# Verifying


def test_verify_finds_differences(folders, monkeypatch):
    data, _ = folders
    monkeypatch.setitem(registry.DATASETS, "letter", small())
    assert verify("letter").status == "not here"
    put(data, "letter", "train", b"+1 1:1\n-1 4:1\n-1\n")
    assert verify("letter").status == "equal"
    put(data, "letter", "train", b"+1 1:1\n+1 4:1\n-1\n")
    result = verify("letter")
    assert result.status == "different"
    assert {c.what: (c.expected, c.here) for c in result.checks if c.status != "equal"} == {
        "positives": (1, 2),
        "negatives": (2, 1),
    }
    put(data, "letter", "train", b"+1 1:1\nrubbish\n")
    assert "line 2, column 1" in verify("letter").checks[0].reason


def test_verify_compares_with_the_description(folders, monkeypatch):
    data, _ = folders
    monkeypatch.setitem(registry.DATASETS, "letter", small())
    put(data, "letter", "train", b"+1 1:1\n-1 4:1\n-1\n")
    meta = {"parts": {"train": {"rows": 3, "nnz": 7, "sha256_xz": "00"}}}
    (data / "letter" / "letter.meta.json").write_text(json.dumps(meta))
    result = verify("letter")
    assert result.status == "different"
    assert [c.what for c in result.checks if c.status == "different"] == ["train stored values", "train sha256"]


def test_a_stated_difference_needs_the_stated_value(folders, monkeypatch):
    data, _ = folders
    changed = small("MQ2008")
    monkeypatch.setitem(registry.DATASETS, "MQ2008", changed)
    put(data, "MQ2008", "train", b"+1 46:1\n-1 4:1\n-1\n")
    assert verify("MQ2008").status == "stated difference"
    put(data, "MQ2008", "train", b"+1 45:1\n-1 4:1\n-1\n")
    assert verify("MQ2008").status == "different"


@pytest.mark.slow
@pytest.mark.skipif("PAIRSIFT_DATA" not in os.environ, reason="PAIRSIFT_DATA is not set")
def test_verify_passes_for_the_sets_that_are_here():
    here = list_here()
    if not here:
        pytest.skip("no data set is in PAIRSIFT_DATA")
    result = run("verify", "--json")
    assert result.exit_code == 0
    statuses = {record["name"]: record["status"] for record in json.loads(result.output)}
    for name in DATASETS:
        expected = "not here" if name not in here else "stated difference" if name in ("MQ2008", "news20") else "equal"
        assert statuses[name] == expected


# The command


def test_list_command(folders):
    put(folders[0], "letter", "train", b"+1 1:1\n")
    result = run("list")
    assert result.exit_code == 0
    assert result.output.count("\n") == 22
    records = json.loads(run("list", "--json").output)
    assert len(records) == 20
    assert [r["name"] for r in records if r["here"]] == ["letter"]
    assert "Webscope" in next(r["obtain"] for r in records if r["name"] == "yahoo1")


def test_verify_command(folders, monkeypatch):
    assert run("verify").exit_code == 0
    missing = run("verify", "letter")
    assert missing.exit_code == 1
    assert "not here" in missing.output
    put(folders[0], "letter", "train", b"+1 1:1\n")
    result = run("verify", "letter")
    assert result.exit_code == 1
    assert "letter     different: points 1, in the paper 20000" in result.output
    assert run("verify", "nosuch").exit_code == 2


def test_fetch_command_says_how_to_obtain(folders):
    result = run("fetch", "yahoo1")
    assert result.exit_code == 1
    assert "Ask Yahoo Webscope" in result.output
    assert "Traceback" not in result.output
