"""Keys of rows, and draws that depend on nothing but (seed, pass, key).

A key is 128 bits, two words: a whole number is (0, number), a text is its blake2b digest, a row of a file is (digest
of the file's name, row number). The *order* of a row in a pass is a hash of seed, pass and key. The k rows of the
smallest order are a uniform sample without replacement, whoever looks for them and however the rows are divided.

The hash is the finaliser of SplitMix64 (Steele, Lea and Flood 2014), three times; Python's `hash` differs from process
to process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pairsift.data.drawn_rows import mix_bits
from pairsift.data.tables import import_pyarrow

Words = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ALL = 2**64
"""A limit that every order is below."""


def seed_words(random_state: int | None) -> tuple[int, int]:
    """Return two words from a seed, or from the system's entropy."""
    first, second = np.random.SeedSequence(random_state).generate_state(2, np.uint64).tolist()
    return int(first), int(second)


def draw_order(seed: tuple[int, int], pass_number: int, high: Words, low: Words) -> Words:
    """Return where each key stands in the random order of a pass; all values of 64 bits are equally likely."""
    salt = mix_bits(_word(seed[0]) + _word(pass_number + 1) * _GOLDEN)
    mixed = mix_bits(mix_bits(high ^ salt) + low * _GOLDEN)
    return mix_bits(mixed ^ _word(seed[1]))


def order_limit(wanted: int, available: int) -> int:
    """Return a limit that at least `wanted` of `available` orders are below, but for one case in a thousand million.

    The number below it is binomial with the mean wanted + 6 sqrt(wanted) + 20, six deviations more than wanted.
    """
    mean = wanted + 6 * wanted**0.5 + 20
    return ALL if mean >= available else int(mean / available * ALL)


def key_words(columns: Sequence[Any]) -> tuple[Words, Words]:
    """Return the keys of Arrow columns: one of ids (whole numbers or text), or a file's name and a row number."""
    first = columns[0]
    if first.null_count:
        raise ValueError("The column of row ids has empty places; every row needs an id of its own.")
    if len(columns) == 2:
        return _digests(first)[0], _numbers(columns[1])
    if import_pyarrow().types.is_integer(first.type):
        low = _numbers(first)
        return np.zeros(len(low), dtype=np.uint64), low
    return _digests(first)


def _numbers(array: Any) -> Words:
    values = array.to_numpy(zero_copy_only=False)
    return np.asarray(values if values.dtype == np.uint64 else values.astype(np.int64)).view(np.uint64)


def _digests(array: Any) -> tuple[Words, Words]:
    """Return the words of each text; names of files come many times over, so that each text is hashed once."""
    types = import_pyarrow().types
    if not (types.is_dictionary(array.type) or types.is_string(array.type) or types.is_large_string(array.type)):
        raise ValueError(f"Row ids must be whole numbers or text; got {array.type}.")
    coded = array if types.is_dictionary(array.type) else array.dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    texts = coded.dictionary.to_pylist()
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts)
    words = np.frombuffer(digests, dtype="<u8").reshape(-1, 2).astype(np.uint64)
    return words[codes, 0], words[codes, 1]


def _word(value: int) -> Words:
    """Return a word as an array, whose products wrap around without a warning."""
    return np.array([value % ALL], dtype=np.uint64)
