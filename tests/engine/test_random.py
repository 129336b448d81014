from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.random
from engine import dtypes
from engine.errors import DTypeError
from engine.random import Generator
from engine.random.philox import State, keep_mask, order_of

MASK = 2**64 - 1


def philox_block(key: tuple[int, int], counter: int) -> list[int]:
    """Philox4x64-10 in plain numbers, after the paper: what a kernel on another device computes."""
    c, (k0, k1) = [counter, 0, 0, 0], key
    for _ in range(10):
        p0, p1 = c[0] * 0xD2E7470EE14C6C93, c[2] * 0xCA5A826395121157
        c = [(p1 >> 64) ^ c[1] ^ k0, p1 & MASK, (p0 >> 64) ^ c[3] ^ k1, p0 & MASK]
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
    return c


@given(st.integers(0, MASK), st.integers(0, MASK), st.integers(0, 2**62))
def test_bits_depend_only_on_key_and_counter(seed: int, stream: int, offset: int) -> None:
    samples = Generator(seed, stream, offset).bits(8).tolist()
    assert samples == philox_block((seed, stream), offset + 1) + philox_block((seed, stream), offset + 2)
    theirs = np.random.Philox(key=np.array([seed, stream], np.uint64), counter=np.array([offset, 0, 0, 0], np.uint64))
    assert samples == theirs.random_raw(8).tolist()


def test_each_draw_uses_complete_blocks() -> None:
    generator = Generator(3)
    generator.bits(1)
    assert generator.get_state().offset == 1
    generator.uniform(9)  # nine halves are five words are two blocks
    assert generator.get_state().offset == 3
    generator.bits(0)
    assert generator.reserve(8) == State(3, 0, 3)
    assert generator.get_state().offset == 5


def test_uniform_is_the_documented_function_of_the_bits() -> None:
    words = Generator(5).bits(4).tolist()
    halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
    assert Generator(5).uniform(8).tolist() == [(half >> 8) * 2**-24 for half in halves]
    assert Generator(5).uniform(4, dtypes.float64).tolist() == [(word >> 11) * 2**-53 for word in words]


def test_normal_is_the_documented_function_of_the_bits() -> None:
    words = Generator(5).bits(4).tolist()
    expected32 = []
    for word in words:
        radius = math.sqrt(-2 * math.log(((word & 0xFFFFFFFF) + 1) * 2**-32))
        angle = 2 * math.pi * (word >> 32) * 2**-32
        expected32 += [radius * math.cos(angle), radius * math.sin(angle)]
    np.testing.assert_allclose(Generator(5).normal(8), expected32, rtol=1e-5, atol=1e-6)
    expected64 = []
    for first, second in zip(words[::2], words[1::2], strict=True):
        radius = math.sqrt(-2 * math.log(((first + 2**11) >> 11) * 2**-53))
        angle = 2 * math.pi * (second >> 11) * 2**-53
        expected64 += [radius * math.cos(angle), radius * math.sin(angle)]
    np.testing.assert_allclose(Generator(5).normal((2, 2), dtypes.float64).ravel(), expected64, rtol=1e-13)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**64))
def test_integers_are_the_documented_function_of_the_bits(low: int, span: int) -> None:
    high = min(low + span, 2**63)
    span = high - low
    samples = Generator(1).integers(low, high, 6).tolist()
    if span <= 2**32:
        expected = [low + (word * span >> 64) for word in Generator(1).bits(6).tolist()]
    else:
        words = Generator(1).bits(12).tolist()
        pairs = zip(words[::2], words[1::2], strict=True)
        expected = [low + (((first << 64) + second) * span >> 128) for first, second in pairs]
    assert samples == expected


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.float32, dtypes.float64])
def test_moments(dtype: dtypes.DType) -> None:
    generator = Generator(11)
    uniform = generator.uniform((200, 1000), dtype)
    normal = generator.normal((200, 1000), dtype).astype(np.float64)
    assert uniform.dtype == normal.dtype or dtype is not dtypes.float64
    assert uniform.min() >= 0
    assert float(uniform.max()) <= 1
    assert float(uniform.astype(np.float64).mean()) == pytest.approx(0.5, abs=0.003)
    assert float(uniform.astype(np.float64).var()) == pytest.approx(1 / 12, abs=0.001)
    assert normal.mean() == pytest.approx(0, abs=0.01)
    assert normal.var() == pytest.approx(1, abs=0.015)
    assert (normal**3).mean() == pytest.approx(0, abs=0.03)
    assert (normal**4).mean() == pytest.approx(3, abs=0.1)
    pairs = normal.reshape(-1, 2)
    assert (pairs[:, 0] * pairs[:, 1]).mean() == pytest.approx(0, abs=0.02)


