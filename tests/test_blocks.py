"""One suite for every block source: its blocks equal the whole, and iterating twice gives the same."""

import numpy as np
import pytest
from scipy import sparse

from pairsift.data import blocks
from pairsift.data.block_rows import BlockRows
from pairsift.data.blocks import ArrayBlocks, Block, GeneratedBlocks, StoreBlocks, SvmlightBlocks
from pairsift.data.generate import GRAIN, RankingLaw, make_ranking, seed_from
from pairsift.data.rows import as_rows
from pairsift.data.svmlight import read_svmlight


def _sparse_data():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((500, 9)) < 0.3, rng.normal(size=(500, 9)), 0)
    X[:, 8] = 0
    X[400, 8] = 1  # the width shows late
    return sparse.csr_array(X), rng.integers(0, 2, 500) * 2.0 - 1


def _array(tmp_path, dtype, step):
    X, y = make_ranking(1000, 6, dtype=dtype, random_state=1)
    return ArrayBlocks(X, y, np.arange(1000) + 1.0, block_rows=step), as_rows(X), y


def _csr(tmp_path):
    X, y = _sparse_data()
    return ArrayBlocks(X, y, block_rows=70), as_rows(X), y


def _store(tmp_path, density):
    store = make_ranking(9000, 5, density=density, random_state=2, path=tmp_path / "rows.arrow")
    return StoreBlocks(store, block_bytes=3000), store.between(0, 9000), store.labels_between(0, 9000)


def _svmlight(tmp_path, first):
    X, y = _sparse_data()
    lines = [
        f"{int(label)} " + " ".join(f"{c + first}:{v!r}" for c, v in zip(row.indices, row.data.tolist(), strict=True))
        for label, row in zip(y, (X[[k]].tocsr() for k in range(500)), strict=True)
    ]
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    whole, labels = read_svmlight(path)
    return SvmlightBlocks(path, block_bytes=700), as_rows(whole), labels


def _generated(tmp_path, density):
    law = RankingLaw(2 * GRAIN + 5, 4, 0.2, 0.9, 0.0, density, np.float32, seed_from(3))
    rows, positive = law.between(0, 3)
    return GeneratedBlocks(law, block_grains=2), rows, positive.astype(np.int64)


SOURCES = {
    "array": lambda path: _array(path, np.float64, 77),
    "array float32": lambda path: _array(path, np.float32, 1000),
    "array, one block": lambda path: _array(path, np.float64, None),
    "sparse": _csr,
    "store": lambda path: _store(path, None),
    "sparse store": lambda path: _store(path, 0.5),
    "svmlight from one": lambda path: _svmlight(path, 1),
    "svmlight from zero": lambda path: _svmlight(path, 0),
    "generated": lambda path: _generated(path, None),
    "generated sparse": lambda path: _generated(path, 0.5),
}


