"""Which rows learn, which judge, and which are held out from both.

Every row has a place in an order: by default a hash of its content and the seed, so that equal rows are always on one
side; with a column to hold out by, a hash of its value (whole customers) or its time (the latest first). A part is a
range of that order, with one bound for both classes. Bounds are found on the rows that are drawn first, so that the
class with fewer different rows is cut into the stated shares; rows that are drawn later go by the same bounds. (The
bound of the held-out rows is known before.)

    | held out | judging | learning               |     one part judges
    | held out | fold 1 | fold 2 | ... | fold 5   |     few rows: several folds judge in turn

Held-out rows are seen by nothing but the last measurement. Judging rows are learned from in the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pairsift._typing import AnyArray, BoolArray, FloatArray, IntArray
from pairsift.data.block_rows import join_rows
from pairsift.data.drawn_rows import Drawing, Piece, joined_weights
from pairsift.data.held_by import HeldBy
from pairsift.data.problem import Problem
from pairsift.data.rows import MemoryRows
from pairsift.judge import Judge
from pairsift.search import sizes

JUDGING_SHARE = 0.2
JUDGING_ROWS = 5000
LEARNING_ROWS = 4000
# Stored values that are learned from at most, so that wide rows do not make the choice dearer than the training.
LEARNING_VALUES = 500_000
LEAST_LEARNING_ROWS = 500
FOLDS = 5
FOLD_ROWS = 1250
HELD_OUT_SHARE = 0.1
# Of a column whose values are few or uneven no more is held out.
MOST_HELD_OUT = 2 / 3
# Rows that repeat so much that so few of them count are no sample to take a share of.
ALIKE = 0.5


@dataclass(frozen=True)
class Part:
    """Rows that judge, and those that are learned from meanwhile.

    ``weight`` is that of the positives and of the negatives that are learned from, up to the chance of where their
    places lie: with it a chosen C does not depend on that.
    """

    learning: list[Piece]
    judging: Piece
    weight: tuple[float, float]

    @cached_property
    def judge(self) -> Judge:
        """What tells how well the judging rows are ranked."""
        return Judge.of(self.judging)


class RowOrder:
    """Gives rows their place in the order: by content, or by a column."""

    def __init__(self, seed: int, held_by: HeldBy | None = None) -> None:
        self._seed = seed
        self._places = None if held_by is None else held_by.places(seed)
        self.column = None if held_by is None else held_by.name
        self.by_content = held_by is None
        self.in_time = held_by is not None and held_by.in_time

    def __call__(self, rows: MemoryRows, numbers: IntArray) -> AnyArray:
        """Return the place of each row."""
        return rows.keys(self._seed) if self._places is None else self.of(numbers)

    def of(self, numbers: IntArray) -> AnyArray:
        """Return the place of each row that a column gives it."""
        assert self._places is not None
        places: AnyArray = self._places[numbers]
        return places


class LearningRows:
    """The rows of a drawing that are not held out; the others are kept apart.

    Parameters
    ----------
    drawing : Drawing
        Nothing is drawn from it yet.
    order : RowOrder
        That of the drawing.
    held_share : float
        Share of the rows to hold out; 0 for none.
    """

    def __init__(self, drawing: Drawing, order: RowOrder, held_share: float = 0.0) -> None:
        self._drawing, self._order, self.held_share = drawing, order, held_share
        self.problem = drawing.problem
        self.pieces: list[Piece] = []
        self.held_out: list[Piece] = []
        self._bound: Any = None
        self._drawn_weight = (0.0, 0.0)

    @property
    def n_positive(self) -> int:
        """Positive rows that are learned from."""
        return sum(piece.n_positive for piece in self.pieces)

    @property
    def n_negative(self) -> int:
        """Negative rows that are learned from."""
        return sum(piece.n_negative for piece in self.pieces)

    @property
    def n_drawn(self) -> int:
        """Rows of the larger class that were asked for so far, held-out ones not counted."""
        return max(round(n * (1 - self.held_share)) for n in (self._drawing.n_positive, self._drawing.n_negative))

    @property
    def are_all(self) -> bool:
        """Whether no row is left to draw."""
        drawing, problem = self._drawing, self.problem
        return (drawing.n_positive, drawing.n_negative) == (problem.n_positive, problem.n_negative)

    @property
    def share(self) -> float:
        """Rows drawn so far, as a share of all."""
        return self._drawing.share

    def draw(self, n_positive: int, n_negative: int) -> Piece | None:
        """Read on until about so many rows of each class can be learned from; None where there are no more."""
        raw = self._drawing.draw(*(math.ceil(n / (1 - self.held_share)) for n in (n_positive, n_negative)))
        if raw is None:
            return None
        self._drawn_weight = (self._drawn_weight[0] + raw.weight[0], self._drawn_weight[1] + raw.weight[1])
        if self.held_share and self._bound is None:
            self._bound = self._find_bound(raw)
        if not self.held_share:
            piece = raw
        else:
            assert raw.order is not None
            held = raw.order <= self._bound
            self.held_out.append(raw.only(held))
            piece = raw.only(~held)
        self.pieces.append(piece)
        return piece

    def _find_bound(self, first: Piece) -> Any:
        """Return the bound of the held-out rows; where rows repeat a lot nothing is held out, and folds measure.

        Hashes of rows are uniform, so that a share of them is one bound for all draws. Values of a column may be few or
        uneven: there the rows of all values are counted.
        """
        assert first.order is not None
        if self._order.by_content:
            bound = np.uint64(int(self.held_share * 2**64))
            cut = has_both_classes(first, first.order <= bound) and has_both_classes(first, first.order > bound)
            if cut and not _repeats(first):
                return bound
            self.held_share = 0.0
            return None
        bound, share = self._bound_of_all_rows(self.held_share)
        if bound is None or share > MOST_HELD_OUT:
            what = "latest values" if self._order.in_time else "values"
            raise ValueError(
                f"The {what} of {self._order.column!r} cannot be held out: the rows held out, or the others, would be "
                f"of one class only, or more than {MOST_HELD_OUT:.0%} of all. Hold out by another column, or by none."
            )
        return bound

    def _bound_of_all_rows(self, share: float, above: Any = None) -> tuple[Any, float]:
        """Return the bound that leaves about a share of the rows of a column below it, and what it leaves really."""
        problem = self.problem
        sides = [self._order.of(np.asarray(places[:])) for places in (problem.positives, problem.negatives)]
        weights: list[FloatArray | None] = [problem.positive_weights, problem.negative_weights]
        if above is not None:
            weights = [w if w is None else w[side > above] for side, w in zip(sides, weights, strict=True)]
            sides = [side[side > above] for side in sides]
        if not all(len(side) for side in sides):
            return None, 0.0
        masses = [_masses(*side) for side in zip(sides, weights, strict=True)]
        places, mass = min(masses, key=lambda one: (len(one[0]), float(np.sum(one[1])), int(one[0][0])))
        good = (places >= max(side.min() for side in sides)) & (places < min(side.max() for side in sides))
        if not good.any():
            return None, 0.0
        reached = (np.cumsum(mass) / np.sum(mass))[good]
        nearest = int(np.argmin(np.abs(reached - share)))
        return places[good][nearest], float(reached[nearest])

    def parts(self, most: int) -> list[Part]:
        """Draw the first rows and cut them into those that judge and those that learn; empty where that cannot be."""
        counts = [min(n, most) for n in (self.problem.n_positive, self.problem.n_negative)]
        rarer = math.floor(min(counts) * (1 - self.held_share))
        if rarer < 2:
            return []
        judging = min(math.ceil(JUDGING_SHARE * rarer), JUDGING_ROWS)
        n_judges = min(math.ceil(sizes.ROWS_TO_SEE / max(judging, 1)), FOLDS)
        if n_judges == 1 or self._order.in_time:
            return self._one_part(judging, rarer, counts)
        self.draw(*(min(n, max(FOLDS * FOLD_ROWS, rarer)) for n in counts))
        return self._fold_parts(n_judges)

    def _one_part(self, judging: int, rarer: int, counts: Sequence[int]) -> list[Part]:
        most_judging = [min(math.ceil(JUDGING_SHARE * n), JUDGING_ROWS) for n in counts]
        first = self.draw(*most_judging)
        assert first is not None
        learning = min(_most_rows(first), rarer - judging)
        share = judging / (judging + max(learning, 1))
        # The larger class is learned from no more than the rarer one, but it may judge with more rows.
        wanted = max(judging + learning, math.ceil(max(most_judging) / share))
        self.draw(wanted, wanted)
        orders = [_known(piece.order) for piece in self.pieces]
        bound = None
        if self._are_enough and self._order.in_time:
            bound, _ = self._bound_of_all_rows(share, self._bound)
        elif self._are_enough:
            found = find_bounds(self.pieces, [share])
            bound = None if found is None else found[0]
        if bound is None:
            return []
        rest = [order > bound for order in orders]
        judging_rows = [~mask for mask in rest]
        if not (_have_both_classes(self.pieces, rest) and _have_both_classes(self.pieces, judging_rows)):
            return []
        drawn = (self._drawing.n_positive, self._drawing.n_negative)
        positive, negative = (
            total / n * min(learning, n * (1 - self.held_share) * (1 - share))
            for total, n in zip(self._drawn_weight, drawn, strict=True)
        )
        # Their order by a column may be one in time, and thins out what is late.
        keys = orders if self._order.by_content else [piece.rows.keys(0) for piece in self.pieces]
        learned = gathered(self.pieces, _thinned(self.pieces, keys, rest, learning))
        return [Part([learned], gathered(self.pieces, judging_rows), (positive, negative))]

    def _fold_parts(self, n_judges: int) -> list[Part]:
        bounds = fold_bounds(self.pieces) if self._are_enough else None
        if bounds is None:
            return []
        places = [np.searchsorted(bounds, _known(piece.order), side="left") for piece in self.pieces]
        n_folds = len(bounds) + 1
        folds = [gathered(self.pieces, [place == k for place in places]) for k in range(n_folds)]
        positive, negative = (total * (n_folds - 1) / n_folds for total in weight_of(self.pieces))
        return [
            Part([*folds[:k], *folds[k + 1 :]], folds[k], (positive, negative)) for k in range(min(n_judges, n_folds))
        ]

    @property
    def _are_enough(self) -> bool:
        """Whether there are rows enough of each class to choose on; by content equal ones count once."""
        sides = [_order_of_class(self.pieces, positive) for positive in (True, False)]
        if not self._order.by_content:
            return min(map(len, sides)) >= sizes.LEAST_TO_CHOOSE
        return all(
            len(np.unique(side[:1000])) >= sizes.LEAST_TO_CHOOSE or len(np.unique(side)) >= sizes.LEAST_TO_CHOOSE
            for side in sides
        )


def fold_bounds(pieces: Sequence[Piece]) -> AnyArray | None:
    """Return the bounds of `FOLDS` folds, or of as many as have both classes each; None where not even two have."""
    for folds in range(FOLDS, 1, -1):
        bounds = find_bounds(pieces, [k / folds for k in range(1, folds)])
        if bounds is not None:
            return bounds
    return None


def held_share_for(problem: Problem, most: int, order: RowOrder) -> float:
    """Return the share of rows to hold out; 0 where no row can be spared, so that folds measure instead.

    With more columns than rows every row counts. By time the latest rows are held out however few they are: folds would
    learn from later rows than those they measure.
    """
    rarer = min(problem.n_positive, problem.n_negative)
    scarce = rarer < sizes.LEAST_TO_SPARE or problem.rows.n_features > problem.n_points
    if scarce and not order.in_time:
        return 0.0
    enough = min(sizes.ROWS_TO_SEE, JUDGING_SHARE * rarer)
    held = max(enough, HELD_OUT_SHARE * min(rarer, most))
    return min(held / min(rarer, most + held), 0.5)


def find_bounds(pieces: Sequence[Piece], shares: Sequence[float]) -> AnyArray | None:
    """Return the places up to which the shares of the rarer class reach; None where a part would lack a class.

    The different rows (or values) of the class count alike, so that a row given twice changes nothing.
    """
    sides = [_order_of_class(pieces, positive) for positive in (True, False)]
    if not all(len(side) for side in sides):
        return None
    different = [np.unique(side) for side in sides]
    return _bounds(sides, [(places, np.ones(len(places))) for places in different], shares)


def _bounds(
    sides: Sequence[AnyArray], masses: Sequence[tuple[AnyArray, FloatArray]], shares: Sequence[float]
) -> AnyArray | None:
    """Return the bounds by the class with fewer different places; which one it is does not depend on its label."""
    places, mass = min(masses, key=lambda one: (len(one[0]), float(np.sum(one[1])), int(one[0][0])))
    reached = np.cumsum(mass) / np.sum(mass)
    bounds: AnyArray = places[np.minimum(np.searchsorted(reached, np.array(shares) - 1e-12), len(places) - 1)]
    cut = [np.searchsorted(bounds, side, side="left") for side in sides]
    return bounds if all(np.bincount(side, minlength=len(shares) + 1).all() for side in cut) else None


def _order_of_class(pieces: Sequence[Piece], positive: bool) -> AnyArray:
    return _of_class(pieces, [_known(piece.order) for piece in pieces], positive)


def _of_class(pieces: Sequence[Piece], by_row: Sequence[AnyArray], positive: bool) -> AnyArray:
    """Return what there is for each row of the pieces for the rows of a class, one after another."""
    return np.concatenate(
        [
            values[: piece.n_positive] if positive else values[piece.n_positive :]
            for piece, values in zip(pieces, by_row, strict=True)
        ]
    )


def _masses(places: AnyArray, weights: FloatArray | None) -> tuple[AnyArray, FloatArray]:
    """Return the different places of a class, rising, and the weight of the rows of each."""
    different, inverse = np.unique(places, return_inverse=True)
    return different, np.bincount(inverse, weights).astype(np.float64)


def weight_of(pieces: Sequence[Piece]) -> tuple[float, float]:
    """Return the weight of the positives and of the negatives of some pieces."""
    weights = [piece.weight for piece in pieces]
    return sum(weight[0] for weight in weights), sum(weight[1] for weight in weights)


def _have_both_classes(pieces: Sequence[Piece], masks: Sequence[BoolArray]) -> bool:
    return all(bool(_of_class(pieces, masks, positive).any()) for positive in (True, False))


def _repeats(piece: Piece) -> bool:
    """Whether few different rows stand for most of the rarer class, as where all columns are categories.

    A share of the different rows is then no fair sample of the rows.
    """
    order, n = _known(piece.order), piece.n_positive
    sides = ((order[:n], piece.positive_weights), (order[n:], piece.negative_weights))
    masses = [_masses(side, weights)[1] for side, weights in sides if len(side)]
    mass = min(masses, key=len)
    worth = float(np.sum(mass)) ** 2 / float(np.sum(mass**2))
    rows = min(len(side) for side, _ in sides)
    return worth < sizes.LEAST_TO_SPARE and worth < ALIKE * rows


def has_both_classes(piece: Piece, mask: BoolArray) -> bool:
    """Whether the rows of a mask have both classes."""
    return bool(mask[: piece.n_positive].any() and mask[piece.n_positive :].any())


def rows_of(pieces: Sequence[Piece]) -> tuple[int, int]:
    """Return the number of negatives and of positives of some pieces."""
    return sum(piece.n_negative for piece in pieces), sum(piece.n_positive for piece in pieces)


def gathered(pieces: Sequence[Piece], masks: Sequence[BoolArray]) -> Piece:
    """Return the rows of masks, one for each piece, as one piece: positives first again."""
    parts = [piece.only(mask) for piece, mask in zip(pieces, masks, strict=True) if mask.any()]
    if len(parts) < 2:
        return parts[0] if parts else pieces[0].only(np.zeros(pieces[0].rows.n_rows, dtype=bool))
    starts = np.cumsum([0, *(part.rows.n_rows for part in parts)])[:-1]
    positive = [start + np.arange(part.n_positive) for start, part in zip(starts, parts, strict=True)]
    negative = [start + np.arange(part.n_positive, part.rows.n_rows) for start, part in zip(starts, parts, strict=True)]
    at = np.concatenate([*positive, *negative])
    known = [part.order for part in parts if part.order is not None]
    return Piece(
        join_rows([part.rows for part in parts]).take(at),
        sum(part.n_positive for part in parts),
        joined_weights([part.positive_weights for part in parts]),
        joined_weights([part.negative_weights for part in parts]),
        np.concatenate(known)[at] if known else None,
    )


def joined(pieces: Sequence[Piece]) -> Piece:
    """Return pieces as one."""
    return gathered(pieces, [np.ones(piece.rows.n_rows, dtype=bool) for piece in pieces])


def apart_from(piece: Piece, seen: Sequence[Piece]) -> Piece:
    """Return the rows of a piece that are not in others, as far as their order tells."""
    known = np.concatenate([_known(other.order) for other in seen])
    return piece.only(~np.isin(_known(piece.order), known))


def _known(order: AnyArray | None) -> AnyArray:
    assert order is not None
    return order


def _thinned(
    pieces: Sequence[Piece], keys: Sequence[AnyArray], masks: Sequence[BoolArray], rows: int
) -> list[BoolArray]:
    """Return about so many of the rows of masks in each class, by a hash of their content: equal ones together."""
    least = []
    for positive in (True, False):
        key = _of_class(pieces, keys, positive)[_of_class(pieces, masks, positive)]
        least.append(0 if len(key) <= rows else np.partition(key, len(key) - rows)[len(key) - rows])
    kept = []
    for piece, key, mask in zip(pieces, keys, masks, strict=True):
        n = piece.n_positive
        kept.append(mask & np.concatenate([key[:n] >= least[0], key[n:] >= least[1]]))
    return kept


def _most_rows(first: Piece) -> int:
    """Return how many rows of each class to learn from."""
    values = first.rows.n_stored / max(first.rows.n_rows, 1)
    return max(min(LEARNING_ROWS, int(LEARNING_VALUES / max(values, 1) / 2)), LEAST_LEARNING_ROWS)
