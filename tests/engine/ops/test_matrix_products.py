"""Matrix products and LAPACK have the same bits for any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.compiler import disable
from engine.compiler.kernels.library import product_blocks_kernel, start_thread_pool
from engine.compiler.kernels.library.routines import library_kernel
from engine.compiler.kernels.thread_pool import THREAD_POOL
from engine.ops import product_blocks
from engine.ops.matrix_products import matrix_product
from engine.ops.product_blocks import MIN_WORK, WORDS
from engine.system.blas_threads import ONE_THREAD

THREADS = (1, 2, 3, 5)

SHAPES = [
    ((32, 64), (64, 256)),
    ((256, 32), (32, 64)),
    ((300, 200), (200, 300)),
    ((64, 784), (784, 256)),
    ((1000, 101), (101, 77)),
    ((2, 1, 200, 100), (3, 100, 90)),
    ((9, 128, 40), (9, 40, 128)),
    ((5, 100, 64), (64, 150)),
    ((40, 1, 300), (1, 300, 400)),
    ((20_000, 3), (3, 1)),
    ((3, 200_000), (200_000,)),
    ((1000,), (1000, 1003)),
    ((200_001,), (200_001,)),
]


@pytest.fixture(autouse=True)
def _number_of_threads() -> Iterator[None]:
    before = engine.get_num_threads()
    yield
    engine.set_num_threads(before)


def with_all_threads(function: Callable[[], Any]) -> list[Any]:
    found = []
    for threads in THREADS:
        engine.set_num_threads(threads)
        found.append(function())
    return found


def assert_same_bits(function: Callable[[], Any]) -> Any:
    first, *others = with_all_threads(function)
    for other in others:
        np.testing.assert_array_equal(first, other)
    return first


def normal(*shape: int, dtype: Any = np.float32, transposed: bool = False) -> Any:
    found = np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)
    return np.ascontiguousarray(found.swapaxes(-1, -2)).swapaxes(-1, -2) if transposed and found.ndim > 1 else found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)], ids=["x y", "x yT", "xT y"])
@pytest.mark.parametrize("shapes", SHAPES, ids=lambda shapes: " ".join("x".join(map(str, one)) for one in shapes))
def test_products_do_not_depend_on_threads(shapes: Any, transposed: tuple[bool, bool], dtype: Any) -> None:
    x, y = (
        normal(*shape, dtype=dtype, transposed=is_transposed)
        for shape, is_transposed in zip(shapes, transposed, strict=True)
    )
    expected = np.matmul(x.astype(np.float64), y.astype(np.float64))
    found = assert_same_bits(lambda: matrix_product(np, x, y))
    assert found.dtype == dtype and found.shape == expected.shape
    tolerance = np.finfo(dtype).eps * x.shape[-1] * float(abs(x).max() * abs(y).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    if found.ndim:
        for out in (np.full(found.shape, 7, dtype), np.full((*found.shape, 2), 7, dtype)[..., 0]):
            matrix_product(np, x, y, out)
            np.testing.assert_array_equal(out, found)


def test_a_product_with_its_transpose_does_not_depend_on_threads() -> None:
    x = normal(400, 300)
    found = assert_same_bits(lambda: matrix_product(np, x, x.T))
    np.testing.assert_array_equal(found, found.T)
    square = normal(300, 300)
    np.testing.assert_allclose(matrix_product(np, square, square), np.matmul(square, square.copy()), atol=1e-3)


@pytest.mark.parametrize(
    ("x", "y", "out"),
    [
        ((500, 300), (301, 400), None),
        ((3, 200, 300), (2, 300, 200), None),
        ((500, 300), (300, 400), (501, 400)),
        ((500, 300), (300, 400), (500, 1)),
    ],
)
def test_large_products_check_shapes(x: Any, y: Any, out: Any) -> None:
    with pytest.raises(ValueError, match=r"mismatch|broadcast"):
        matrix_product(np, normal(*x), normal(*y), None if out is None else normal(*out))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_share_blocks(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    library_kernel("serve_pool", np.dtype(np.float32))
    library_kernel("multiply_blocks", np.dtype(dtype))
    start_thread_pool()
    x, y = normal(700, 300, dtype=dtype), normal(300, 200, dtype=dtype)
    assert x.size * y.shape[1] > MIN_WORK
    with monkeypatch.context() as patched:
        patched.setattr(product_blocks, "_runner", product_blocks.run_in_order)
        expected = matrix_product(np, x, y)
    assert product_blocks._runner is product_blocks_kernel.run_blocks
    for threads in (1, 2, 3):
        engine.set_num_threads(threads)
        before = THREAD_POOL.offers
        np.testing.assert_array_equal(matrix_product(np, x, y), expected)
        assert (THREAD_POOL.offers > before) == (threads > 1)


def test_blocks_cover_a_product_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(product_blocks, "_runner", lambda blocks, dtype, nanoseconds: seen.append(blocks))
    for rows, columns in [(100, 5000), (5000, 100), (601, 599), (193, 2000)]:
        matrix_product(np, normal(rows, 100), normal(100, columns))
        blocks = seen.pop()
        assert len(blocks) > 1
        assert int((blocks[:, WORDS.ROWS] * blocks[:, WORDS.COLUMNS]).sum()) == rows * columns
        assert len(set(blocks[:, WORDS.C].tolist())) == len(blocks)


def modules() -> dict[str, Callable[[], Any]]:
    x, images = engine.tensor(normal(64, 784)), engine.tensor(normal(8, 32, 32, 32))
    heads = engine.tensor(normal(8, 4, 128, 32))
    square = engine.tensor(normal(150, 150, dtype=np.float64))
    return {
        "linear": lambda: nn.functional.linear(x, engine.tensor(normal(500, 784))),
        "convolution": lambda: nn.functional.conv2d(images, engine.tensor(normal(48, 32, 3, 3))),
        "convolution 1×1": lambda: nn.functional.conv2d(images, engine.tensor(normal(48, 32, 1, 1))),
        "softmax": lambda: engine.softmax(engine.tensor(normal(3, 30_001)), -1),
        "layer norm": lambda: nn.functional.layer_norm(engine.tensor(normal(40, 20_001)), (20_001,)),
        "attention": lambda: nn.functional.scaled_dot_product_attention(heads, heads, heads),
        "cdist": lambda: engine.cdist(x, engine.tensor(normal(400, 784))),
        "einsum": lambda: engine.einsum("ij,kj->ik", x, engine.tensor(normal(400, 784))),
        "qr": lambda: engine.linalg.qr(square)[0],
        "solve": lambda: engine.linalg.solve(square, square[:, :5]),
        "svd": lambda: engine.linalg.svd(square)[1],
        "matrix_exp": lambda: engine.linalg.matrix_exp(square / 10),
        "orthogonal": lambda: nn.init.orthogonal_(engine.empty(200, 150), generator=engine.Generator().manual_seed(1)),
    }


@pytest.mark.parametrize("name", list(modules()))
def test_operations_do_not_depend_on_threads(name: str) -> None:
    """Eager ones: compiled steps are tested in tests/engine/fit/test_threads.py."""
    assert_same_bits(disable(lambda: modules()[name]().numpy()))


def test_threads_set_meanwhile_apply_afterwards() -> None:
    engine.set_num_threads(2)
    with ONE_THREAD:
        assert engine.get_num_threads() == 2
        engine.set_num_threads(3)
        assert engine.get_num_threads() == 3
    assert engine.get_num_threads() == 3
    engine.set_num_threads(1)
    with ONE_THREAD:
        engine.set_num_threads(2)
    assert engine.get_num_threads() == 2
