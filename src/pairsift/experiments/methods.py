"""The methods of the experiments by name: the paper's, ours, and peers that people install.

A `Method` is prepared on training rows, which returns a `Run`: ``run.train()`` is the training and nothing else, so
that it alone is timed, and ``run.scores(X)`` scores other rows with what was trained.

One meaning of strength for all: every method minimises ``1/2 |w|^2 + C * budget * scale_C * (mean loss)``, by default
0.1 * 8000 = 800. Methods that choose pairs take C * scale_C a pair and `budget` pairs; scikit-learn's sum over rows,
where balanced class weights sum to the number of rows N, takes C * budget * scale_C / N.

A name may carry parameters of the method, ``soft-correct:gamma=0.5:threshold=true``, which override its settings;
``C=tuned`` asks for a C chosen on a validation part (`tuning`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Literal, Protocol

import numpy as np

from pairsift import estimators
from pairsift._typing import FloatArray
from pairsift.experiments.peers import boosted_trees, sgd_classifier
from pairsift.experiments.programs import PROGRAMS, missing
from pairsift.experiments.tuning import PATIENCE, SCALES, TUNED, Tuned, choose_scale

PAPER_C = 0.1
PAPER_BUDGET = 8000
PAPER_BATCH = 100


class Run(Protocol):
    """A method on its training rows."""

    def train(self) -> Any:
        """Train; called again, train again from the start. Return the trained model."""

    def scores(self, X: Any) -> FloatArray:
        """Score rows with what was trained last; the higher, the more positive."""


@dataclass(frozen=True)
class Setting:
    """What an experiment sets for all methods alike."""

    scale_C: float = 1.0
    seed: int = 0
    budget: int = PAPER_BUDGET
    batch_size: int = PAPER_BATCH
    C: float = PAPER_C

    @property
    def pair_C(self) -> float:
        """Weight of one chosen pair."""
        return self.C * self.scale_C

    @property
    def total_C(self) -> float:
        """Weight of the mean loss."""
        return self.pair_C * self.budget


Maker = Callable[[Any, FloatArray, Setting, Mapping[str, Any]], Run]


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    name
        Its name here; with parameters, as ``name:key=value``.
    paper_name
        What the paper calls it; None where it is not in the paper.
    make
        Makes a `Run` of training rows, labels, setting and options.
    origin
        "paper" (our implementation of a method of the paper), "pairsift" (ours beyond the paper) or "peer" (other
        people's software).
    seeded
        Whether seeds give samples of results. The others end at one optimum, whatever the seed.
    options
        Parameters of the estimator that this method fixes.
    needs
        A module that must be there, and the package that brings it.
    program
        An external program that must be there.
    linear
        Whether its scores are linear in the features.
    scales
        What C is multiplied by when it is tuned (for trees: their number); empty where it is fixed.
    """

    name: str
    paper_name: str | None
    make: Maker
    origin: Literal["paper", "pairsift", "peer"] = "paper"
    seeded: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, str] | None = None
    program: str | None = None
    linear: bool = True
    scales: tuple[float, ...] = SCALES

    def skip(self) -> str | None:
        """Return why the method cannot run here; None when it can."""
        if self.program is not None:
            return missing(self.program)
        if self.needs is None or find_spec(self.needs[0]) is not None:
            return None
        return f"{self.needs[0]} is not installed; run: pip install {self.needs[1]}"

    def prepare(self, X: Any, y: FloatArray, setting: Setting | None = None, **options: Any) -> Run:
        """Return a run on training rows `X` (CSR) with labels +1 and -1; `options` override the method's own."""
        given = {**self.options, **options}
        if given.get("C") == TUNED:
            del given["C"]  # it was chosen before, and is in the setting
        return self.make(X, y, setting or Setting(), given)

    @property
    def is_tuned(self) -> bool:
        """Whether C is to be chosen on a validation part."""
        return self.options.get("C") == TUNED

    @property
    def is_anytime(self) -> bool:
        """Whether there is a model after every round."""
        return self.make in (_active, _auto)

    def tune(self, X: Any, y: FloatArray, setting: Setting, patience: float = PATIENCE) -> Tuned:
        """Choose the factor of C on a validation part of the training rows."""
        if not self.scales:
            raise ValueError(f"{self.name} has a C of its own, which is not to be tuned.")

        def train(X: Any, y: FloatArray, scale: float) -> Run:
            run = self.prepare(X, y, replace(setting, scale_C=scale))
            run.train()
            return run

        return choose_scale(X, y, train, self.scales, patience)


