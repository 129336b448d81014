"""The bits of random numbers: Philox4x64-10, and how its words become numbers. `engine.random` says which and why."""

from __future__ import annotations

import math
import threading
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]

MASK = (1 << 64) - 1
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class State(NamedTuple):
    """Where a generator is. Three plain numbers, so that it can be written to any file."""

    seed: int
    stream: int
    offset: int


class _Philox(threading.local):
    """NumPy's bit generator: costly to make, cheap to set, so there is one for each thread, with its state."""

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
    """`n` words of a stream."""
    philox = _PHILOX
    philox.counter[0] = state.offset
    philox.key[0], philox.key[1] = state.seed, state.stream
    philox.bits.state = philox.state  # copied
    return philox.bits.random_raw(n)


_MULTIPLIERS = np.array([[0xD2E7470EE14C6C93], [0xCA5A826395121157]], np.uint64)
_MULTIPLIERS_HIGH, _MULTIPLIERS_LOW = _MULTIPLIERS >> _HALF, _MULTIPLIERS & _LOW
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_ROUNDS = 10


def draw_rows(state: State, rows: NDArray[np.int64], n: int) -> Words:
    """`n` words for each row, R×n: the Philox function of all rows and blocks at once."""
    blocks = -(-n // 4)
    even, odd = np.zeros((2, 2, len(rows), blocks), np.uint64)
    even[0] = (np.arange(1, blocks + 1, dtype=np.uint64) + np.uint64(state.offset))[np.newaxis]
    odd[0] = np.asarray(rows, np.int64).view(np.uint64)[:, np.newaxis]
    even, odd = even.reshape(2, -1), odd.reshape(2, -1)
    parts = [
        [(part + turn * step) & MASK for part, step in zip((state.seed, state.stream), _WEYL, strict=True)]
        for turn in range(_ROUNDS)
    ]
    for key in np.array(parts, np.uint64)[:, :, np.newaxis]:
        # The upper half of `even * _MULTIPLIERS`, as `high_product` has it, with as few arrays as it takes.
        high, low = even >> _HALF, even & _LOW
        middle = low * _MULTIPLIERS_LOW
        middle >>= _HALF
        middle += high * _MULTIPLIERS_LOW
        low *= _MULTIPLIERS_HIGH
        low += middle & _LOW
        high *= _MULTIPLIERS_HIGH
        middle >>= _HALF
        high += middle
        low >>= _HALF
        high += low
        even, odd = high[::-1] ^ odd, (even * _MULTIPLIERS)[::-1]
        even ^= key
    words = np.stack([even[0], odd[0], even[1], odd[1]], axis=-1)
    return words.reshape(len(rows), 4 * blocks)[:, :n]


def kept(state: State, count: int, p: float) -> NDArray[np.bool_]:
    """For each of `count` elements, whether the float32 number of `Generator.uniform` at `state` is `p` or more."""
    halves = draw(state, (count + 1) // 2).astype("<u8", copy=False).view("<u4")[:count]
    return halves >= math.ceil(float(np.float32(p)) * 2**24) << 8


# -- words → numbers


def unit32(halves: NDArray[np.uint32]) -> NDArray[np.float32]:
    return (halves >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)


def unit64(words: Words) -> NDArray[np.float64]:
    return (words >> np.uint64(11)).astype(np.float64) * 2**-53


def high_product(words: Words, factor: int | Words) -> Words:
    """The upper 64 bits of `words * factor`, for any factor below 2**64."""
    high, low = words >> _HALF, words & _LOW
    factor = np.asarray(factor, np.uint64)
    factor_high, factor_low = factor >> _HALF, factor & _LOW
    middle = high * factor_low + (low * factor_low >> _HALF)
    other = low * factor_high + (middle & _LOW)
    return high * factor_high + (middle >> _HALF) + (other >> _HALF)


def high_product_128(pairs: Words, factor: int) -> Words:
    """The part above 128 bits of `(first * 2**64 + second) * factor`."""
    if factor == 2**64:
        return pairs[:, 0].copy()
    first, second = pairs[:, 0], pairs[:, 1]
    carried = high_product(second, factor)
    low = first * np.uint64(factor)
    return high_product(first, factor) + (low + carried < low).astype(np.uint64)


__all__ = [
    "MASK",
    "State",
    "Words",
    "draw",
    "draw_rows",
    "high_product",
    "high_product_128",
    "kept",
    "unit32",
    "unit64",
]
