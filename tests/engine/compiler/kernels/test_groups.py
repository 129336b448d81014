"""Groups of nodes as kernels: reductions with what is before and after them, broadcast and strided inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.compiler.kernels import LoweringUnsupported, compile
from engine.compiler.kernels.kernel_program import program_of
from engine.compiler.kernels.kernel_schedule import schedule_program
from tests.engine.compiler.kernels.groups import Group

RANDOM = np.random.default_rng(0)


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.normal(size=shape).astype(dtype)


def close(found: Any, expected: Any) -> None:
    bound = 1e-5 if expected.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(found, expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("dim", [0, 1, 2, (0, 1), (1, 2), (0, 2)])
@pytest.mark.parametrize("width", [3, 700])
def test_softmax_over_any_dimensions(dim: Any, width: int) -> None:
    group = Group()
    x = group.input(normal(4, 5, width))
    top = group.add("amax", x, dim=dim, keepdim=True)
    powers = group.add("exp", group.add("sub", x, top))
    out = group.add("div", powers, group.add("sum", powers, dim=dim, keepdim=True))
    close(group.run((4, 5, width), [out])[0], group.arrays[out])


def test_sums_of_rows_and_over_rows_in_one_kernel() -> None:
    group = Group()
    x, w = group.input(normal(37, 65)), group.input(normal(65))
    y = group.add("mul", x, w)
    rows = group.add("sum", y, dim=1, keepdim=True)
    out = group.add("sub", y, rows)
    columns = group.add("sum", group.add("mul", out, x), dim=0)
    whole = group.add("mean", out)
    scaled = group.add("mul", columns, 2.0)
    outputs = [out, columns, whole, scaled, rows]
    for value, found in zip(outputs, group.run((37, 65), outputs), strict=True):
        np.testing.assert_allclose(found, group.arrays[value], rtol=2e-4, atol=2e-3)


def test_values_that_need_a_sum_over_rows_take_a_second_pass() -> None:
    group = Group()
    x = group.input(normal(64, 33))
    centered = group.add("sub", x, group.add("mean", x, dim=0, keepdim=True))
    variance = group.add("mean", group.add("mul", centered, centered), dim=0, keepdim=True)
    out = group.add("mul", centered, group.add("rsqrt", group.add("add", variance, 1e-5)))
    close(group.run((64, 33), [out])[0], group.arrays[out])


def test_reduction_over_outer_and_inner_dimensions() -> None:
    group = Group()
    x, w = group.input(normal(4, 3, 5, 6)), group.input(normal(1, 3, 1, 1))
    mean = group.add("mean", x, dim=(0, 2, 3), keepdim=True)
    out = group.add("mul", group.add("sub", x, mean), w)
    close(group.run((4, 3, 5, 6), [out])[0], group.arrays[out])


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_inputs_in_any_order_of_memory(order: tuple[int, ...]) -> None:
    base = normal(4, 5, 6)
    shape = tuple(base.shape[axis] for axis in order)
    group = Group()
    x, y = group.input(base.transpose(order)), group.input(normal(*shape)[:, ::-1])
    out = group.add("tanh", group.add("add", x, y))
    total = group.add("sum", out, dim=-1)
    for value, found in zip([out, total], group.run(shape, [out, total]), strict=True):
        close(found, group.arrays[value])


def test_outputs_written_over_inputs() -> None:
    group = Group()
    p, g, m = (group.input(normal(20, 7)) for _ in range(3))
    momentum = group.add("lerp", m, g, 0.1)
    moved = group.add("addcmul", p, momentum, g, value=-0.5)
    kernel = compile(group.fused((20, 7), [moved, momentum], in_place=((0, 0), (1, 2))))
    arrays = [group.arrays[one].copy() for one in (p, g, m)]
    kernel(arrays, group.scalars, [arrays[0], arrays[2]])
    np.testing.assert_array_equal(arrays[0], group.arrays[moved])
    np.testing.assert_array_equal(arrays[2], group.arrays[momentum])


def test_inputs_that_are_read_later_are_not_overwritten() -> None:
    group = Group()
    x = group.input(normal(5, 6))
    y = group.add("relu", x)
    out = group.add("sub", x, group.add("sum", y, dim=1, keepdim=True))
    with pytest.raises(LoweringUnsupported, match="overwrites an input that is read later"):
        compile(group.fused((5, 6), [y, out], in_place=((0, 0),)))
    compile(group.fused((5, 6), [y, out], in_place=((1, 0),)))


def test_one_kernel_serves_all_sizes() -> None:
    sources = set()
    for rows in (64, 5):
        group = Group()
        x, b = group.input(normal(rows, 10)), group.input(normal(10))
        out = group.add("relu", group.add("add", x, b))
        sources.add(compile(group.fused((rows, 10), [out])).source)
        np.testing.assert_array_equal(group.run((rows, 10), [out])[0], group.arrays[out])
    assert len(sources) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 511, 100_003])
def test_sums_are_at_least_as_accurate_as_numpy(dtype: Any, size: int) -> None:
    x = (RANDOM.normal(size=size) + 1).astype(dtype)
    group = Group()
    total = group.add("sum", group.input(x))
    exact = x.astype(np.longdouble).sum()
    mine, numpys = (abs(float(one - exact)) for one in (group.run((size,), [total])[0], x.sum()))
    assert mine <= max(numpys, float(np.spacing(dtype(abs(exact)))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_sums_of_infinities_and_nan(dtype: Any, special: float) -> None:
    x = normal(600, 4, dtype=dtype)
    x[300, 1] = special
    group = Group()
    given = group.input(x)
    outputs = [group.add("sum", given), group.add("sum", given, dim=1), group.add("amax", given, dim=1)]
    for value, found in zip(outputs, group.run((600, 4), outputs), strict=True):
        np.testing.assert_allclose(found, group.arrays[value], rtol=1e-5, atol=1e-5)


def test_lowering_failures_name_the_reason() -> None:
    group = Group()
    x = group.input(normal(3, 4, 5))
    first, second = group.add("sum", x, dim=0), group.add("sum", x, dim=1)
    with pytest.raises(LoweringUnsupported, match="reduces over different dimensions"):
        compile(group.fused((3, 4, 5), [first, second]))


UNARY = ["relu", "neg", "abs", "exp", "tanh", "sigmoid", "square"]
BINARY = ["add", "sub", "mul", "maximum", "minimum"]


@st.composite
def groups(draw: st.DrawFn) -> tuple[Group, tuple[int, ...], list[Any]]:
    """Random nodes over one space, with reductions of one kind among them."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    dims = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    group = Group()
    values = []
    for _ in range(draw(st.integers(1, 3))):
        sizes = [size if draw(st.booleans()) else 1 for size in shape] if values else shape
        values.append(group.input(np.tanh(normal(*sizes, dtype=np.float64))))
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["unary", "binary", "number", "reduce"]))
        one, two = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        if kind == "unary":
            values.append(group.add("tanh", group.add(draw(st.sampled_from(UNARY)), one)))
        elif kind == "number":
            values.append(group.add("mul", one, draw(st.floats(-2, 2))))
        elif kind == "binary":
            values.append(group.add(draw(st.sampled_from(BINARY)), one, two))
        elif group.arrays[one].shape == shape:
            name = draw(st.sampled_from(["sum", "mean", "amax", "amin"]))
            values.append(group.add(name, one, dim=tuple(sorted(dims)), keepdim=True))
    made = [value for value in values if value.producer is not None]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique_by=id)) if made else []
    return group, shape, outputs


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    derandomize=True,
)
@given(groups())
def test_random_groups(case: tuple[Group, tuple[int, ...], list[Any]]) -> None:
    group, shape, outputs = case
    if not outputs:
        return
    try:
        schedule_program(program_of(group.fused(shape, outputs)))
    except LoweringUnsupported:
        return
    for value, found in zip(outputs, group.run(shape, outputs), strict=True):
        np.testing.assert_allclose(found, group.arrays[value], rtol=1e-11, atol=1e-11)
