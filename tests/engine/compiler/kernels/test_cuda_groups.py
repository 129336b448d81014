"""CUDA kernels, run by g++ behind a shim, give the CPU kernels' numbers bit for bit: sums have the same order."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import engine
from engine.backend import Device, to_host
from engine.compiler.kernels import LoweringUnsupported
from engine.compiler.kernels.cuda.launch_planning import plan_launches
from engine.compiler.kernels.kernel_program import program_of
from engine.compiler.kernels.kernel_schedule import schedule_program
from engine.ops.record import REGISTRY
from tests.engine import fake_cupy
from tests.engine.compiler.kernels import cuda_groups
from tests.engine.compiler.kernels.groups import Group
from tests.engine.compiler.kernels.test_groups import RANDOM, groups, normal
from tests.engine.fake_cuda import DEVICES, STAND_IN

FLOATS = [np.float32, np.float64]


@pytest.fixture(autouse=True, params=DEVICES)
def _device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == STAND_IN:
        monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=1))


Case = tuple[Group, tuple[int, ...], list[Any]]


def same_bits(found: Any, expected: Any) -> None:
    """But which NaN it is does not matter."""
    np.testing.assert_array_equal(found, expected)
    numbers = found == found
    assert found[numbers].tobytes() == expected[numbers].tobytes()


def kinds_of(case: Case) -> list[str]:
    group, shape, outputs = case
    kernel = cuda_groups.kernel_of(group, shape, outputs)
    for value, mine, cpu in zip(outputs, cuda_groups.run(*case), group.run(shape, outputs), strict=True):
        same_bits(mine, cpu)
        np.testing.assert_allclose(mine, group.arrays[value], rtol=2e-4, atol=2e-3)
    return [one.kind for one in kernel.written.functions]


def softmax(shape: tuple[int, ...], dim: Any, dtype: Any = np.float32) -> Case:
    group = Group()
    x = group.input(normal(*shape, dtype=dtype))
    powers = group.add("exp", group.add("sub", x, group.add("amax", x, dim=dim, keepdim=True)))
    return group, shape, [group.add("div", powers, group.add("sum", powers, dim=dim, keepdim=True))]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [1, 10, 32, 700, 5000])
def test_rows_of_any_length_are_one_launch(width: int, dtype: Any) -> None:
    assert kinds_of(softmax((3, width), 1, dtype)) == ["rows" if width > 1 else "elements"]


def test_few_long_rows_are_split_into_blocks() -> None:
    assert kinds_of(softmax((3, 40_000), 1)) == ["blocks", "totals", "blocks", "totals", "elements"]


@pytest.mark.parametrize("dim", [0, 1, (0, 1), (1, 2), (0, 2)])
def test_softmax_over_any_dimensions(dim: Any) -> None:
    kinds_of(softmax((4, 5, 70), dim))


@pytest.mark.parametrize("dtype", [*FLOATS, np.int64])
@pytest.mark.parametrize("rows", [1, 64, 65, 1000])
def test_sums_over_rows(rows: int, dtype: Any) -> None:
    group = Group()
    x = group.input((normal(rows, 37) * 100).astype(dtype))
    outputs = [group.add(name, x, dim=0) for name in ("sum", "amax", "prod")] + [group.add("sum", x)]
    kinds_of((group, (rows, 37), outputs[:2] + outputs[3:]))


def test_output_is_written_by_the_launch_that_completes_its_sum() -> None:
    """The gradients of a layer's input and bias."""
    group = Group()
    g, y = group.input(normal(500, 20)), group.input(normal(500, 20))
    inputs = group.add("mul", g, group.add("gt", y, 0.0))
    assert kinds_of((group, (500, 20), [inputs, group.add("sum", inputs, dim=0)])) == ["columns", "totals"]


def test_values_that_need_a_sum_over_rows_are_in_later_launches() -> None:
    group = Group()
    x, weight = group.input(normal(8, 6, 50)), group.input(normal(6, 1))
    mean = group.add("mean", x, dim=(0, 2), keepdim=True)
    centered = group.add("sub", x, mean)
    variance = group.add("mean", group.add("mul", centered, centered), dim=(0, 2), keepdim=True)
    scaled = group.add("mul", centered, group.add("rsqrt", group.add("add", variance, 1e-5)))
    kinds_of((group, (8, 6, 50), [group.add("mul", scaled, weight), mean, variance]))


def test_sums_of_rows_and_over_rows() -> None:
    """The gradients of a layer norm."""
    group = Group()
    x, g, weight = group.input(normal(130, 65)), group.input(normal(130, 65)), group.input(normal(65))
    scaled = group.add("mul", g, weight)
    rows = group.add("mean", scaled, dim=1, keepdim=True)
    dots = group.add("mean", group.add("mul", scaled, x), dim=1, keepdim=True)
    inputs = group.add("sub", group.add("sub", scaled, rows), group.add("mul", x, dots))
    outputs = [
        inputs,
        group.add("sum", group.add("mul", g, x), dim=0),
        group.add("sum", g, dim=0),
        group.add("mean", dots),
    ]
    assert kinds_of((group, (130, 65), outputs))[0] == "rows"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_inputs_in_any_order_of_memory(order: tuple[int, ...]) -> None:
    base = normal(4, 5, 6)
    shape = tuple(base.shape[axis] for axis in order)
    group = Group()
    x, y = group.input(base.transpose(order)), group.input(normal(*shape)[:, ::-1])
    out = group.add("tanh", group.add("add", x, y))
    kinds_of((group, shape, [out, group.add("sum", out, dim=-1)]))


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("width", [8, 7])
def test_contiguous_elements_are_moved_in_packs(start: int, width: int) -> None:
    group = Group()
    whole = normal(6 * 8 + 1)
    x = group.input(whole[start : start + 6 * width].reshape(6, width))
    mask = group.input(normal(6, width) > 0)
    bias = group.input(normal(width))
    out = group.add("mul", mask, group.add("add", x, bias))
    kinds_of((group, (6, width), [out]))