class EstimatorRun:
    """A scikit-learn estimator; its ``fit`` is the training, with all that a user would wait for."""

    def __init__(self, estimator: Any, X: Any, y: FloatArray) -> None:
        self.estimator, self._X, self._y = estimator, X, y

    def train(self) -> Any:
        """Fit."""
        return self.estimator.fit(self._X, self._y)

    def scores(self, X: Any) -> FloatArray:
        """Return the decision function."""
        values: FloatArray = self.estimator.decision_function(X)
        return values


class LiblinearRun:
    """LIBLINEAR's weighted SVM: L1 loss, dual, no bias, its default tolerance of 0.1. Its problem is built before."""

    def __init__(self, X: Any, y: FloatArray, total_C: float, tol: float) -> None:
        from liblinear.liblinearutil import parameter, problem, train
        from scipy.sparse import csr_matrix

        n_positive = int(np.sum(y > 0))
        weights = total_C / (2 * n_positive), total_C / (2 * (len(y) - n_positive))
        self._problem = problem(y, csr_matrix(X))
        self._parameter = parameter(f"-s 3 -c 1 -e {tol!r} -w1 {weights[0]!r} -w-1 {weights[1]!r} -q")
        self._train, self._width = train, X.shape[1]

    def train(self) -> Any:
        """Call the library's train."""
        self.model = self._train(self._problem, self._parameter)
        return self.model

    def scores(self, X: Any) -> FloatArray:
        """Return X @ w; LIBLINEAR's w points to the label that came first in the data."""
        w = np.ctypeslib.as_array(self.model.w, (self._width,))
        scores: FloatArray = X @ w if self.model.get_labels()[0] > 0 else -(X @ w)
        return scores


def _active(X: Any, y: FloatArray, setting: Setting, options: Mapping[str, Any]) -> Run:
    given = {
        "C": setting.pair_C,
        "budget": setting.budget,
        "batch_size": setting.batch_size,
        "random_state": setting.seed,
    }
    return EstimatorRun(estimators.ActiveRankSVM(**{**given, **options}), X, y)


def _auto(X: Any, y: FloatArray, setting: Setting, options: Mapping[str, Any]) -> Run:
    """Terms, loss and C are chosen in the fit, whatever the paper's C is."""
    model = estimators.AutoRanker(**{"random_state": setting.seed, **options})
    model._holds_out = False  # the time is that of the training; the test rows measure
    return EstimatorRun(model, X, y)


def _with_total_C(estimator: Callable[..., Any]) -> Maker:
    def make(X: Any, y: FloatArray, setting: Setting, options: Mapping[str, Any]) -> Run:
        given = {"C": setting.total_C, "random_state": setting.seed}
        return EstimatorRun(estimator(**{**given, **options}), X, y)

    return make


def _liblinear(X: Any, y: FloatArray, setting: Setting, options: Mapping[str, Any]) -> Run:
    return LiblinearRun(X, y, float(options.get("C", setting.total_C)), float(options.get("tol", 0.1)))


def _sklearn(name: str) -> Maker:
    def make(X: Any, y: FloatArray, setting: Setting, options: Mapping[str, Any]) -> Run:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        estimator = {"LogisticRegression": LogisticRegression, "LinearSVC": LinearSVC}[name]
        given = {"C": setting.total_C / len(y), "random_state": setting.seed, "max_iter": 1000}
        return EstimatorRun(estimator(**{**given, **options}), X, y)

    return make


def _sgd(X: Any, y: FloatArray, setting: Setting, options: Mapping[str, Any]) -> Run:
    given = {"alpha": 1 / setting.total_C, "random_state": setting.seed}
    return EstimatorRun(sgd_classifier({**given, **options}), X, y)