def test_ranges_and_scales() -> None:
    generator = Generator(0)
    values = generator.uniform(10_000, low=-3, high=5)
    assert values.dtype == np.float32
    assert -3 <= values.min() < -2.9
    assert 4.9 < values.max() < 5
    shifted = Generator(1).normal(1000, mean=10, std=2)
    np.testing.assert_allclose(shifted, Generator(1).normal(1000) * 2 + 10, rtol=1e-6)


def test_integers_are_evenly_spread() -> None:
    counts = np.bincount(Generator(4).integers(0, 10, 100_000), minlength=10)
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 27.9  # chi-square, 9 degrees of freedom, p = 0.001


@given(st.integers(0, 300), st.integers())
def test_permutation_has_every_number_once(n: int, seed: int) -> None:
    permutation = Generator(seed).permutation(n)
    assert permutation.dtype == np.int64
    assert sorted(permutation.tolist()) == list(range(n))
    assert permutation.tolist() == Generator(seed).permutation(n).tolist()


@given(st.integers(0, 300), st.integers(0, MASK), st.integers(0, MASK))
def test_the_order_of_words_is_stable(n: int, key: int, bits: int) -> None:
    """Also for keys that are equal, entirely or except for the bits that hold the index during sorting."""
    words = np.random.Philox(key=key).random_raw(n) & np.uint64(bits)
    order = order_of(words)
    assert order.dtype == np.int64
    assert order.tolist() == np.argsort(words, kind="stable").tolist()


def test_state_round_trip() -> None:
    generator = Generator(-1).fork("epoch", 3)
    generator.bits(7)
    state = generator.get_state()
    first = generator.normal(100)
    generator.set_state(state)
    np.testing.assert_array_equal(generator.normal(100), first)
    copy = pickle.loads(pickle.dumps(generator))
    np.testing.assert_array_equal(copy.bits(5), generator.bits(5))
    assert repr(Generator(7)) == "Generator(seed=7, stream=0, offset=0)"


def test_forks_are_independent_and_repeatable() -> None:
    generator = Generator(1)
    before = generator.fork("worker", 0).bits(4).tolist()
    generator.bits(100)
    assert generator.fork("worker", np.int64(0)).bits(4).tolist() == before
    others = [generator.fork("worker", 1), generator.fork("worker", "0"), generator.fork("worker").fork(0), generator]
    others.append(Generator(2).fork("worker", 0))
    assert all(other.bits(4).tolist() != before for other in others)


def test_the_default_generator() -> None:
    state = engine.random.get_rng_state()
    try:
        engine.random.manual_seed(42)
        assert engine.random.initial_seed() == 42
        first = engine.random.default_generator.uniform(3).tolist()
        engine.random.set_rng_state((42, 0, 0))
        assert engine.random.default_generator.uniform(3).tolist() == first
        assert engine.random.seed() == engine.random.initial_seed() != 42
    finally:
        engine.random.set_rng_state(state)


def test_refused_arguments() -> None:
    with pytest.raises(ValueError, match="they are 3 and 3"):
        Generator().integers(3, 3)
    with pytest.raises(ValueError, match="negative"):
        Generator().uniform((2, -1))
    with pytest.raises(DTypeError, match="not int64"):
        Generator().uniform(2, dtypes.int64)


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 1 - 2**-24, 1.0])
def test_keep_mask_equals_the_comparison_of_uniform_numbers(p: float) -> None:
    state = State(7, 3, 11)
    expected = Generator(*state).uniform((1001,)) >= p
    np.testing.assert_array_equal(keep_mask(state, 1001, p), expected)