def test_every_block_source_is_in_the_list(tmp_path):
    defined = {name for name, kind in vars(blocks).items() if name.endswith("Blocks") and hasattr(kind, "__iter__")}
    listed = set()
    for number, make in enumerate(SOURCES.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        listed.add(type(make(folder)[0]).__name__)
    assert defined == listed


@pytest.fixture(params=SOURCES)
def made(request, tmp_path):
    return SOURCES[request.param](tmp_path)


def test_blocks_equal_the_whole_and_again(made):
    source, whole, y = made
    for _ in range(2):
        place = 0
        for block in source:
            n = block.rows.n_rows
            assert n > 0
            assert block.first_row == place
            part = whole.take(np.arange(place, place + n))
            assert np.array_equal(block.rows.values, part.values)
            assert block.rows.values.dtype == whole.values.dtype
            if hasattr(whole, "columns"):
                assert np.array_equal(block.rows.columns, part.columns)
                assert np.array_equal(block.rows.starts, part.starts)
            assert np.array_equal(block.y, y[place : place + n])
            assert block.original_rows.shape == (n,)
            place += n
        assert place == whole.n_rows == len(y)


def test_two_iterations_at_once(made):
    source, whole, _ = made
    first, second = iter(source), iter(source)
    next(first)
    assert next(second).first_row == 0
    assert sum(block.rows.n_rows for block in second) < whole.n_rows
    assert np.array_equal(next(iter(source)).rows.values, next(iter(source)).rows.values)


def test_rows_over_blocks_have_the_bits_of_the_whole(made):
    source, whole, y = made
    rows = BlockRows(source)
    rng = np.random.default_rng(0)
    w, n = rng.normal(size=whole.n_features), whole.n_rows
    chosen = rng.integers(0, n, 300)
    assert (rows.n_rows, rows.n_features) == (n, whole.n_features)
    assert np.array_equal(rows.scores_between(w, 0, n), whole.scores_between(w, 0, n))
    assert np.array_equal(rows.scores_between(w, 31, n - 200), whole.scores_between(w, 31, n - 200))
    assert np.array_equal(rows.scores(w, chosen), whole.scores(w, chosen))
    assert np.array_equal(rows.take(chosen).values, whole.take(chosen).values)
    assert rows.take(chosen[:0]).n_rows == 0
    a = rng.normal(size=n)
    ours, theirs = np.zeros(whole.n_features), np.zeros(whole.n_features)
    rows.add_between(a[:40], 0, 40, ours)
    rows.add_between(a[40:], 40, n, ours)
    whole.kernel.add_combination(a, theirs)
    assert np.array_equal(ours, theirs)
    assert rows.problem().n_positive == np.count_nonzero(y == y.max())


def test_weights_reach_the_problem(tmp_path):
    source, _, y = SOURCES["array"](tmp_path)
    problem = BlockRows(source).problem()
    assert np.array_equal(problem.positive_weights, np.flatnonzero(y) + 1.0)


def test_original_numbers_of_a_store(tmp_path):
    store = make_ranking(3000, 2, random_state=0, path=tmp_path / "rows.arrow")
    original = np.concatenate([block.original_rows for block in StoreBlocks(store, block_bytes=100)])
    assert np.array_equal(np.sort(original), np.arange(3000))
    assert np.array_equal(original, store.original_between(0, 3000))


def test_a_generator_is_not_enough(tmp_path):
    X, y = make_ranking(1000, 3, random_state=0)
    rows = BlockRows(iter(ArrayBlocks(X, y, block_rows=100)))
    with pytest.raises(ValueError, match="iterable more than once"):
        rows.scores_between(np.zeros(3), 0, 1000)


def test_growing_sparse_blocks():
    narrow, wide = as_rows(sparse.csr_array(np.eye(3))), as_rows(sparse.csr_array(np.eye(5)))
    y = np.array([0, 1, 0, 1, 0])
    rows = BlockRows([Block(narrow, y[:3], None, 0), Block(wide, y, None, 3)])
    assert rows.n_features == 5
    assert rows.scores_between(np.arange(1.0, 6), 0, 8).tolist() == [1, 2, 3, 1, 2, 3, 4, 5]
    assert rows.take(np.array([7, 0])).n_features == 5


def test_faults():
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match="one label for each of the 4 rows"):
        ArrayBlocks(X, y[:3])
    with pytest.raises(ValueError, match="at least one row"):
        ArrayBlocks(X, y, block_rows=0)
    with pytest.raises(ValueError, match=r"needs y of shape \(4,\)"):
        Block(as_rows(X), y[:3], None, 0)
    with pytest.raises(ValueError, match="no rows"):
        BlockRows([])
    with pytest.raises(ValueError, match="begins at row 5"):
        BlockRows([Block(as_rows(X), y, None, 5)])
    rows = BlockRows(ArrayBlocks(X, y))
    with pytest.raises(ValueError, match="below 4"):
        rows.take(np.array([4]))
    with pytest.raises(ValueError, match="there are 4 rows"):
        rows.scores_between(np.zeros(2), 0, 5)
    mixed = [Block(as_rows(X), y, None, 0), Block(as_rows(np.zeros((4, 3))), y, None, 4)]
    with pytest.raises(ValueError, match="Dense blocks must have one number of columns"):
        BlockRows(mixed).scores_between(np.zeros(3), 0, 8)
