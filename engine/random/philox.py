"""Philox4x64-10 random bits, and their conversion to numbers. See `engine.random.generator`."""

from __future__ import annotations

import math
import threading
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]

MASK = (1 << 64) - 1
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class State(NamedTuple):
    """The state of a generator as three integers, which can be written to any file."""

    seed: int
    stream: int
    offset: int


class _Philox(threading.local):
    """NumPy's bit generator of a thread, with its state: expensive to create, cheap to set."""

    def __init__(self) -> None:
        self.bits = np.random.Philox(key=0)
        self.counter = np.zeros(4, np.uint64)
        self.key = np.zeros(2, np.uint64)
        self.state: Any = {
            "bit_generator": "Philox",
            "state": {"counter": self.counter, "key": self.key},
            "buffer": np.zeros(4, np.uint64),
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }


_PHILOX = _Philox()


def draw(state: State, n: int) -> Words:
    """Return `n` words of a stream."""
    philox = _PHILOX
    philox.counter[0] = state.offset
    philox.key[0], philox.key[1] = state.seed, state.stream
    philox.bits.state = philox.state  # copied
    return philox.bits.random_raw(n)


_MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_COLUMN = np.array(_MULTIPLIERS, np.uint64)[:, np.newaxis]
_COLUMN_HIGH, _COLUMN_LOW = _COLUMN >> _HALF, _COLUMN & _LOW
_WEYL = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS = 10
_SMALL_COUNT = 200
"""Up to this number of blocks, Python integers are faster than NumPy arrays."""


def draw_rows(state: State, rows: NDArray[np.int64], n: int) -> Words:
    """Return `n` words for each row, R×n: the Philox function for all rows and blocks at once."""
    blocks = -(-n // 4)
    counters = np.empty((2, len(rows), blocks), np.uint64)
    counters[0] = np.arange(1, blocks + 1, dtype=np.uint64) + np.uint64(state.offset)
    counters[1] = np.asarray(rows, np.int64).view(np.uint64)[:, np.newaxis]
    function = _philox_of_few if len(rows) * blocks <= _SMALL_COUNT else _philox_of_many
    return function(counters.reshape(2, -1), state.seed, state.stream).reshape(len(rows), 4 * blocks)[:, :n]


def _keys(seed: int, stream: int) -> list[tuple[int, int]]:
    """Return the keys of all rounds."""
    return [((seed + number * _WEYL[0]) & MASK, (stream + number * _WEYL[1]) & MASK) for number in range(_ROUNDS)]


def _philox_of_few(counters: Words, seed: int, stream: int) -> Words:
    """Philox function of B counters, 2×B → B×4, on Python integers that hold one word per 128 bits.

    The product of two words fits in 128 bits, so that one multiplication computes all blocks.
    """
    count = counters.shape[1]
    low, keys = _repeated_keys(seed, stream, count)
    words = np.zeros((2, count, 2), "<u8")
    words[:, :, 0] = counters
    first, second = (int.from_bytes(each.tobytes(), "little") for each in words)
    third = fourth = 0
    for key, other in keys:
        even, odd = first * _MULTIPLIERS[0], third * _MULTIPLIERS[1]
        first, second = odd >> 64 & low ^ second ^ key, odd & low
        third, fourth = even >> 64 & low ^ fourth ^ other, even & low
    found = b"".join(each.to_bytes(16 * count, "little") for each in (first, second, third, fourth))
    return np.frombuffer(found, "<u8").reshape(4, count, 2)[:, :, 0].T.astype(np.uint64)


@lru_cache(maxsize=16)
def _repeated_keys(seed: int, stream: int, count: int) -> tuple[int, list[tuple[int, int]]]:
    """Return masks and keys repeated every 128 bits, `count` times. Equal for all batches of an epoch, so cached."""
    each = int.from_bytes((b"\1" + bytes(15)) * count, "little")
    return each * MASK, [(each * key, each * other) for key, other in _keys(seed, stream)]


def _philox_of_many(counters: Words, seed: int, stream: int) -> Words:
    """Philox function of many counters, on NumPy arrays."""
    words = np.zeros((2, *counters.shape), np.uint64)
    words[:, 0] = counters
    even, odd = words[0], words[1]
    for key in np.array(_keys(seed, stream), np.uint64)[:, :, np.newaxis]:
        # The upper half of `even * _COLUMN`, as in `high_product`, with as few temporary arrays as possible.
        high, low = even >> _HALF, even & _LOW
        middle = low * _COLUMN_LOW
        middle >>= _HALF
        middle += high * _COLUMN_LOW
        low *= _COLUMN_HIGH
        low += middle & _LOW
        high *= _COLUMN_HIGH
        middle >>= _HALF
        high += middle
        low >>= _HALF
        high += low
        even, odd = high[::-1] ^ odd, (even * _COLUMN)[::-1]
        even ^= key
    return np.stack([even[0], odd[0], even[1], odd[1]], axis=-1)


def keep_mask(state: State, count: int, p: float) -> NDArray[np.bool_]:
    """Return for each of `count` elements whether `Generator.uniform` at `state` would give `p` or more."""
    halves = draw(state, (count + 1) // 2).astype("<u8", copy=False).view("<u4")[:count]
    return halves >= math.ceil(float(np.float32(p)) * 2**24) << 8


# -- words → numbers


def unit32(halves: NDArray[np.uint32]) -> NDArray[np.float32]:
    return (halves >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)


def unit64(words: Words) -> NDArray[np.float64]:
    return (words >> np.uint64(11)).astype(np.float64) * 2**-53


def order_of(words: Words) -> NDArray[np.int64]:
    """Return the stable sort order of words.

    Sorts the words with their positions in the lowest bits, which is much faster than argsort. The few words that
    differ only in those bits are put in order afterwards.
    """
    position_mask = np.uint64((1 << max(len(words) - 1, 0).bit_length()) - 1)
    packed = words & ~position_mask
    packed |= np.arange(len(words), dtype=np.uint64)
    packed.sort()
    order = (packed & position_mask).view(np.int64)
    packed &= ~position_mask
    equal = np.flatnonzero(packed[1:] == packed[:-1])
    if len(equal):
        ambiguous = np.union1d(equal, equal + 1)
        rows = order[ambiguous]
        order[ambiguous] = rows[np.argsort(words[rows], kind="stable")]
    return order


def high_product(words: Words, factor: int | Words) -> Words:
    """Return the upper 64 bits of `words * factor`, for a factor below 2**64."""
    high, low = words >> _HALF, words & _LOW
    factor = np.asarray(factor, np.uint64)
    factor_high, factor_low = factor >> _HALF, factor & _LOW
    middle = high * factor_low + (low * factor_low >> _HALF)
    other = low * factor_high + (middle & _LOW)
    return high * factor_high + (middle >> _HALF) + (other >> _HALF)


def high_product_128(pairs: Words, factor: int) -> Words:
    """Return the bits above 128 of `(first * 2**64 + second) * factor`."""
    if factor == 2**64:
        return pairs[:, 0].copy()
    first, second = pairs[:, 0], pairs[:, 1]
    carry = high_product(second, factor)
    low = first * np.uint64(factor)
    return high_product(first, factor) + (low + carry < low).astype(np.uint64)


__all__ = [
    "MASK",
    "State",
    "Words",
    "draw",
    "draw_rows",
    "high_product",
    "high_product_128",
    "keep_mask",
    "order_of",
    "unit32",
    "unit64",
]
