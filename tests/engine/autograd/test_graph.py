"""Autograd nodes, hooks, saved tensors and batched gradients."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import engine
from engine.autograd import graph
from engine.errors import AutogradError
from tests.engine.autograd.both import assert_same


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values), requires_grad=True)


# -- nodes ------------------------------------------------------------------------------------


def test_node_attributes_equal_pytorch() -> None:
    def program(lib: Any) -> Any:
        x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        z = ((x * y).exp() + 1).sum()
        node = z.grad_fn
        names = []
        while node is not None:
            names.append((node.name(), [(n is not None, i) for n, i in node.next_functions]))
            node = node.next_functions[0][0] if node.next_functions else None
        accumulate = (x * 2).grad_fn.next_functions[0][0]
        z.grad_fn.metadata["who"] = "me"
        return (
            names,
            accumulate.variable is x,
            z.grad_fn.metadata,
            z.output_nr,
            isinstance(z.grad_fn, lib.autograd.graph.Node),
        )

    assert_same(program)


def test_saved_tensor_attributes() -> None:
    def program(lib: Any) -> Any:
        x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        return (x * y).grad_fn._saved_self, (x * y).grad_fn._saved_other, x.exp().grad_fn._saved_result

    assert_same(program)
    with pytest.raises(AttributeError):
        (leaf(engine, 1.0) * 2).grad_fn._saved_self  # noqa: B018


def test_order_of_node_tensor_and_leaf_hooks() -> None:
    def program(lib: Any) -> Any:
        order: list[Any] = []

        def tell(name: str, factor: float | None = None) -> Any:
            def hook(*grads: Any) -> Any:
                order.append((name, plain(grads)))
                return None if factor is None else grads[0] * factor

            return hook

        def plain(value: Any) -> Any:
            return [plain(v) for v in value] if isinstance(value, tuple) else None if value is None else value.tolist()

        x, w = leaf(lib, 1.0), leaf(lib, 5.0)
        y = x * w
        y.register_hook(tell("tensor", 10))
        y.retain_grad()
        y.grad_fn.register_prehook(lambda grads: tell("before")(grads) or (grads[0] * 10,))
        y.grad_fn.register_hook(lambda found, grads: tell("after")(found, grads) or (found[0] * 2, found[1]))
        x.register_hook(tell("leaf", 3))
        x.register_post_accumulate_grad_hook(lambda t: order.append(("accumulated", t.grad.tolist())))
        accumulate = y.grad_fn.next_functions[0][0]
        accumulate.register_prehook(tell("before leaf"))
        accumulate.register_hook(lambda found, grads: order.append(("after leaf", len(found), plain(grads))))
        (y * 1).sum().backward()
        return order, x.grad, w.grad, y.grad

    assert_same(program)


def test_retain_grad_after_in_place_ops() -> None:
    def program(lib: Any) -> Any:
        x = leaf(lib, 1.0, 2.0)
        y, z = x * 2, x * 3
        view = z[0]
        for tensor in (y, z, view):
            tensor.retain_grad()
        y.mul_(3)
        y[0] = 5.0
        z.mul_(4)
        (y * y * z).sum().backward()
        return y.grad, z.grad, view.retains_grad, x.grad

    assert_same(program)


def test_leaf_hooks_run_when_gradient_is_complete() -> None:
    def program(lib: Any) -> Any:
        order: list[str] = []
        first, second = leaf(lib, 1.0), leaf(lib, 2.0)
        hidden = first * 2
        out = hidden * second
        second.register_hook(lambda g: order.append("second"))
        second.register_post_accumulate_grad_hook(lambda t: order.append("second has it"))
        hidden.register_hook(lambda g: order.append("hidden"))
        first.register_hook(lambda g: order.append("first"))
        (out * 3).backward()
        return order

    assert set(assert_same(program)[:2]) == {"second", "second has it"}


def test_accumulated_gradient_is_delivered_when_complete() -> None:
    x, y = leaf(engine, 1.0), leaf(engine, 1.0)
    seen: list[Any] = []
    x.grad = engine.ones(1)
    hidden = y * 2
    hidden.register_hook(lambda g: seen.append(x.grad.item()))
    (hidden * x + x).backward()
    assert seen == [4.0]


def test_optimizer_step_in_post_accumulate_hook() -> None:
    def program(lib: Any) -> Any:
        weights = [leaf(lib, 1.0), leaf(lib, 2.0), leaf(lib, 3.0)]

        def step(w: Any) -> None:
            with lib.no_grad():
                w -= 0.1 * w.grad
            w.grad = None

        handles = [w.register_post_accumulate_grad_hook(step) for w in weights]
        for _ in range(3):
            value = leaf(lib, 1.0)
            for w in weights:
                value = value * w.sin()
            value.sum().backward()
        handles[0].remove()
        weights[0].sin().backward()
        return weights, [w.grad for w in weights]

    assert_same(program)


def test_invalid_hooks_raise() -> None:
    x = leaf(engine, 1.0)
    with pytest.raises(AutogradError, match="only leaves accumulate gradients"):
        (x * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(AutogradError, match="requires_grad_"):
        engine.ones(1).register_post_accumulate_grad_hook(print)
    with pytest.raises(TypeError, match="a hook must be a function, not int"):
        x.register_hook(3)  # type: ignore[arg-type]
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: ())
    with pytest.raises(AutogradError, match="as many gradients as it receives: 1, not 0"):
        y.backward()


def test_handles_are_context_managers() -> None:
    x = leaf(engine, 1.0)
    seen: list[str] = []
    with x.register_hook(lambda g: seen.append("inside")):
        x.backward()
    x.backward()
    assert seen == ["inside"]


# -- arguments of grad and backward ------------------------------------------------------------


def test_arguments_of_grad() -> None:
    def program(lib: Any) -> Any:
        x, unused = leaf(lib, 1.0, 2.0), leaf(lib, 3.0)
        y = x * x
        return (
            lib.autograd.grad(y, x, lib.eye(2), is_grads_batched=True, retain_graph=True),
            lib.autograd.grad(y.sum(), [x, unused], materialize_grads=True, retain_graph=True),
            lib.autograd.grad(y.sum(), {"x": x}, retain_graph=True),
            lib.autograd.grad([y, y.sum()], x, [lib.ones(2), None], retain_graph=True),
            lib.autograd.grad(y, y, lib.ones(2)),
        )

    assert_same(program)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda lib, x, y: lib.autograd.grad(y.sum(), []),
        lambda lib, x, y: lib.autograd.grad(y.sum(), lib.ones(1)),
        lambda lib, x, y: lib.autograd.grad(y.sum(), leaf(lib, 1.0)),
        lambda lib, x, y: lib.autograd.grad(y, x),
        lambda lib, x, y: lib.autograd.grad(y.sum(), x, lib.ones(2)),
        lambda lib, x, y: lib.autograd.grad(y.sum(), x, materialize_grads=True, allow_unused=False),
        lambda lib, x, y: lib.autograd.backward([y, y], [lib.ones(2)]),
        lambda lib, x, y: lib.autograd.backward(y.sum(), inputs=[]),
        lambda lib, x, y: y.sum().backward(inputs=[lib.ones(1)]),
        lambda lib, x, y: lib.ones(1).backward(),
    ],
)
def test_errors_of_grad_and_backward(attempt: Any) -> None:
    def program(lib: Any) -> Any:
        x = leaf(lib, 1.0, 2.0)
        return attempt(lib, x, x * x)

    assert assert_same(program) in ("RuntimeError", "ValueError")


def test_several_roots_with_inputs() -> None:
    def program(lib: Any) -> Any:
        x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        z = x * y
        lib.autograd.backward([z, z.sum()], [lib.ones(2), None], retain_graph=True)
        first = x.grad.clone(), y.grad.clone()
        lib.autograd.backward(z.sum(), inputs=(x,), retain_graph=True)
        z.sum().backward(inputs=y, retain_graph=True)
        (z * z).sum().backward(inputs=[z, x])
        return first, x.grad, y.grad, z.grad

    assert_same(program)


def test_only_nodes_leading_to_inputs_run() -> None:
    ran: list[str] = []

    class Tell(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, name: str) -> Any:
            ctx.name = name
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            ran.append(ctx.name)
            return g, None

    x, y = leaf(engine, 1.0), leaf(engine, 2.0)
    engine.grad((Tell.apply(x, "x") * Tell.apply(y, "y")).sum(), y)
    assert ran == ["y"]


def test_gradient_edges() -> None:
    def program(lib: Any) -> Any:
        x = leaf(lib, 1.0, 2.0)
        y = x * 3
        edge = lib.autograd.graph.get_gradient_edge(y)
        z = (y * y).sum()
        found = lib.autograd.grad(z, [edge, lib.autograd.graph.get_gradient_edge(x)], retain_graph=True)
        lib.autograd.backward(edge, lib.ones(2))
        return found, x.grad, edge.output_nr, edge.node.name()

    assert_same(program)


# -- saved tensors ----------------------------------------------------------------------------


def test_saved_tensors_hooks() -> None:
    def program(lib: Any) -> Any:
        packed: list[Any] = []
        unpacked: list[Any] = []

        def pack(t: Any) -> Any:
            packed.append(tuple(t.shape))
            return t.numpy().copy()

        def unpack(array: Any) -> Any:
            unpacked.append(array.shape)
            return lib.tensor(array)

        x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
            z = (x * y).exp() / y
        before = len(unpacked)
        (first,) = lib.autograd.grad(z.sum(), x, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), y)
        return sorted(packed), before, sorted(unpacked)[:3], first, second

    assert_same(program)


def test_only_innermost_saved_tensors_hooks_run_once() -> None:
    calls: list[str] = []
    x = leaf(engine, 1.0)
    hooks = graph.saved_tensors_hooks
    with hooks(lambda t: calls.append("outer") or t, lambda t: t):
        y = x.exp()
        with hooks(lambda t: calls.append("inner") or t, lambda t: calls.append("unpack") or t):
            y = y / y
    y.backward()
    assert calls == ["outer", "inner", "inner", "unpack", "unpack"]


def test_packed_tensors_are_freed() -> None:
    with graph.saved_tensors_hooks(lambda t: t.shape, lambda shape: engine.full(shape, 2.0)):
        middle = leaf(engine, 1.0) * 2
        total = (middle * middle).sum()
    watched = weakref.ref(middle)
    gc.disable()
    try:
        del middle
        assert watched() is None
    finally:
        gc.enable()
    total.backward()


def test_invalid_saved_tensors_hooks_raise() -> None:
    x = leaf(engine, 1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="must return a tensor, not int"):
        y.sum().backward()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t[:1]):
        y = x.exp()
    with pytest.raises(AutogradError, match=r"of shape \(2,\), not \(1,\)"):
        y.sum().backward()
    hooks = graph.saved_tensors_hooks(lambda t: t.zero_(), lambda t: t)
    with pytest.raises(AutogradError, match="changed its input in place"), hooks:
        x.exp()
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(AutogradError, match="not here"), hooks:
        x.exp()


def test_save_on_cpu() -> None:
    x = leaf(engine, 1.0, 2.0)
    with graph.save_on_cpu(pin_memory=True):
        y = (x * x).sum()
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]


def test_register_hooks_on_saved_tensor() -> None:
    def program(lib: Any) -> Any:
        seen: list[Any] = []
        x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        z, e = x * y, x.exp()
        z.grad_fn._raw_saved_self.register_hooks(
            lambda t: seen.append(t.tolist()) or 0, lambda _: lib.tensor([7.0, 7.0])
        )
        e.grad_fn._raw_saved_result.register_hooks(lambda t: t * 2, lambda t: t * 5)
        before = e.grad_fn._saved_result
        (z + e).sum().backward()
        return seen, before, x.grad, y.grad

    assert_same(program)
    node = (leaf(engine, 1.0) * leaf(engine, 2.0)).grad_fn
    node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(AutogradError, match="already has hooks"):
        node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_allow_mutation_on_saved_tensors() -> None:
    def program(lib: Any) -> Any:
        x = leaf(lib, 1.0, 2.0)
        y = x * 2
        with lib.autograd.graph.allow_mutation_on_saved_tensors():
            z = y * y
            y.add_(1)
            z.sum().backward()
        return x.grad

    assert_same(program)


def test_increment_version() -> None:
    def program(lib: Any) -> Any:
        x = leaf(lib, 1.0) * 1
        before = x._version
        y = x * x
        lib.autograd.graph.increment_version(x)
        assert x._version == before + 1
        y.backward()

    assert assert_same(program) == "RuntimeError"


# -- several gradients ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["all", "any"])
def test_register_multi_grad_hook(mode: str) -> None:
    def program(lib: Any) -> Any:
        seen: list[Any] = []
        x, y, z = leaf(lib, 1.0), leaf(lib, 2.0), leaf(lib, 3.0)
        middle = x * y
        handle = lib.autograd.graph.register_multi_grad_hook(
            (x, y, z, middle),
            lambda found: seen.append(
                [g is not None and g.tolist() for g in found] if mode == "all" else found.tolist()
            ),
            mode=mode,
        )
        (middle * 2).backward(retain_graph=True)
        (middle * z).backward(retain_graph=True)
        (x * 5).backward()
        handle.remove()
        (middle * z).backward()
        return seen

    assert_same(program)


@pytest.mark.parametrize("build", [lambda b: 2 * b, lambda b: 1 + b, lambda b: 1 + 3 * b, lambda b: 3.0 * (2 + b)])
def test_number_operand_comes_second_in_graph(build: Any) -> None:
    def path(lib: Any) -> list[str]:
        node, names = build(lib.ones(2, requires_grad=True).sin()).grad_fn, []
        while node.next_functions:
            names.append(node.name())
            node = node.next_functions[0][0]
        return names

    assert path(engine) == path(pytest.importorskip("torch"))
