"""The same seed gives the same bits: for any number of threads, in any process, with other vector instructions.

Fits that run at once, in threads or in processes, are the fits that run alone.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.model_selection import GridSearchCV

from pairsift import auc, estimators, make_ranking

SAMPLINGS = ["random", "soft-close", "soft-tolerant", "hard-close", "hard-correct"]
CASES = [(name, {}) for name in estimators.__all__] + [("ActiveRankSVM", {"sampling": name}) for name in SAMPLINGS]
QUICK = {"ActiveRankSVM": {"budget": 1000}, "CombinedRankingRegression": {"n_steps": 20_000}}


def make_rows():
    """Rows that do not depend on NumPy's vector instructions, as those of `make_ranking` do in their last bits."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 8))
    return X, (X[:, 0] - X[:, 1] + rng.normal(size=3000) > 2).astype(int)


def fit_bits(case):
    """Return the bits of a fitted model."""
    name, options = case
    model = getattr(estimators, name)(random_state=5, **QUICK.get(name, {}), **options).fit(*make_rows())
    return model.coef_.tobytes().hex() + model.intercept_.tobytes().hex()


FIT_ALL = """
import json, sys
sys.path.insert(0, sys.argv[1])
import test_determinism as t
print(json.dumps([t.fit_bits(case) for case in t.CASES]))
"""


def bits_elsewhere(**variables):
    """Fit all cases in another process."""
    done = subprocess.run(
        [sys.executable, "-c", FIT_ALL, os.path.dirname(__file__)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def expected():
    return [fit_bits(case) for case in CASES]


@pytest.mark.parametrize("threads", ["1", "2", "7"])
def test_any_number_of_threads(expected, threads):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS")
    assert bits_elsewhere(**dict.fromkeys(names, threads)) == expected


def simd_features():
    """The vector instructions that NumPy chooses from when it runs, and that this machine has."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]


def kind_of(case):
    """The name of the sampling, or that of the estimator where there is none."""
    name, options = case
    return {**getattr(estimators, name)().get_params(), **options}.get("sampling", name)


def test_without_numpys_vector_instructions(expected):
    """Sums that decide a draw are our own; what NumPy adds, multiplies or sorts is the same in any width.

    Not so exp and tanh, whose last bit depends on the vector instructions. Soft sampling compares them with a random
    number: there the law is the same, not the draws. `AutoRanker` adds them up, and w differs by rounding.
    """
    found = simd_features()
    if not found:
        pytest.skip("NumPy has no vector instructions to choose from on this machine")
    bits = bits_elsewhere(NPY_DISABLE_CPU_FEATURES=" ".join(found))
    kinds = [kind_of(case) for case in CASES]
    assert "AutoRanker" in kinds
    assert "soft-correct" in kinds
    for case, kind, one, other in zip(CASES, kinds, expected, bits, strict=True):
        if kind == "AutoRanker":
            np.testing.assert_allclose(coefficients(one), coefficients(other), rtol=1e-9, atol=1e-12)
        elif kind.startswith("soft-"):
            assert abs(ranking_quality(one) - ranking_quality(other)) < 0.01
        else:
            assert one == other, case


def ranking_quality(bits):
    X, y = make_rows()
    return auc(y, X @ coefficients(bits)[:-1])


def coefficients(bits):
    return np.frombuffer(bytes.fromhex(bits))


def test_other_kernels_of_the_linear_algebra(expected):
    """OpenBLAS chooses its kernels by the processor; the oldest one of all must give the same bits."""
    assert bits_elsewhere(OPENBLAS_CORETYPE="Prescott") == expected


def test_fits_in_two_threads_at_once(expected):
    """Every case at the same time as another one, in two threads that start together."""
    barrier = threading.Barrier(2)

    def work(order):
        barrier.wait()
        return {k: fit_bits(CASES[k]) for k in order}

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, [list(range(len(CASES))), list(reversed(range(len(CASES))))]))
    for bits in found:
        assert [bits[k] for k in range(len(CASES))] == expected


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_every_kind(expected, method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(fit_bits, CASES) == expected


@pytest.mark.parametrize("name", estimators.__all__)
def test_a_grid_search_in_processes_is_that_in_one(name):
    X, y = make_ranking(600, 4, random_state=0)
    grid = {"C": [0.01, 0.1]}
    found = []
    for jobs in (1, 2):
        model = getattr(estimators, name)(random_state=0, **QUICK.get(name, {}))
        with parallel_config("loky"):
            search = GridSearchCV(model, grid, cv=2, n_jobs=jobs).fit(X, y)
        found.append(
            (search.best_params_, search.cv_results_["mean_test_score"].tolist(), search.best_estimator_.coef_)
        )
    assert found[0][:2] == found[1][:2]
    np.testing.assert_array_equal(found[0][2], found[1][2])
