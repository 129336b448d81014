"""Generated CUDA sources equal the reviewed ones: `python FILE --update` rewrites them.

Where there is CUDA's own compiler, which needs no GPU, it has to take them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.backend import Device
from engine.compiler.ir import IRNode, IRValue
from engine.compiler.kernels import FusedGroup
from engine.compiler.kernels.cuda import cuda_kernel as kernel_module
from engine.compiler.kernels.cuda.launch_grid import MOST_BLOCKS, Grid, grid_of
from engine.compiler.kernels.cuda.nvrtc import OPTIONS, CudaCompilation
from engine.ops.record import REGISTRY
from tests.engine.compiler.kernels.groups import Group

GOLDEN = Path(__file__).parent / "cuda_golden"
NVCC = shutil.which("nvcc")
ROWS, WIDTH = 128, 64
CUDA = Device("cuda")


class Case:
    """A group as it grows, and its source."""

    def __init__(self) -> None:
        self.group = Group(CUDA)
        self.in_place: list[tuple[int, int]] = []

    def array(self, *shape: int, dtype: Any = np.float32) -> IRValue:
        return self.group.input(np.ones(shape, dtype))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *inputs, **statics: self.group.add(name, *inputs, **statics)

    def mean_of(self, x: IRValue, dim: Any) -> IRValue:
        return self.group.add("mean", x, dim=dim, keepdim=True)

    def source(self, shape: Sequence[int], outputs: Sequence[IRValue]) -> str:
        fused = self.group.fused(shape, outputs, self.in_place)
        given = [self.group.arrays[value] for value in fused.inputs]
        strides = [tuple(step // array.itemsize for step in array.strides) for array in given]
        return kernel_module.CudaKernel(fused, [*strides, *[None] * len(outputs)]).source


def bias_relu(case: Case) -> str:
    x, bias = case.array(ROWS, WIDTH), case.array(WIDTH)
    return case.source((ROWS, WIDTH), [case.relu(case.add(x, bias))])


def transposed(case: Case) -> str:
    x, y = case.group.input(np.ones((WIDTH, ROWS), np.float32).T), case.array(ROWS, WIDTH)
    return case.source((ROWS, WIDTH), [case.mul(case.tanh(x), y)])


def bias_gradient(case: Case) -> str:
    g, y = case.array(ROWS, WIDTH), case.array(ROWS, WIDTH)
    inputs = case.mul(g, case.gt(y, 0.0))
    return case.source((ROWS, WIDTH), [inputs, case.sum(inputs, dim=0)])


def softmax(case: Case) -> str:
    x = case.array(ROWS, WIDTH)
    powers = case.exp(case.sub(x, case.amax(x, dim=1, keepdim=True)))
    return case.source((ROWS, WIDTH), [case.div(powers, case.sum(powers, dim=1, keepdim=True))])


def layer_norm(case: Case) -> str:
    x, weight, bias = case.array(ROWS, WIDTH), case.array(WIDTH), case.array(WIDTH)
    centered = case.sub(x, case.mean_of(x, 1))
    steep = case.rsqrt(case.add(case.mean_of(case.mul(centered, centered), 1), 1e-5))
    scaled = case.mul(centered, steep)
    return case.source((ROWS, WIDTH), [case.add(case.mul(scaled, weight), bias), scaled, steep])


def layer_norm_backward(case: Case) -> str:
    g, scaled, steep, weight = case.array(ROWS, WIDTH), case.array(ROWS, WIDTH), case.array(ROWS, 1), case.array(WIDTH)
    slope = case.mul(g, weight)
    dots = case.mul(scaled, case.mean_of(case.mul(slope, scaled), 1))
    inputs = case.mul(case.sub(case.sub(slope, case.mean_of(slope, 1)), dots), steep)
    return case.source((ROWS, WIDTH), [inputs, case.sum(case.mul(g, scaled), dim=0), case.sum(g, dim=0)])


def cross_entropy(case: Case) -> str:
    """The loss, and the gradient of the scores."""
    x, chosen = case.array(ROWS, WIDTH), case.array(ROWS, WIDTH, dtype=np.bool_)
    below = case.sub(x, case.amax(x, dim=1, keepdim=True))
    logs = case.sub(below, case.log(case.sum(case.exp(below), dim=1, keepdim=True)))
    loss = case.neg(case.mean(case.sum(case.mul(logs, chosen), dim=1)))
    return case.source((ROWS, WIDTH), [loss, case.mul(case.sub(case.exp(logs), chosen), 0.125)])


def adam(case: Case) -> str:
    p, g, m, v = (case.array(ROWS, WIDTH) for _ in range(4))
    mean, square = case.lerp(m, g, 0.1), case.add(case.mul(v, 0.999), case.mul(case.mul(g, g), 0.001))
    moved = case.sub(p, case.mul(case.div(mean, case.add(case.sqrt(square), 1e-8)), 0.01))
    case.in_place = [(0, 0), (1, 2), (2, 3)]
    return case.source((ROWS, WIDTH), [moved, mean, square])


def batch_norm(case: Case) -> str:
    """Of channels with few elements each."""
    x, weight, running = case.array(16, 8, 49), case.array(1, 8, 1), case.array(1, 8, 1)
    mean = case.mean_of(x, (0, 2))
    centered = case.sub(x, mean)
    steep = case.rsqrt(case.add(case.mean_of(case.mul(centered, centered), (0, 2)), 1e-5))
    case.in_place = [(1, 2)]
    return case.source((16, 8, 49), [case.mul(case.mul(centered, steep), weight), case.lerp(running, mean, 0.1)])


def batch_norm_of_images(case: Case) -> str:
    """The same sums of channels that are too large for one block of threads each."""
    x = case.array(64, 3, 1024)
    mean = case.mean_of(x, (0, 2))
    return case.source((64, 3, 1024), [case.sub(x, mean), mean])


def mean_of_all(case: Case) -> str:
    return case.source((1 << 20,), [case.mean(case.square(case.array(1 << 20)))])


def whole_numbers(case: Case) -> str:
    x, y = case.array(ROWS, WIDTH, dtype=np.int64), case.array(ROWS, WIDTH, dtype=np.uint8)
    return case.source((ROWS, WIDTH), [case.mul(x, y), case.sum(x, dim=1), case.any(x, dim=1)])


def double_precision(case: Case) -> str:
    x = case.array(ROWS, WIDTH, dtype=np.float64)
    return case.source((ROWS, WIDTH), [case.sum(case.log1p(case.abs(x)), dim=1), case.sum(x, dim=0)])


def half_storage(case: Case) -> str:
    x, bias = case.array(ROWS, WIDTH, dtype=np.float16), case.array(WIDTH, dtype=np.float16)
    out = case.relu(case.add(x, bias))
    return case.source((ROWS, WIDTH), [out, case.cast(out, dtype=engine.bfloat16), case.sum(out, dim=1)])


CASES: list[Callable[[Case], str]] = [
    bias_relu, transposed, bias_gradient, softmax, layer_norm, layer_norm_backward, cross_entropy, adam, batch_norm,
    batch_norm_of_images, mean_of_all, whole_numbers, double_precision, half_storage,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _written_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_module, "load", CudaCompilation)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_sources_match_the_golden_files(case: Callable[[Case], str]) -> None:
    assert case(Case()) == (GOLDEN / f"{case.__name__}.cu").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="needs nvcc, CUDA's compiler")
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_nvrtc_compiles_the_golden_sources(architecture: str, tmp_path: Path) -> None:
    assert NVCC is not None
    for one in CASES:
        command = [NVCC, *OPTIONS, "-cubin", f"-arch={architecture}", "-Werror", "all-warnings"]
        subprocess.run([*command, "-o", tmp_path / "out.cubin", GOLDEN / f"{one.__name__}.cu"], check=True)


@pytest.mark.parametrize(("size", "index"), [(1 << 29, "int"), (1 << 31, "long long")])
def test_large_arrays_use_64_bit_indices(size: int, index: str) -> None:
    x = IRValue((size,), np.dtype(np.float32), CUDA)
    node = IRNode(REGISTRY["neg"], [x], None, False)
    node.outputs = [IRValue(x.shape, x.dtype, CUDA, node)]
    fused = FusedGroup(x.shape, (node,), (x,), (), tuple(node.outputs))
    kernel = kernel_module.CudaKernel(fused)
    assert f"typedef {index} Index;" in kernel.source
    assert kernel.written.functions[0].fields["n0"] == size


# -- grids ----------------------------------------------------------------------------------------


def test_short_rows_share_a_block_of_threads() -> None:
    assert grid_of("rows", 1000, 500, block=512) == Grid((125, 1, 1), (32, 8, 1))


def test_long_rows_use_one_warp_per_block_of_elements() -> None:
    assert grid_of("rows", 1000, 1500, block=512) == Grid((1000, 1, 1), (128, 1, 1))
    assert grid_of("rows", 1000, 100_000, block=512).threads == (512, 1, 1)


def test_grid_of_column_sums() -> None:
    assert grid_of("columns", 640, 1000, block=512, parts=10) == Grid((32 * 2, 1, 1), (32, 8, 1))
    assert grid_of("columns", 640, 3, block=512, parts=10) == Grid((1, 1, 1), (4, 64, 1))


def test_grid_of_row_blocks() -> None:
    assert grid_of("blocks", 3, 5120, block=512) == Grid((4, 1, 1), (256, 1, 1))


def test_grid_of_elementwise_launches_counts_packs() -> None:
    assert grid_of("elements", 1, 1 << 20, block=512, width=4).blocks == (1 << 10, 1, 1)
    assert grid_of("elements", 1, 1 << 40, block=512).blocks == (MOST_BLOCKS, 1, 1)
    assert grid_of("elements", 1, 1, block=512).blocks == (1, 1, 1)


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit("--update rewrites the sources")
    kernel_module.load = CudaCompilation  # pyright: ignore[reportAttributeAccessIssue]
    GOLDEN.mkdir(exist_ok=True)
    for one in CASES:
        (GOLDEN / f"{one.__name__}.cu").write_text(one(Case()), encoding="utf-8")
