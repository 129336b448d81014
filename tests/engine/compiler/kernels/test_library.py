"""Kernels of the library beside the ops' own, in double precision where sums are made in another order."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest

from engine.backend import CPU
from engine.compiler.instruction import Constant
from engine.compiler.ir import IRNode, IROperand, IRValue
from engine.compiler.kernels import thread_pool
from engine.compiler.kernels.kernel_cache import COMPILER
from engine.compiler.kernels.library import routine_of, start_thread_pool
from engine.compiler.kernels.library.routines import library_kernel
from engine.compiler.kernels.thread_pool import THREAD_POOL
from engine.ops.indexing.index import TensorSlot, index_backward
from engine.ops.record import Op
from engine.ops.recurrent.lstm import lstm_layer, lstm_layer_backward
from engine.ops.spatial.conv import convolution, convolution_backward_weight, convolution_transpose
from engine.ops.spatial.pool import max_pool_with_indices, window_scatter_add
from engine.ops.spatial.sliding_windows import SlidingWindows


def node_of(op: Op, arrays: list[Any], statics: dict[str, Any]) -> tuple[IRNode, list[Any]]:
    """A node, and what NumPy makes of it in double precision."""
    wide = [a.astype(np.float64) if a is not None and a.dtype.kind == "f" else a for a in arrays]
    found = op.kernel(np, *wide, **statics)
    found = list(found) if isinstance(found, tuple) else [found]
    inputs: list[IROperand] = [Constant(None) if a is None else IRValue(a.shape, a.dtype, CPU) for a in arrays]
    node = IRNode(op, inputs, statics, False)
    dtype = next(a.dtype for a in arrays if a is not None and a.dtype.kind == "f")
    kinds = [dtype if one.dtype.kind == "f" else one.dtype for one in found]
    node.outputs = [
        IRValue(one.shape, kind, CPU, node, i) for i, (one, kind) in enumerate(zip(found, kinds, strict=True))
    ]
    return node, found


def run(op: Op, arrays: list[Any], statics: dict[str, Any]) -> tuple[list[Any], list[Any]] | None:
    """What the library computes, twice, and what it should."""
    node, expected = node_of(op, arrays, statics)
    routine = routine_of(node)
    if routine is None:
        return None
    found = [np.full(value.shape, 77, value.dtype) for value in node.outputs]
    routine(*arrays, *found)
    again = [np.full(value.shape, 78, value.dtype) for value in node.outputs]
    routine(*arrays, *again)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, other)
    return found, expected


def near(found: list[Any], expected: list[Any], terms: int) -> None:
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, float(abs(other).max())) if other.size else 1.0
        np.testing.assert_allclose(one, other, rtol=0, atol=scale * terms**0.5 * 4 * np.finfo(one.dtype).eps)


IMAGES = [(5, 5), (8, 9), (13, 7), (1, 6), (33, 34)]
WINDOWS = [
    ((3, 3), (1, 1), (1, 1), (1, 1)), ((3, 3), (2, 2), (1, 1), (1, 1)), ((1, 1), (1, 1), (0, 0), (1, 1)),
    ((1, 1), (2, 2), (0, 0), (1, 1)), ((2, 3), (1, 2), (0, 2), (2, 1)), ((4, 2), (3, 1), (3, 1), (1, 3)),
    ((3, 3), (1, 1), (4, 5), (1, 1)), ((1, 5), (1, 3), (0, 0), (1, 1)), ((2, 2), (5, 4), (0, 0), (1, 1)),
    ((3, 3), (3, 3), (2, 0), (2, 2)),
]  # fmt: skip
CHANNELS = [(1, 4, 1), (3, 5, 1), (4, 8, 1), (8, 16, 2), (17, 9, 1), (12, 12, 3)]


def convolutions() -> list[Any]:
    found = []
    for number, (image, window, channels) in enumerate(itertools.product(IMAGES, WINDOWS, CHANNELS)):
        k, _, p, d = window
        if all(size + 2 * b >= e * (a - 1) + 1 for size, a, b, e in zip(image, k, p, d, strict=True)):
            found.append(
                (image, window, channels, (1, 3, 9)[number % 3], np.float64 if number % 4 == 3 else np.float32)
            )
    # Several blocks of lines; some lines end at the end of a block.
    blocks = [((96, 90), 8, 16), ((40, 40), 3, 16), ((40, 36), 64, 16), ((60, 50), 64, 16)]
    wide = [WINDOWS[0], WINDOWS[1], ((3, 3), (1, 1), (2, 2), (2, 2)), ((4, 4), (2, 2), (1, 1), (1, 1))]
    further = [(image, window, (a, b, 1), 3, np.float32) for (image, a, b), window in itertools.product(blocks, wide)]
    return [*found[::5], *further]


@pytest.mark.parametrize(("image", "window", "channels", "batch", "dtype"), convolutions())
def test_convolution(image: Any, window: Any, channels: Any, batch: int, dtype: Any) -> None:
    kernel, stride, padding, dilation = window
    inner, outer, groups = channels
    draw = np.random.default_rng(0)
    x = draw.standard_normal((batch, inner, *image)).astype(dtype)
    weight = draw.standard_normal((outer, inner // groups, *kernel)).astype(dtype)
    bias = draw.standard_normal(outer).astype(dtype) if batch > 1 else None
    statics: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    taps = inner // groups * kernel[0] * kernel[1]
    found = run(convolution, [x, weight, bias], statics)
    if outer // groups >= 4:
        assert found is not None
        near(*found, terms=taps)
    out_shape = convolution.kernel(np, x, weight, None, **statics).shape
    g = draw.standard_normal(out_shape).astype(dtype)
    found = run(convolution_backward_weight, [g, x], {**statics, "kernel": kernel})
    if outer // groups >= 4:
        assert found is not None
        near(*found, terms=batch * out_shape[2] * out_shape[3])
    found = run(convolution_transpose, [g, weight], {**statics, "sizes": image})
    if inner // groups >= 4:
        assert found is not None
        near(*found, terms=taps * outer)


@pytest.mark.parametrize(("steps", "batch", "size"), [(3, 2, 4), (1, 9, 16), (7, 8, 5), (4, 20, 33), (2, 1, 1)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("given", [0, 1, 2])
def test_lstm(steps: int, batch: int, size: int, reverse: bool, dtype: Any, given: int) -> None:
    draw = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return draw.standard_normal(shape).astype(dtype)

    arrays = [normal(steps, batch, 4 * size), normal(batch, size), normal(batch, size), normal(4 * size, size), None]
    statics: dict[str, Any] = {"batch_sizes": None, "reverse": reverse}
    node, expected = node_of(lstm_layer, arrays, statics)
    expected[3:] = [one.view(np.float64) for one in expected[3:]]
    results = [np.empty(one.shape, dtype) for one in expected]
    routine = routine_of(node)
    assert routine is not None
    routine(*arrays, *results)
    near(results, expected, terms=size * 16)
    upper: list[Any] = [normal(steps, batch, size), normal(batch, size), normal(batch, size)]
    upper = [one if number < given + (given > 1) else None for number, one in enumerate(upper)]
    if given and batch > 2:  # as a layer has it whose input is batch first
        upper[0] = np.ascontiguousarray(upper[0].swapaxes(0, 1)).swapaxes(0, 1)
    insides = [expected[3].view(np.uint8), expected[4].view(np.uint8), expected[0]]
    wide = [a if a is None else a.astype(np.float64) for a in (*arrays[1:], *upper)]
    expected = lstm_layer_backward.kernel(np, *insides, *wide, **statics)
    given_here = [results[3].view(np.uint8), results[4].view(np.uint8), results[0], *arrays[1:], *upper]
    inputs: list[IROperand] = [Constant(None) if a is None else IRValue(a.shape, a.dtype, CPU) for a in given_here]
    node = IRNode(lstm_layer_backward, inputs, statics, True)
    node.outputs = [IRValue(one.shape, np.dtype(dtype), CPU, node, i) for i, one in enumerate(expected)]
    slopes = [np.empty(one.shape, dtype) for one in expected]
    routine = routine_of(node)
    assert routine is not None
    routine(*given_here, *slopes)
    near(slopes, list(expected), terms=size * steps * batch * 64)


@pytest.mark.parametrize("image", [(5,), (6, 6), (7, 9), (1, 17), (40, 33)])
@pytest.mark.parametrize("sizes", [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 1), (2, 3, 0, 1), (3, 3, 1, 2), (1, 1, 0, 1)])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_max_pooling_bit_for_bit(image: Any, sizes: Any, ceil_mode: bool, dtype: Any) -> None:
    windows = SlidingWindows.of(sizes[0], sizes[1], sizes[2], sizes[3], len(image), ceil_mode)
    if any(sizes[3] * (sizes[0] - 1) + 1 > size + 2 * sizes[2] for size in image):
        return
    draw = np.random.default_rng(0)
    x = draw.integers(-2, 3, (2, 3, *image)).astype(dtype)
    odd = draw.choice(np.array([1, -0.0, np.nan, np.inf, -np.inf], dtype), x[0].shape, p=[0.6, 0.1, 0.1, 0.1, 0.1])
    x[0] = np.where(odd == 1, x[0], odd)
    best, number = max_pool_with_indices.kernel(np, x, windows)
    g = draw.standard_normal(best.shape).astype(dtype)
    g[0, 0, 0] = -0.0
    statics = {"windows": windows}
    for op, arrays, given, expected in (
        (max_pool_with_indices, [x], statics, [best, number]),
        (
            window_scatter_add,
            [g, number],
            {**statics, "sizes": image},
            [window_scatter_add.kernel(np, g, number, image, windows)],
        ),
    ):
        node = IRNode(op, [IRValue(a.shape, a.dtype, CPU) for a in arrays], given, True)
        node.outputs = [IRValue(a.shape, a.dtype, CPU, node, i) for i, a in enumerate(expected)]
        routine = routine_of(node)
        if routine is None:
            assert op is max_pool_with_indices
            assert sizes[1] > 2
            continue
        COMPILER.wait()
        found = [np.full(a.shape, 7, a.dtype) for a in expected]
        routine(*arrays, *found)
        for one, other in zip(found, expected, strict=True):
            assert one.tobytes() == np.ascontiguousarray(other).tobytes()


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_max_pool_indices_that_are_not_bytes_use_numpy(dtype: Any) -> None:
    windows = SlidingWindows.of(2, 2, 0, 1, 2)
    g, number = np.ones((2, 3, 3, 3), np.float32), np.zeros((2, 3, 3, 3), dtype)
    statics = {"windows": windows, "sizes": (6, 6)}
    assert routine_of(node_of(window_scatter_add, [g, number], statics)[0]) is None
    assert routine_of(node_of(window_scatter_add, [g, number.astype(np.uint8)], statics)[0]) is not None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_add_rows_matches_numpy(dtype: Any) -> None:
    """Repeated and negative positions, positions in two dimensions, rows of several, rows of one number."""
    draw = np.random.default_rng(1)
    for shape, out_shape in (((7, 33), (50,)), ((5, 3, 4), (6, 9)), ((4,), (30,)), ((1, 17), (3,))):
        x = draw.standard_normal((*out_shape, *shape[1:])).astype(dtype)
        index = draw.integers(-shape[0], shape[0], out_shape)
        statics = {"shape": shape, "layout": (TensorSlot(0),)}
        node, _ = node_of(index_backward, [x, index], statics)
        routine = routine_of(node)
        assert routine is not None
        COMPILER.wait()
        out = np.full(shape, 7, dtype)
        routine(x, index, out)
        assert out.tobytes() == index_backward.kernel(np, x, index, **statics).tobytes()
        with pytest.raises(IndexError):
            routine(x, index + 2 * shape[0], out)


def test_results_do_not_depend_on_thread_count(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """What is summed up over samples is in parts that do not depend on who computes them."""
    draw = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return draw.standard_normal(shape).astype(np.float32)

    windows = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    x, g, weight = normal(33, 16, 16, 16), normal(33, 16, 16, 16), normal(16, 16, 3, 3)
    h, gates = normal(70, 64), normal(9, 70, 256)
    calls: list[Any] = [
        (convolution, [x, weight, None], windows),
        (convolution_transpose, [g, weight], {**windows, "sizes": (16, 16)}),
        (convolution_backward_weight, [g, x], {**windows, "kernel": (3, 3)}),
        (lstm_layer, [gates, h, h, normal(256, 64), None], {"batch_sizes": None, "reverse": False}),
        (max_pool_with_indices, [x], {"windows": SlidingWindows.of(2, 2, 0, 1, 2)}),
        (index_backward, [normal(90, 70), draw.integers(0, 5, 90)], {"shape": (5, 70), "layout": (TensorSlot(0),)}),
    ]
    library_kernel("serve_pool", np.dtype(np.float32))
    for op, arrays, statics in calls:
        node, _ = node_of(op, arrays, statics)
        monkeypatch.setattr(thread_pool, "MIN_PART_NANOSECONDS", 1e-9)
        monkeypatch.setattr(thread_pool, "MIN_PARALLEL_NANOSECONDS", 0)
        routine = routine_of(node)
        assert routine is not None
        COMPILER.wait()
        start_thread_pool()
        found = []
        for threads in (1, 2, 5):
            before = THREAD_POOL.offers
            request.addfinalizer(partial(THREAD_POOL.resize, THREAD_POOL.size))
            THREAD_POOL.resize(threads)
            results = [np.zeros(value.shape, value.dtype) for value in node.outputs]
            routine(*arrays, *results)
            found.append([one.tobytes() for one in results])
            assert (THREAD_POOL.offers > before) == (threads > 1)
        assert found[0] == found[1] == found[2]