@pytest.mark.parametrize("shape", [(6, 8), (5, 7), (3, 4, 8)])
def test_index_of_an_element(shape: tuple[int, ...]) -> None:
    group = Group()
    x = group.input(normal(*shape))
    for dim in range(len(shape)):
        position = group.add(REGISTRY["index_along"], x, dim=dim)
        kinds_of((group, shape, [group.add("mul", group.add("add", position, dim), x)]))


def test_outputs_written_over_inputs() -> None:
    group = Group()
    p, g, m = (group.input(normal(20, 7)) for _ in range(3))
    momentum = group.add("lerp", m, g, 0.1)
    moved = group.add("addcmul", p, momentum, g, value=-0.5)
    kernel = cuda_groups.kernel_of(group, (20, 7), [moved, momentum], ((0, 0), (1, 2)))
    given = [cuda_groups.there(one) for one in (group.arrays[p], group.arrays[g], group.arrays[m])]
    kernel(given, group.scalars, [])
    np.testing.assert_array_equal(to_host(given[0]), group.arrays[moved])
    np.testing.assert_array_equal(to_host(given[2]), group.arrays[momentum])


def test_inputs_that_other_threads_read_are_overwritten_last() -> None:
    """A running mean that is written where the old one was, which the sum is made with."""
    group = Group()
    x, running = group.input(normal(200, 9)), group.input(normal(9))
    mean = group.add("mean", group.add("sub", x, running), dim=0)
    moved = group.add("lerp", running, mean, 0.1)
    fused = group.fused((200, 9), [moved, mean], ((0, 1),))
    schedule = schedule_program(program_of(fused))
    launches = plan_launches(schedule, (200, 9), ((0, 1),))
    assert [one.kind for one in launches] == ["columns", "totals"]
    centered = group.add("sub", x, mean)
    fused = group.fused((200, 9), [moved, group.add("add", centered, running)], ((0, 1),))
    launches = plan_launches(schedule_program(program_of(fused)), (200, 9), ((0, 1),))
    assert [store.index for store in launches[-1].stores] == [0]


def test_one_source_serves_all_sizes() -> None:
    sources = set()
    for rows in (64, 5):
        group = Group()
        x, b = group.input(normal(rows, 10)), group.input(normal(10))
        out = group.add("relu", group.add("add", x, b))
        sources.add(cuda_groups.kernel_of(group, (rows, 10), [out, group.add("sum", out, dim=1)]).source)
        np.testing.assert_array_equal(cuda_groups.run(group, (rows, 10), [out])[0], group.arrays[out])
    assert len(sources) == 1


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_of_infinities_and_nan(dtype: Any, special: float) -> None:
    x = normal(600, 4, dtype=dtype)
    x[300, 1] = special
    group = Group()
    given = group.input(x)
    kinds_of(
        (group, (600, 4), [group.add("sum", given), group.add("sum", given, dim=1), group.add("amax", given, dim=1)])
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_maximum_of_signed_zeros(dtype: Any) -> None:
    group = Group()
    zeros = np.where(RANDOM.normal(size=(9, 700)) > 0, dtype(0), -dtype(0)).astype(dtype)
    zeros[4] = -dtype(0)
    x = group.input(zeros)
    kinds_of((group, (9, 700), [group.add(name, x, dim=dim) for name in ("amax", "amin") for dim in (0, 1)]))


@pytest.mark.parametrize("dtype", [np.float16, engine.bfloat16.numpy], ids=["float16", "bfloat16"])
def test_half_precision_is_rounded_after_each_op(dtype: Any) -> None:
    group = Group(Device("cuda"))
    x, y = (group.input(normal(70, 33).astype(dtype)) for _ in range(2))
    out = group.add("sub", group.add("relu", group.add("mul", x, y)), group.add("exp", x))
    narrow = group.add("div", out, 3.0)
    outputs = [out, narrow, group.add("sum", out, dim=1), group.add("amax", out, dim=1)]
    for value, found in zip(outputs, cuda_groups.run(group, (70, 33), outputs), strict=True):
        np.testing.assert_array_equal(found.astype(np.float32), group.arrays[value].astype(np.float32))
        assert found.dtype == dtype


def test_cpu_kernels_refuse_half_precision() -> None:
    group = Group()
    out = group.add("add", group.input(np.ones(3, np.float16)), 1.0)
    with pytest.raises(LoweringUnsupported, match="kernels do not support float16"):
        program_of(group.fused((3,), [out]))


@settings(max_examples=15, derandomize=True)
@given(groups())
def test_random_groups(case: Any) -> None:
    group, shape, outputs = case
    if not outputs:
        return
    try:
        schedule_program(program_of(group.fused(shape, outputs)))
    except LoweringUnsupported:
        return
    for mine, cpu in zip(cuda_groups.run(group, shape, outputs), group.run(shape, outputs), strict=True):
        same_bits(mine, cpu)


def test_shim_detects_deadlocked_threads() -> None:
    body = "if (threadIdx.x == 0) __syncthreads(); else __shfl_xor_sync(~0u, 1, 1);"
    source = f'namespace kernels {{ extern "C" __global__ void f(int) {{ {body} }} }}'
    kernel = fake_cupy.module().RawModule(code=source, options=("--fmad=false",)).get_function("f")
    with pytest.raises(RuntimeError, match="wait for others that never come"):
        kernel((1,), (32,), (np.int32(0),))
