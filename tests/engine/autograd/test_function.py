"""Custom autograd functions."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import engine
from engine.autograd.function import once_differentiable
from engine.errors import AutogradError
from tests.engine.autograd.both import assert_same


def cube(lib: Any) -> Any:
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    return Cube


def exp_by_result(lib: Any) -> Any:
    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.exp()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (out,) = ctx.saved_tensors
            return g * out

    return Exp


def several(lib: Any) -> Any:
    class Several(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, power: int, y: Any, text: str = "unused") -> Any:
            ctx.save_for_backward(x, None, y)
            ctx.power = power
            return x**power, y * 2, x.shape[0], (x > 0)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            x, nothing, _ = ctx.saved_tensors
            assert nothing is None
            needs = [bool(n) for n in ctx.needs_input_grad]
            assert needs in ([True, False, True], [True, False, False], [False, False, True])
            gx = ctx.power * x ** (ctx.power - 1) * grads[0]
            return gx, None, grads[1] * 2

    return Several


@pytest.mark.parametrize("make", [cube, exp_by_result])
def test_gradients_of_any_order(make: Any) -> None:
    def program(lib: Any) -> Any:
        x = lib.tensor([0.5, -1.5], dtype=lib.float64, requires_grad=True)
        y = make(lib).apply(x)
        (first,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), x, create_graph=True)
        (third,) = lib.autograd.grad(second.sum(), x)
        return y, first, second, third, y.requires_grad, y.grad_fn.name()

    assert_same(program)


def test_several_inputs_and_outputs() -> None:
    def program(lib: Any) -> Any:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = lib.tensor([3.0, 4.0], requires_grad=True)
        a, b, n, mask = several(lib).apply(x, 3, y)
        (a.sum() + (b * b).sum()).backward(retain_graph=True)
        only_first = lib.autograd.grad(a.sum(), [x, y], retain_graph=True)
        return a, b, n, mask, x.grad, y.grad, only_first, mask.requires_grad

    assert_same(program)


def test_nothing_is_recorded_without_gradients() -> None:
    def program(lib: Any) -> Any:
        x = lib.tensor([1.0], requires_grad=True)
        with lib.no_grad():
            inside = cube(lib).apply(x)
        plain = cube(lib).apply(lib.ones(1))
        return inside.requires_grad, plain.requires_grad, plain.grad_fn

    assert_same(program)


def test_materialized_gradients() -> None:
    def make(lib: Any, materialize: bool, received: list[Any]) -> Any:
        class Two(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.set_materialize_grads(materialize)
                return x * 1, x * 2

            @staticmethod
            def backward(ctx: Any, a: Any, b: Any) -> Any:
                received.append([None if g is None else g.tolist() for g in (a, b)])
                return b if a is None else a + b

        return Two

    def program(lib: Any, materialize: bool) -> Any:
        received: list[Any] = []
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        make(lib, materialize, received).apply(x)[1].sum().backward()
        return received, x.grad

    assert assert_same(lambda lib: program(lib, True))[0] == [[[0.0, 0.0], [1.0, 1.0]]]
    assert assert_same(lambda lib: program(lib, False))[0] == [[None, [1.0, 1.0]]]


def test_non_differentiable_outputs() -> None:
    def program(lib: Any) -> Any:
        class Sort(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                double, half = x * 2, x / 2
                ctx.mark_non_differentiable(half)
                return double, half

            @staticmethod
            def backward(ctx: Any, g: Any, unused: Any) -> Any:
                return g * 2 + unused

        x = lib.tensor([3.0, 4.0], requires_grad=True)
        a, b = Sort.apply(x)
        a.sum().backward()
        return a.requires_grad, b.requires_grad, b.grad_fn, x.grad

    assert_same(program)


@pytest.mark.parametrize("kind", ["computed", "leaf", "view", "not returned"])
def test_inputs_changed_in_place(kind: str) -> None:
    def program(lib: Any) -> Any:
        class Double(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                x.mul_(2)
                ctx.mark_dirty(x)
                return x.clone() if kind == "not returned" else x

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        x = lib.tensor([3.0, 4.0], requires_grad=True)
        y = x if kind == "leaf" else x * 1
        z = Double.apply(y[:1] if kind == "view" else y)
        y.sum().backward()
        return z, y, x.grad, y.grad_fn is not None

    assert_same(program)


def test_returned_input_is_a_new_tensor() -> None:
    def program(lib: Any) -> Any:
        class Same(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 7

        x = lib.tensor([3.0, 4.0], requires_grad=True)
        y = Same.apply(x)
        y.sum().backward()
        return y is x, y.requires_grad, x.is_leaf, x.grad

    assert_same(program)


def test_gradients_are_converted_to_shape_and_dtype_of_inputs() -> None:
    def program(lib: Any) -> Any:
        class Widen(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.double() + lib.zeros(3, 2, dtype=lib.float64)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g

        x = lib.tensor([3.0, 4.0], requires_grad=True)
        Widen.apply(x).sum().backward()
        return x.grad

    assert_same(program)


# -- errors -----------------------------------------------------------------------------------


def returning(gradients: Any) -> type[engine.autograd.Function]:
    class Wrong(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, number: float) -> Any:
            return x * number

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return gradients(g)

    return Wrong


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        (lambda g: g, r"WrongBackward returned an incorrect number of gradients: expected 2.* got 1"),
        (lambda g: (g, None, g), r"expected 2.* got 3"),
        (lambda g: (g, g), r"different from None at position 1.*not a tensor"),
        (lambda g: (g.sum() + engine.ones(5), None), r"invalid gradient at index 0: got 5, but .* shape is 2"),
    ],
)
def test_invalid_gradients_raise(gradients: Any, message: str) -> None:
    x = engine.ones(2, requires_grad=True)
    with pytest.raises(AutogradError, match=message):
        returning(gradients).apply(x, 2.0).sum().backward()


def test_trailing_none_gradients_are_accepted() -> None:
    x = engine.ones(2, requires_grad=True)
    returning(lambda g: (g, None, None, None)).apply(x, 2.0).sum().backward()
    assert x.grad is not None
    with pytest.raises(TypeError, match="WrongBackward returned a float for argument 0"):
        returning(lambda g: (1.0, None)).apply(x, 2.0).sum().backward()


def test_saving_other_values_raises() -> None:
    class Saves(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, 3)
            return x

    with pytest.raises(TypeError, match="argument 1 is of type int"):
        Saves.apply(engine.ones(1, requires_grad=True))


def test_instantiation_raises() -> None:
    with pytest.raises(TypeError, match=r"Call Cube\.apply"):
        cube(engine)()


def test_missing_backward_raises() -> None:
    class Half(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x / 2

    with pytest.raises(NotImplementedError, match="backward"):
        Half.apply(engine.ones(1, requires_grad=True)).backward()


@pytest.mark.parametrize("which", ["input", "result"])
def test_modified_saved_tensors_raise(which: str) -> None:
    def program(lib: Any) -> Any:
        x = lib.tensor([1.0], requires_grad=True) * 1
        y = (cube if which == "input" else exp_by_result)(lib).apply(x)
        with lib.no_grad():
            (x if which == "input" else y).add_(1)
        y.sum().backward()

    assert assert_same(program) == "RuntimeError"
    with pytest.raises(AutogradError, match=r"saved tensor 0 of (Cube|Exp)\(\).*changed in place"):
        program(engine)


def test_second_pass_requires_retain_graph() -> None:
    def program(lib: Any) -> Any:
        y = cube(lib).apply(lib.tensor([1.0], requires_grad=True))
        y.backward()
        y.backward()

    assert assert_same(program) == "RuntimeError"
    with pytest.raises(AutogradError, match="CubeBackward a second time"):
        program(engine)


def test_once_differentiable() -> None:
    def program(lib: Any) -> Any:
        class Once(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @lib.autograd.function.once_differentiable
            def backward(ctx: Any, g: Any) -> Any:
                return 2 * ctx.saved_tensors[0] * g

        x = lib.tensor([3.0], requires_grad=True)
        (first,) = lib.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
        assert not first.requires_grad
        (first,) = lib.autograd.grad((Once.apply(x) ** 2).sum(), x, create_graph=True)
        lib.autograd.grad(first, x)

    assert assert_same(program) == "RuntimeError"
    assert once_differentiable(lambda ctx, g: g)(None, engine.ones(1)).tolist() == [1.0]


# -- the node ---------------------------------------------------------------------------------


def test_node_has_attributes_of_ctx() -> None:
    x = engine.tensor([2.0], requires_grad=True)
    y = several(engine).apply(x, 3, x)[0]
    assert (y.grad_fn.power, y.grad_fn.needs_input_grad) == (3, (True, False, True))
    assert [t if t is None else t.tolist() for t in y.grad_fn.saved_tensors] == [[2.0], None, [2.0]]
    with pytest.raises(AttributeError):
        y.grad_fn.missing  # noqa: B018


def test_inspected_graph_shows_function_name() -> None:
    x = engine.tensor([2.0], requires_grad=True)
    graph = engine.inspect.autograd_graph(cube(engine).apply(x).sum())
    assert [node.op for node in graph.nodes] == ["sum", "Cube", "leaf"]
    assert graph.nodes[1].saved_bytes == 4


def test_function_on_meta_device() -> None:
    x = engine.zeros(2, 3, device="meta", requires_grad=True)
    y = cube(engine).apply(x)
    y.sum().backward()
    assert (tuple(y.shape), x.grad is not None and x.grad.is_meta) == ((2, 3), True)


@pytest.mark.parametrize("make", [cube, exp_by_result])
def test_function_has_no_reference_cycle(make: Any) -> None:
    gc.disable()
    try:
        y = make(engine).apply(engine.ones(2, requires_grad=True))
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()
