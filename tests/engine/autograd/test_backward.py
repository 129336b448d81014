"""The backward pass: order, accumulation, hooks, saved tensors, modes, memory."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from typing import Any

import numpy as np
import psutil
import pytest

import engine
from engine.errors import AutogradError, ShapeError
from engine.tensors import Tensor


def leaf(*numbers: float) -> Tensor:
    return engine.tensor(list(numbers), requires_grad=True)


# -- long graphs -------------------------------------------------------------------------------


def test_graph_of_100000_ops() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0]
    assert y.tolist() == [100_001.0]


def test_long_graphs_are_freed_immediately() -> None:
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):
            _long_graph()
        before = psutil.Process().memory_info().rss
        for _ in range(5):
            _long_graph()
        after = psutil.Process().memory_info().rss
    finally:
        gc.enable()
    assert after - before < 20e6  # a graph takes about 30 MB


def _long_graph() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y * 1.0001
    y.backward()


def test_backward_frees_saved_tensors() -> None:
    x = leaf(1.0, 2.0)
    middle = x * 2
    watched = weakref.ref(middle)
    total = (middle * middle).sum()
    del middle
    assert watched() is not None
    total.backward()
    assert watched() is None


@pytest.mark.parametrize("op", [lambda y: -y, lambda y: y.tanh(), lambda y: y * y, lambda y: y * 2 + y * 3])
def test_intermediate_gradients_are_freed_after_use(op: Any) -> None:
    """At most the gradient that a node processes and its results exist, besides the gradient of the leaf."""
    x = engine.ones(100_000, dtype=engine.float64, requires_grad=True)
    for _ in range(2):
        y = x
        for _ in range(10):
            y = op(y)
        total = y.sum()
        gc.collect()
        tracemalloc.start()
        total.backward()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4.5 * x.nbytes


@pytest.mark.parametrize("write", [False, True])
def test_graph_has_no_reference_cycle(write: bool) -> None:
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = (x * 2).exp()
        if write:
            y[0] = 3.0
            y.mul_(y)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


# -- backward ---------------------------------------------------------------------------------


def test_gradients_accumulate_over_passes() -> None:
    x = leaf(3.0)
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [12.0]


def test_second_pass_requires_retain_graph() -> None:
    x = leaf(3.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [12.0]
    with pytest.raises(AutogradError, match=r"MulBackward0.* a second time.*retain_graph=True"):
        y.backward()


def test_graph_without_saved_tensors_can_run_again() -> None:
    x = leaf(3.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0]


def test_implicit_gradient_requires_one_element() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(AutogradError, match=r"a 2 tensor needs a gradient.*\.sum\(\)"):
        (x * 2).backward()
    with pytest.raises(ShapeError, match=r"gradient is 3, but the tensor is 2"):
        (x * 2).backward(engine.ones(3))
    (x * 2).backward(engine.tensor([1.0, 10.0]))
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 20.0]


def test_backward_without_graph_raises() -> None:
    with pytest.raises(AutogradError, match="since no leaf it depends on does"):
        engine.ones(()).backward()


def test_backward_from_leaf() -> None:
    x = leaf(1.0)
    x.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0]


def test_backward_with_inputs() -> None:
    x, y = leaf(2.0), leaf(3.0)
    middle = x * y
    (middle * middle).sum().backward(inputs=[x, middle])
    assert y.grad is None
    assert x.grad is not None
    assert middle.grad is not None
    assert (x.grad.item(), middle.grad.item()) == (36.0, 12.0)
    with pytest.raises(AutogradError, match="input 0 does not require gradients"):
        (x * 2).sum().backward(inputs=[engine.ones(1)])


def test_integers_cannot_require_gradients() -> None:
    with pytest.raises(AutogradError, match="this one is int64"):
        engine.arange(3).requires_grad_()


@pytest.mark.parametrize("dtype", [engine.float16, engine.float64])
def test_gradients_have_the_dtype_of_their_tensor(dtype: Any) -> None:
    x = engine.ones(2, 3, dtype=dtype, requires_grad=True)
    y = engine.ones(3, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert (x.grad.dtype, y.grad.dtype, tuple(y.grad.shape)) == (dtype, engine.float32, (3,))


# -- gradients are not shared -----------------------------------------------------------------


def test_leaves_do_not_share_one_gradient() -> None:
    x, y, seed = leaf(1.0, 2.0), leaf(1.0, 2.0), engine.ones(2)
    (x + y).backward(seed)
    assert x.grad is not None
    x.grad.add_(1)
    assert y.grad is not None
    assert (y.grad.tolist(), seed.tolist()) == ([1.0, 1.0], [1.0, 1.0])


def test_gradient_stored_by_hook_is_not_modified() -> None:
    x = leaf(1.0)
    stored: list[Tensor] = []
    x.register_hook(stored.append)
    y = x * 2
    y.register_hook(stored.append)
    (y + 0).backward()
    (x * 2).backward()
    assert [gradient.item() for gradient in stored] == [1.0, 2.0, 2.0]
    assert x.grad is not None
    assert x.grad.item() == 4.0


def test_expanded_gradient_is_copied() -> None:
    x = engine.ones(3, requires_grad=True)
    x.sum().backward()
    assert x.grad is not None
    x.grad[0] = 5.0
    assert x.grad.tolist() == [5.0, 1.0, 1.0]


def test_create_graph_gives_leaves_separate_gradients() -> None:
    x, y = leaf(1.0), leaf(1.0)
    (x + y).sum().backward(create_graph=True)
    assert x.grad is not y.grad


# -- hooks ------------------------------------------------------------------------------------


def test_hooks_run_in_order_and_replace_gradients() -> None:
    x = leaf(1.0)
    y = x * 2
    order: list[str] = []

    def tell(name: str, factor: float | None) -> Any:
        def hook(gradient: Tensor) -> Tensor | None:
            order.append(f"{name} {gradient.item():g}")
            return None if factor is None else gradient * factor

        return hook

    x.register_hook(tell("leaf", 5))
    y.register_hook(tell("first", 10))
    removed = y.register_hook(tell("removed", 1000))
    y.register_hook(tell("second", None))
    removed.remove()
    removed.remove()
    y.backward()
    assert order == ["first 1", "second 10", "leaf 20"]
    assert x.grad is not None
    assert x.grad.item() == 100.0


def test_hook_can_remove_itself() -> None:
    x = leaf(1.0)
    calls: list[str] = []
    handle = x.register_hook(lambda gradient: handle.remove() or calls.append("once"))
    x.register_hook(lambda gradient: calls.append("always"))
    x.backward()
    x.backward()
    assert calls == ["once", "always", "always"]


def test_hook_receives_summed_gradient() -> None:
    x = leaf(1.0)
    y = x * 1
    calls: list[float] = []
    y.register_hook(lambda gradient: calls.append(gradient.item()))
    (y * 2 + y * 3).backward()
    assert calls == [5.0]


def test_invalid_hook_result_raises() -> None:
    x = leaf(1.0, 2.0)
    x.register_hook(lambda gradient: gradient.sum())
    with pytest.raises(
        AutogradError, match="hook must return None or a tensor of the gradient's shape 2, not a Tensor of scalar"
    ):
        x.sum().backward()


def test_hooks_require_requires_grad() -> None:
    with pytest.raises(AutogradError, match="requires_grad_"):
        engine.ones(1).register_hook(lambda gradient: None)


def test_exception_in_hook_restores_modes() -> None:
    x, y = leaf(1.0), leaf(2.0)

    def fail(gradient: Tensor) -> None:
        raise ZeroDivisionError

    middle = x * y
    handle = middle.register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        middle.sum().backward(retain_graph=True)
    assert engine.is_grad_enabled()
    assert (x.grad, y.grad) == (None, None)
    handle.remove()
    (x * y).sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 2.0


def test_retain_grad_stores_gradient_after_hooks() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    y.register_hook(lambda gradient: gradient * 10)
    y.backward()
    assert y.grad is not None
    assert y.grad.item() == 10.0
    y.grad.zero_()
    assert x.grad is not None
    assert x.grad.item() == 20.0
    with pytest.raises(AutogradError, match="retain_grad"):
        engine.ones(1).retain_grad()


# -- engine.grad and higher orders ------------------------------------------------------------


def test_grad_does_not_change_grad_attribute() -> None:
    x, y = leaf(2.0), leaf(5.0)
    gx, gy, again = engine.grad((x * y).sum(), [x, y, x])
    assert gx is not None
    assert gy is not None
    assert again is not None
    assert (gx.item(), gy.item(), again.item(), x.grad) == (5.0, 2.0, 5.0, None)


def test_grad_of_unused_input() -> None:
    x, y = leaf(2.0), leaf(5.0)
    assert engine.grad((x * 2).sum(), [y], allow_unused=True) == (None,)
    with pytest.raises(AutogradError, match=r"input 0.*allow_unused=True"):
        engine.grad((x * 2).sum(), [y])
    with pytest.raises(AutogradError, match="input 1 does not require gradients"):
        engine.grad((x * 2).sum(), [x, engine.ones(1)])
    with pytest.raises(AutogradError, match="output 0 does not require gradients"):
        engine.grad(engine.ones(()), [x])


def test_grad_with_grad_outputs() -> None:
    x = leaf(1.0, 2.0)
    (found,) = engine.grad([x * 2, (x * x).sum()], x, [engine.tensor([1.0, 10.0]), None])
    assert found is not None
    assert found.tolist() == [4.0, 24.0]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_gradients_of_gradients(order: int) -> None:
    x = engine.tensor(0.7, dtype=engine.float64, requires_grad=True)
    y = (x * 3).sin()
    for _ in range(order):
        (y,) = engine.grad(y, x, create_graph=True)  # type: ignore[assignment]
    want = 3**order * np.sin(3 * 0.7 + order * np.pi / 2)
    assert y.item() == pytest.approx(want, rel=1e-12)


def test_backward_through_a_gradient() -> None:
    x = leaf(2.0)
    (slope,) = engine.grad((x * x * x).sum(), x, create_graph=True)
    assert slope is not None
    (slope * slope).sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 288.0  # d(9x⁴)/dx


# -- saved tensors ----------------------------------------------------------------------------


def test_modified_saved_input_raises() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(AutogradError, match=r"input [xy] of mul\(\).*, 2 float32, .*changed in place.*clone\(\)"):
        z.sum().backward()


def test_modified_saved_result_raises() -> None:
    y = leaf(1.0, 2.0).exp()
    z = y.sum()
    y.zero_()
    with pytest.raises(AutogradError, match=r"the result of exp\(\)"):
        z.backward()


def test_modified_tensor_error_names_line_while_tracing() -> None:
    with engine.inspect.recording():
        y = leaf(1.0).exp()
        z = y * y  # THE LINE
        y.add_(1)
    with open(__file__, encoding="utf-8") as file:
        line = next(number for number, text in enumerate(file, 1) if text.rstrip().endswith("# THE LINE"))
    with pytest.raises(AutogradError, match=rf"mul\(\) \(.*test_backward\.py:{line}\)"):
        z.sum().backward()


def test_unsaved_tensors_can_be_modified() -> None:
    x = leaf(1.0)
    y = x * 2
    z = y + 1
    y.zero_()
    z.sum().backward()
    assert x.grad is not None
    assert x.grad.item() == 2.0


def test_write_to_view_increments_version_of_base() -> None:
    y = leaf(1.0, 2.0) * 1
    z = y * y
    y[0] = 7.0
    with pytest.raises(AutogradError, match="changed in place"):
        z.sum().backward()


def test_leaf_takes_over_unshared_gradient_buffer() -> None:
    addresses: list[int] = []

    class Doubled(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
            found = g * 2
            addresses.append(found.data_ptr())
            return found

    x = leaf(1.0, 2.0)
    Doubled.apply(x).sum().backward()
    assert x.grad is not None
    assert [x.grad.data_ptr()] == addresses


# -- threads ----------------------------------------------------------------------------------


def test_backward_in_threads() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(50):
            x = leaf(float(number))
            (x * x * x).sum().backward()
            if x.grad is None or x.grad.item() != 3 * number * number:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
