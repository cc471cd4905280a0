"""The callbacks of scikit-learn 1.9."""

import numpy as np
import pytest
from sklearn.base import clone

from pairsift import ActiveRankSVM, auc, make_ranking
from pairsift.estimators import callbacks
from pairsift.estimators.callbacks import STOPPED

pytest.importorskip("sklearn.callback", reason="scikit-learn is older than 1.9")


class Recorder:
    """Notes what it is told, and stops after some rounds."""

    def __init__(self, stop_after=None):
        self.events, self.aucs, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.aucs.append(fitted_estimator.score(X, y))
        return context.task_name == "round" and context.task_id + 1 == self.stop_after


@pytest.fixture(scope="module")
def data():
    return make_ranking(2000, 6, random_state=0)


def test_each_round_is_a_task(data):
    recorder = Recorder()
    model = ActiveRankSVM(sampling="soft-correct", budget=450, random_state=0).set_callbacks(recorder).fit(*data)
    rounds = ["begin round", "end round"] * 5
    assert recorder.events == ["setup", "begin fit", *rounds, "end fit", "teardown"]
    assert len(recorder.aucs) == 6
    assert recorder.aucs[-1] == recorder.aucs[-2] == auc(data[1], model.decision_function(data[0]))
    np.testing.assert_array_equal(
        model.coef_, ActiveRankSVM(sampling="soft-correct", budget=450, random_state=0).fit(*data).coef_
    )
    assert not hasattr(model, "_callbacks")


def test_a_callback_can_stop(data):
    model = (
        ActiveRankSVM(sampling="soft-correct", budget="60s", random_state=0)
        .set_callbacks(Recorder(stop_after=3))
        .fit(*data)
    )
    assert model.stop_reason_ == STOPPED
    assert model.n_pairs_ == 300


def test_every_task_that_began_ends(data):
    recorder = Recorder()
    ActiveRankSVM(sampling="soft-correct", budget="100KB", random_state=0).set_callbacks(recorder).fit(*data)
    assert recorder.events.count("begin round") == recorder.events.count("end round") >= 2
    recorder = Recorder()
    model = ActiveRankSVM(sampling="soft-correct", budget=200).set_callbacks(recorder)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(data[0], np.full(len(data[1]), np.nan))
    assert recorder.events[-1] == "teardown"
    assert clone(model).fit(*data).n_pairs_ == 200


def test_the_scoring_monitor(data):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="roc_auc")
    model = ActiveRankSVM(sampling="soft-correct", budget=400, random_state=0).set_callbacks(monitor).fit(*data)
    scores = [row["roc_auc"] for row in monitor.get_logs().data if row["task_name"] == "round"]
    assert len(scores) == 4
    assert scores[-1] == pytest.approx(model.score(*data))


def test_without_callbacks_there_are_lines_on_standard_error(data, capsys):
    ActiveRankSVM(sampling="soft-correct", budget=300, verbose=2).fit(*data)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 3
    assert all(line.startswith("round ") for line in printed.err.splitlines())


def test_an_older_scikit_learn_has_none(data, monkeypatch):
    """The module as it is imported when there is no sklearn.callback."""
    import importlib
    import sys

    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "sklearn.callback", None)
        old = importlib.reload(callbacks)
        assert not hasattr(old.CallbackSupportMixin, "set_callbacks")
        assert old.with_callbacks(len) is len
        assert old.RoundCallbacks(ActiveRankSVM(sampling="soft-correct"), *data, None)(None) is None
    importlib.reload(callbacks)
