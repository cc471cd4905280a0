"""The words of ``pairsift inspect``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pairsift.data.labels import show
from pairsift.words import counted

if TYPE_CHECKING:
    from pairsift._typing import AnyArray
    from pairsift.inspection import Contribution, Suspect
    from pairsift.inspection.rounds import RoundAcceptance
    from pairsift.model import LinearModel
    from pairsift.pair_features import PairFeatures
    from pairsift.probabilities import Calibration

_WIDEST_NAME = 40


def heading(path: str, model: LinearModel) -> Iterator[str]:
    """Yield what the model is."""
    import numpy as np

    used = int(np.count_nonzero(model.coef_))
    scaled = {"none": "", "unit": "; rows are scaled to length one"}.get(
        model.scaling, f"; scaling by column ({model.scaling}) is in the coefficients"
    )
    yield f"{path}: {counted(model.n_features_in_, 'feature')}, {used:,} of them with a coefficient{scaled}."
    negative, positive = (show(label) for label in model.classes_)
    yield f"A score above 0 predicts {positive}, others {negative}; the intercept is {float(model.intercept_[0]):.6g}."


def training_lines(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the file tells of the training; only what is there."""
    settings, training = details.get("settings"), details.get("training")
    maker = " by pairsift " + str(details["pairsift_version"]) if "pairsift_version" in details else ""
    used = _learned_from(training) if isinstance(training, Mapping) else None
    if isinstance(training, Mapping) and used is not None:
        line = f"Trained{maker} on {used}"
        if isinstance(training.get("rows"), int) and isinstance(training.get("positives"), int):
            held = "rows_used" in training or "held_out" in training
            counts = f"{training['positives']:,} positive and {training['rows'] - training['positives']:,} other rows"
            line += f" ({counts}{' in the data' if held else ''})"
        yield line + (
            f"; ended by: {_printable(str(training['stop_reason']))}." if training.get("stop_reason") else "."
        )
        yield from _holdout_line(training.get("holdout"))
    elif maker:
        yield f"Written{maker}."
    if isinstance(settings, Mapping) and settings:
        chosen = training if isinstance(training, Mapping) else {}
        yield "Settings: " + ", ".join(_setting(str(n), v, chosen) for n, v in settings.items()) + "."


def _learned_from(training: Mapping[str, Any]) -> str | None:
    """Return what was learned from: rows, by their pairs or as points, or chosen pairs; files of 0.1 are read too."""
    rows, terms = training.get("rows_used"), training.get("terms", training.get("gamma"))
    if isinstance(rows, Mapping):
        rows = sum(count for count in rows.values() if isinstance(count, int))
    if isinstance(rows, int):
        learned_as = {
            "points": ", as points",
            0: ", as points",
            "pairs": ", by all their pairs",
            1: ", by all their pairs",
        }
        return counted(rows, "row") + (learned_as.get(terms, "") if isinstance(terms, str | int | float) else "")
    if isinstance(training.get("pairs_used"), int):
        of = f" of {training['pairs']:,}" if isinstance(training.get("pairs"), int) else ""
        return f"{training['pairs_used']:,}{of} pairs"
    return None


def _holdout_line(holdout: Any) -> Iterator[str]:
    """Yield the AUC on held-out rows, where the file has it."""
    if isinstance(holdout, Mapping) and all(isinstance(holdout.get(key), float) for key in ("value", "low", "high")):
        yield (
            f"AUC on held-out rows: {holdout['value']:.4f} (95 %: {holdout['low']:.4f} to {holdout['high']:.4f}) "
            "when it was trained."
        )


def _setting(name: str, value: Any, chosen: Mapping[str, Any]) -> str:
    """Return a setting, with what "auto" turned out to be."""
    known = chosen.get(name)
    known = f"{known:g}" if isinstance(known, float) else known
    found = f" ({_printable(str(known))})" if value == "auto" and name in chosen else ""
    return f"{_printable(name)}={_printable(str(value))}{found}"


def rounds_line(rounds: list[RoundAcceptance]) -> Iterator[str]:
    """Yield how many candidates were accepted at the beginning, in the middle and at the end."""
    if rounds:
        places = sorted({0, len(rounds) // 4, len(rounds) // 2, 3 * len(rounds) // 4, len(rounds) - 1})
        shown = ", ".join(f"{rounds[k].acceptance:.2%} in round {k}" for k in places)
        yield f"Candidates accepted: {shown}."


def calibration_line(calibration: Calibration | None) -> Iterator[str]:
    """Yield how scores become probabilities."""
    if calibration is None:
        yield "Probabilities: none (not calibrated)."
        return
    used = f", used at {calibration.base_rate:.3%}" if calibration.base_rate != calibration.rate else ""
    yield (
        f"Probabilities: {calibration.method}, from {calibration.n_rows:,} held-out rows, "
        f"{calibration.rate:.3%} of them positive{used}."
    )


def feature_lines(features: list[Contribution], facts: PairFeatures | None, n_features: int) -> Iterator[str]:
    """Yield a table of features."""
    which = f"The {len(features):,} of {n_features:,} features" if len(features) < n_features else "The features"
    width = max([7, *(len(_short(feature.feature)) for feature in features)])
    if facts is None:
        yield f"{which} with the largest coefficients (give --data DATA to see what they do to the ranking):"
        yield f"  {'feature':<{width}} {'coefficient':>12}"
        for feature in features:
            yield f"  {_short(feature.feature):<{width}} {feature.coefficient:>12.6g}"
        return
    yield (
        f"{which} by what they add to the margin of a pair on average "
        f"({facts.n_positive:,} positive and {facts.n_negative:,} other rows):"
    )
    yield f"  {'feature':<{width}} {'coefficient':>12} {'margin':>10} {'share':>8} {'deviation':>10}"
    for feature in features:
        share = "" if feature.share is None else f"{feature.share:.1%}"
        yield (
            f"  {_short(feature.feature):<{width}} {feature.coefficient:>12.6g} {feature.margin:>10.4g} {share:>8} "
            f"{feature.deviation:>10.4g}"
        )


def suspect_lines(data: str, suspects: list[Suspect], classes: AnyArray) -> Iterator[str]:
    """Yield a table of rows."""
    if not suspects:
        yield f"{data}: no row is more probably mislabelled than not."
        return
    yield (
        f"{data}: {counted(len(suspects), 'row')} whose label contradicts the ranking, the worst first. The first row\n"
        "of the data is row 0. Doubt is the chance that a row of such a score has the other label; wrong side, the\n"
        "share of its pairs that are ordered wrong; loss, their mean hinge loss."
    )
    labels = [show(label) for label in classes]
    width = max(5, *(len(label) for label in labels))
    yield f"  {'row':>10} {'label':>{width}} {'score':>12} {'doubt':>7} {'wrong side':>11} {'loss':>9}"
    for s in suspects:
        yield (
            f"  {s.row:>10} {labels[int(s.positive)]:>{width}} {s.score:>12.6g} {s.doubt:>7.1%} {s.wrong_side:>11.1%} "
            f"{s.loss:>9.4g}"
        )


def _printable(text: str) -> str:
    """Return text without what a terminal takes for a command: a file may hold anything."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in " ".join(text.split()))


def _short(name: str) -> str:
    name = _printable(name)
    return name if len(name) <= _WIDEST_NAME else name[: _WIDEST_NAME - 1] + "…"
