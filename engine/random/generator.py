"""Counter-based random numbers: the same seed gives the same numbers on every device, with random access to
any position of a stream.

The bits are Philox4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), exactly as
`numpy.random.Philox(key=(seed, stream), counter=(offset, 0, 0, 0))` generates them. A kernel on another device
reproduces a draw from three integers, `(seed, stream, offset)`:

- Block ``b`` (``b = 0, 1, …``) of the draw is the Philox function of the key ``(seed, stream)`` and the counter
  ``(offset + b + 1, 0, 0, 0)``: four words of 64 bits. Word ``w`` of the draw is word ``w % 4`` of block ``w // 4``.
- Every draw uses whole blocks, so a draw of ``n`` words advances `offset` by ``ceil(n / 4)``.
- `float32` uses half a word per element, the low half first: element ``i`` is half ``i % 2`` of word ``i // 2``,
  called ``h``. Uniform: ``(h >> 8) * 2**-24``. Normal, for each word: ``r = sqrt(-2 ln((low + 1) * 2**-32))`` and
  ``a = 2π * high * 2**-32``; elements ``2w`` and ``2w + 1`` are ``r cos a`` and ``r sin a``.
- `float64` uses one word per element. Uniform: ``(word >> 11) * 2**-53``. Normal, for words ``2j`` and ``2j + 1``: the
  same with ``((word + 2**11) >> 11) * 2**-53`` without wrapping and ``(word >> 11) * 2**-53``.
- Integers below ``n`` are ``floor(word * n / 2**64)`` with one word each for ``n <= 2**32``, and the same with
  two words (128 bits, the high one first) above. Each probability is exact to one part in ``2**32``.
- A permutation is the stable sort order of one 64-bit key per element.
- Numbers for rows, such as those of augmentations, have the row in the second word of the counter: block
  ``b`` of row ``r`` is the function of the key and the counter ``(offset + b + 1, r, 0, 0)``. They do not depend on
  which other rows are drawn, or on the order.

Uniform numbers and integers are bit-identical on all devices; normal numbers differ by the rounding of ln, cos and sin.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import secrets
import threading
from collections.abc import Iterable, Iterator
from operator import index
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.backend import CPU, Device
from engine.dtypes import DType, float32
from engine.modes import MODES
from engine.random.draws import (
    DISTRIBUTIONS,
    integers_at,
    normal_at,
    uniform_at,
    words_of_integer,
    words_of_normal,
    words_of_uniform,
)
from engine.random.philox import (
    MASK,
    State,
    Words,
    draw,
    draw_rows,
    order_of,
    unit64,
)

Shape: TypeAlias = int | Iterable[int]


class Generator:
    """Random number generator. The module's docstring defines its numbers as a function of `seed`.

    Args:
        seed: integer; negative values are taken modulo 2**64, as in PyTorch
        stream: index of an independent stream of this seed; `fork` selects one by name
        offset: number of blocks of four words already used
        device: accepted for compatibility; the numbers do not depend on it
    """

    def __init__(
        self, seed: int | str | Device = 0, stream: int = 0, offset: int = 0, *, device: str | Device = "cpu"
    ) -> None:
        if isinstance(seed, (str, Device)):  # PyTorch's only argument
            seed, device = 0, seed
        if device != "cpu":
            Device(device)
        self._lock = threading.Lock()
        self.set_state(State(seed, stream, offset))

    def __repr__(self) -> str:
        return f"Generator(seed={self._seed}, stream={self._stream}, offset={self._offset})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, tuple(self.get_state())

    # -- state

    def manual_seed(self, seed: int) -> Generator:
        """Set the seed and restart the main stream."""
        self.set_state(State(seed, 0, 0))
        return self

    def seed(self) -> int:
        """Set a random seed and return it."""
        return self.manual_seed(secrets.randbits(63)).initial_seed()

    def initial_seed(self) -> int:
        return self._seed

    @property
    def device(self) -> Device:
        """Return the CPU, as in PyTorch. Draws are the same on every device."""
        return CPU

    def clone_state(self) -> Generator:
        """Return another generator with the same state."""
        return Generator(*self.get_state())

    def get_state(self) -> State:
        return State(self._seed, self._stream, self._offset)

    def set_state(self, state: tuple[int, int, int]) -> None:
        seed, stream, offset = state
        self._seed = index(seed) & MASK
        self._stream = index(stream) & MASK
        self._offset = index(offset) & MASK

    def fork(self, *labels: int | str) -> Generator:
        """Return an independent generator for these labels, for instance ``fork("shuffle", epoch)``.

        It depends on seed, stream and labels, not on the offset. Its stream is a 64-bit hash of them.
        """
        names = [label if isinstance(label, str) else index(label) for label in labels]
        digest = hashlib.blake2b(repr((self._stream, names)).encode(), digest_size=8).digest()
        return Generator(self._seed, int.from_bytes(digest, "little"))

    def reserve(self, words: int) -> State:
        """Skip the blocks of `words` words and return the state before them, for a kernel that draws its numbers."""
        with self._lock:
            state = self.get_state()
            if MODES.undo is not None:
                MODES.undo.append((setattr, self, "_offset", state.offset))
            self._offset = (self._offset + -(-words // 4)) & MASK
        if MODES.fast_call is None and MODES.capture is not None:
            MODES.capture.note_reserved(self, words, state)
        return state

    def reserved(self, words: int) -> Generator:
        """Return a generator for the next `words` words, which this one skips."""
        return Generator(*self.reserve(words))

    # -- draws

    def bits(self, n: int) -> Words:
        """Draw `n` words of 64 random bits."""
        return draw(self.reserve(n), n)

    def uniform(self, shape: Shape = (), dtype: DType = float32, low: float = 0.0, high: float = 1.0) -> NDArray[Any]:
        """Draw uniformly from [low, high). Rounding to the dtype may reach `high`."""
        shape, count = _shape(shape)
        return uniform_at(self.reserve(words_of_uniform(count, dtype)), count, dtype, low, high).reshape(shape)

    def normal(self, shape: Shape = (), dtype: DType = float32, mean: float = 0.0, std: float = 1.0) -> NDArray[Any]:
        """Draw from the normal distribution by the Box-Muller transform."""
        shape, count = _shape(shape)
        return normal_at(self.reserve(words_of_normal(count, dtype)), count, dtype, mean, std).reshape(shape)

    def integers(self, low: int, high: int, shape: Shape = ()) -> NDArray[np.int64]:
        """Draw int64 numbers uniformly from low, …, high - 1. Raises ValueError if the range is empty."""
        if not -(2**63) <= low < high <= 2**63:
            raise ValueError(f"low must be less than high within int64, but they are {low} and {high}")
        shape, count = _shape(shape)
        state = self.reserve(words_of_integer(high - low) * count)
        return integers_at(state, count, low, high).reshape(shape)

    def uniform_rows(self, rows: NDArray[np.int64], count: int) -> NDArray[np.float64]:
        """Draw `count` numbers from [0, 1) for each row number, R×count, without advancing the generator."""
        return unit64(draw_rows(self.get_state(), rows, count))

    def poisson(self, rates: NDArray[Any]) -> NDArray[np.int64]:
        """Draw from Poisson distributions with these means. Takes one block, the key of a NumPy Philox stream."""
        return np.random.Generator(np.random.Philox(key=self.bits(2))).poisson(rates)

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Draw a permutation of 0, …, n - 1."""
        return order_of(self.bits(n))