def _trees(package: str) -> Maker:
    def make(X: Any, y: FloatArray, setting: Setting, options: Mapping[str, Any]) -> Run:
        return boosted_trees(package, X, y, round(100 * setting.scale_C), {"random_state": setting.seed, **options})

    return make


def _program(name: str) -> Maker:
    def make(X: Any, y: FloatArray, setting: Setting, options: Mapping[str, Any]) -> Run:
        given = {"total_C": setting.total_C, "seed": setting.seed}
        return PROGRAMS[name](X, y, **{**given, **options})

    return make


def _sampler(name: str) -> Method:
    return Method(name, name, _active, seeded=True, options={"sampling": name})


def _boosted(package: str) -> Method:
    return Method(
        package,
        None,
        _trees(package),
        origin="peer",
        seeded=True,
        needs=(package, package),
        linear=False,
        scales=(1.0, 3.0, 10.0),
    )


_BALANCED = {"class_weight": "balanced"}
_LIST = [
    Method("wsvm", "WSVM", _with_total_C(estimators.WeightedSVM)),
    Method("eranksvm", "ERankSVM", _with_total_C(estimators.RankSVM), options={"loss": "hinge"}),
    Method("crr", "CRR", _with_total_C(estimators.CombinedRankingRegression), seeded=True),
    *map(_sampler, ("random", "soft-close", "soft-correct", "hard-close", "hard-correct")),
    replace(_sampler("soft-tolerant"), paper_name=None, origin="pairsift"),
    Method(
        "ranksvm-squared",
        None,
        _with_total_C(estimators.RankSVM),
        origin="pairsift",
        options={"loss": "squared_hinge"},
    ),
    Method("auto", None, _auto, origin="pairsift", seeded=True, scales=()),
    Method("liblinear-wsvm", "WSVM", _liblinear, origin="peer", needs=("liblinear", "liblinear-official")),
    Method("logistic-regression", None, _sklearn("LogisticRegression"), origin="peer", options=_BALANCED),
    Method("linear-svc", None, _sklearn("LinearSVC"), origin="peer", options=_BALANCED),
    # As they come: C = 1 a row, which is another strength on every data set.
    Method(
        "logistic-regression-as-is",
        None,
        _sklearn("LogisticRegression"),
        origin="peer",
        options={**_BALANCED, "C": 1.0},
        scales=(),
    ),
    Method("linear-svc-as-is", None, _sklearn("LinearSVC"), origin="peer", options={"C": 1.0}, scales=()),
    Method("sgd-classifier", None, _sgd, origin="peer", seeded=True, options=_BALANCED),
    Method(
        "sgd-classifier-as-is",
        None,
        _sgd,
        origin="peer",
        seeded=True,
        options={**_BALANCED, "alpha": 1e-4},
        scales=(),
    ),
    Method("vowpal-wabbit", None, _program("vw"), origin="peer", program="vw"),
    Method("svm-perf", "ERankSVM", _program("svm_perf"), origin="peer", program="svm_perf"),
    Method("sofia-ml", "CRR", _program("sofia_ml"), origin="peer", seeded=True, program="sofia_ml"),
    Method("liblinear-ranksvm", None, _program("ranksvm"), origin="peer", program="ranksvm"),
    _boosted("lightgbm"),
    _boosted("xgboost"),
]

METHODS: dict[str, Method] = {method.name: method for method in _LIST}
PAPER_METHODS = tuple(method.name for method in _LIST if method.origin == "paper")


def find_method(name: str) -> Method:
    """Return a method by its name here or in the paper, with parameters if it carries some.

    Raises
    ------
    ValueError
        No method has this name, or a parameter is not ``key=value``.
    """
    base, *parameters = name.split(":")
    wanted = base.lower()
    for method in _LIST:
        if wanted in (method.name, (method.paper_name or "").lower()):
            options = dict(_parameter(name, text) for text in parameters)
            return replace(method, name=":".join([method.name, *parameters]), options={**method.options, **options})
    raise ValueError(f"There is no method {base!r}; there are: {', '.join(METHODS)}.")


def _parameter(name: str, text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ValueError(
            f"A parameter of a method must be key=value, as soft-correct:gamma=0.5; got {text!r} in {name!r}."
        )
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
