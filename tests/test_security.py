"""The trust boundary of docs/security.md: files execute nothing, names are no paths, what we write is escaped."""

import ast
import json
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import pairsift
from pairsift import LinearModel
from pairsift.data.datasets import DATASETS, DatasetError, load_dataset
from pairsift.data.datasets.download import check_address, download
from pairsift.data.datasets.prepare import _open_bank
from pairsift.data.encoding import numbers_encoding
from pairsift.export import export_model
from test_download import server  # noqa: F401 - a fixture

SOURCES = sorted(Path(pairsift.__file__).parent.rglob("*.py"))
TOOLS = Path(__file__).resolve().parent.parent / "tools"
HOSTILE = [
    '"><script>alert(1)</script>',
    "'; drop table rows; --",
    '"; drop table rows; --',
    "a\nimport os",
    "{{x}}",
    "\\",
]


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def test_no_source_can_execute_what_is_in_a_file():
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not {"pickle", "dill", "joblib", "shelve", "marshal", "xml", "yaml", "tarfile"} & set(imported(tree)), (
            path
        )
        for node, called in calls(tree):
            where = (path, node.lineno, called)
            assert called not in {"eval", "exec", "compile", "__import__", "os.system", "os.popen"}, where
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            assert given.get("shell", "False") == given.get("allow_pickle", "False") == "False", where
            assert called != "np.load" or "allow_pickle" in given, where
            assert not called.endswith((".extractall", ".extract", "unpack_archive")), where


def hostile_model():
    names = np.array(HOSTILE, dtype=object)
    coef = np.arange(1.0, len(names) + 1)[np.newaxis]
    return LinearModel(coef, np.array([0.5]), np.array([0, 1]), names, encoding=numbers_encoding(names))


def test_sql_with_hostile_names_is_one_statement_that_gives_the_scores():
    text = export_model(hostile_model(), "sql").decode()
    database = sqlite3.connect(":memory:")
    quoted = ", ".join('"' + name.replace('"', '""') + '" REAL' for name in HOSTILE)
    table = "data" if "FROM data" in text else "rows"
    database.execute(f"CREATE TABLE {table} ({quoted})")
    database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(HOSTILE))})", [1.0] * len(HOSTILE))
    expression = text.strip().rstrip(";")
    query = expression if "FROM" in expression.upper() else f"SELECT {expression} FROM {table}"
    row = database.execute(query).fetchone()  # sqlite3 refuses more than one statement
    assert row[-1] == pytest.approx(0.5 + sum(range(1, len(HOSTILE) + 1)))
    assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)


def test_json_and_python_with_hostile_names_hold_them_as_text():
    assert set(HOSTILE) <= set(
        json.dumps(json.loads(export_model(hostile_model(), "json"))) and _texts(hostile_model())
    )
    tree = ast.parse(export_model(hostile_model(), "python").decode())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert set(HOSTILE) <= texts
    assert "os" not in imported(tree)


def _texts(model):
    found = []

    def walk(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                found.append(key)
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
        elif isinstance(value, str):
            found.append(value)

    walk(json.loads(export_model(model, "json")))
    return found


def test_onnx_with_hostile_names_is_a_valid_model():
    onnx = pytest.importorskip("onnx")
    onnx.checker.check_model(onnx.load_from_string(export_model(hostile_model(), "onnx")))


def test_the_page_escapes_what_a_store_says(tmp_path):
    from made_up_store import Filler
    from pairsift.report import build_report, markdown, page

    filler = Filler(tmp_path / "r.sqlite")
    filler.put("auc", "a9a", "wsvm", status="failed", reason=HOSTILE[0], when=HOSTILE[0])
    filler.results.set_fact("seeds", HOSTILE[0])
    made = build_report(filler.results)
    filler.results.close()
    assert "<script>alert" not in page(made)
    assert "<script>alert" not in markdown(made)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a9a/../a9a", "a9a\x00", ".", ""])
def test_a_name_of_a_data_set_is_never_a_path(name):
    with pytest.raises(DatasetError, match="There is no data set"):
        load_dataset(name)


def test_members_of_an_archive_are_read_by_fixed_names(tmp_path):
    path = tmp_path / "bank.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../bank-full.csv", "evil")
    with pytest.raises(DatasetError, match="is not UCI's archive"):
        _open_bank(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["bank.zip"]


def test_all_addresses_of_the_registry_are_https():
    for dataset in DATASETS.values():
        for file in dataset.files:
            if file.url is not None:
                check_address(file.url)


@pytest.mark.parametrize(
    "url", ["http://example.org/x", "http://127.0.0.1.example.org/x", "ftp://127.0.0.1/x", "file:///x"]
)
def test_other_addresses_are_refused(url, tmp_path):
    """Plain http was fetched, where anyone on the way can change what comes."""
    with pytest.raises(DatasetError, match="Only https"):
        download(url, tmp_path / "x")


def test_a_redirect_to_plain_http_is_refused(server, tmp_path, monkeypatch):  # noqa: F811 - the fixture
    from test_download import Handler

    def redirect(self):
        self.send_response(302)
        self.send_header("Location", "http://example.org/x")
        self.end_headers()

    monkeypatch.setattr(Handler, "do_GET", redirect)
    with pytest.raises(DatasetError, match=r"Only https.*example\.org"):
        download(server.url(), tmp_path / "x")


def test_the_bill_of_materials_names_what_is_needed():
    done = subprocess.run([sys.executable, str(TOOLS / "sbom.py")], capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    assert made["bomFormat"] == "CycloneDX"
    assert {"numpy", "scipy", "scikit-learn", "safetensors", "click"} <= {part["name"] for part in made["components"]}
    known = {part["bom-ref"] for part in (*made["components"], made["metadata"]["component"])}
    assert {one for entry in made["dependencies"] for one in (entry["ref"], *entry["dependsOn"])} <= known