def _shape(shape: Shape) -> tuple[tuple[int, ...], int]:
    sizes = tuple(index(size) for size in shape) if isinstance(shape, Iterable) else (index(shape),)
    if any(size < 0 for size in sizes):
        raise ValueError(f"sizes cannot be negative: {sizes}")
    return sizes, math.prod(sizes)


# -- default generator ---------------------------------------------------------------------------


class _ThreadGenerator(threading.local):
    """The generator that replaces the default one in this thread, or None."""

    generator: Generator | None = None


_THREAD = _ThreadGenerator()


class _DefaultGenerator(Generator):
    """The global generator. Within `drawing_from`, its draws come from another generator."""

    def __repr__(self) -> str:
        return repr(self.clone_state())

    def initial_seed(self) -> int:
        return self.get_state().seed

    def get_state(self) -> State:
        other = _THREAD.generator
        return super().get_state() if other is None else other.get_state()

    def set_state(self, state: tuple[int, int, int]) -> None:
        other = _THREAD.generator
        if other is None:
            super().set_state(state)
        else:
            other.set_state(state)

    def fork(self, *labels: int | str) -> Generator:
        other = _THREAD.generator
        return super().fork(*labels) if other is None else other.fork(*labels)

    def reserve(self, words: int) -> State:
        other = _THREAD.generator
        return super().reserve(words) if other is None else other.reserve(words)


default_generator: Generator = _DefaultGenerator(secrets.randbits(63))


@contextlib.contextmanager
def drawing_from(generator: Generator) -> Iterator[None]:
    """Context manager: `generator` replaces the default one in this thread, whose state does not change."""
    outer, _THREAD.generator = _THREAD.generator, generator
    try:
        yield
    finally:
        _THREAD.generator = outer


class RandomNumbers(NamedTuple):
    """Numbers to draw from a generator."""

    generator: Generator
    distribution: str
    """A key of `DISTRIBUTIONS`."""
    first: Any = 0
    second: Any = 0

    def reserve(self, count: int, dtype: DType) -> State:
        """Skip the words of `count` numbers."""
        return self.generator.reserve(DISTRIBUTIONS[self.distribution].words(count, dtype, self.first, self.second))

    def draw(self, shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
        """Draw numbers for a tensor of `dtype`; some distributions return another dtype."""
        count = math.prod(shape)
        state = self.reserve(count, dtype)
        return DISTRIBUTIONS[self.distribution].draw(state, count, dtype, self.first, self.second).reshape(shape)


def manual_seed(seed: int) -> Generator:
    """Set the seed of the global generator."""
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """Return the seed of the global generator."""
    return default_generator.initial_seed()


def seed() -> int:
    """Set a random seed of the global generator and return it."""
    return default_generator.seed()


def get_rng_state() -> State:
    """Return the state of the global generator."""
    return default_generator.get_state()


def set_rng_state(new_state: tuple[int, int, int]) -> None:
    """Restore a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: object = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """Context manager that restores the state of the global generator at the end. `devices` has no effect."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
