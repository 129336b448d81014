"""Hooks around a module's backward pass, on its state, and of all modules, as in PyTorch."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine import nn
from engine.errors import AutogradError, WeightsError
from engine.nn import module_hooks
from tests.engine.autograd.both import assert_same


def plain(grads: Any) -> Any:
    return [None if g is None else [round(v, 5) for v in g.flatten().tolist()] for g in grads]


def network(lib: Any) -> Any:
    model = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Tanh(), lib.nn.Linear(3, 1))
    with lib.no_grad():
        for p in model.parameters():
            p.copy_(lib.arange(p.numel(), dtype=lib.float32).reshape(p.shape) * 0.1 - 0.2)
    return model


def make_input(lib: Any, requires_grad: bool = True) -> Any:
    return lib.tensor([[1.0, 2.0], [0.5, -1.0]], requires_grad=requires_grad)


def recording_hook(order: list[Any], name: str, change: Callable[[Any], Any] | None = None) -> Any:
    def hook(module: Any, *grads: Any) -> Any:
        order.append((name, type(module).__name__, [plain(g) for g in grads]))
        return None if change is None else tuple(None if g is None else change(g) for g in grads[0])

    return hook


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")  # inputs without gradients
@pytest.mark.parametrize("requires_grad", [True, False])
def test_hooks_of_every_layer(requires_grad: bool) -> None:
    def program(lib: Any) -> Any:
        order: list[Any] = []
        model, x = network(lib), make_input(lib, requires_grad)
        for module in model.modules():
            module.register_full_backward_pre_hook(recording_hook(order, "pre"))
            module.register_full_backward_hook(recording_hook(order, "after"))
        model(x).sum().backward()
        return order, x.grad, [p.grad for p in model.parameters()]

    assert_same(program)


def test_hooks_replace_gradients() -> None:
    def program(lib: Any) -> Any:
        order: list[Any] = []
        model, x = network(lib), make_input(lib)
        model[2].register_full_backward_pre_hook(recording_hook(order, "pre", lambda g: g * 10))
        model[2].register_full_backward_hook(recording_hook(order, "first", lambda g: g * 2))
        handle = model[2].register_full_backward_hook(recording_hook(order, "removed", lambda g: g * 100))
        model[2].register_full_backward_hook(recording_hook(order, "prepended"), prepend=True)
        handle.remove()
        model(x).sum().backward()
        return order, x.grad, [p.grad for p in model.parameters()]

    assert_same(program)


def test_several_arguments_and_results() -> None:
    def program(lib: Any) -> Any:
        class Several(lib.nn.Module):
            def forward(self, x: Any, factor: float, y: Any, *, shift: Any) -> Any:
                return x * factor + shift, 3, x * y

        order: list[Any] = []
        module, x, y = Several(), make_input(lib), make_input(lib)
        module.register_full_backward_pre_hook(recording_hook(order, "pre"))
        module.register_full_backward_hook(recording_hook(order, "after"))
        a, _, b = module(x, 2.0, y, shift=make_input(lib))
        (a.sum() + b.sum()).backward()
        return order, x.grad, y.grad

    assert_same(program)


def test_under_second_derivatives_and_no_grad() -> None:
    def program(lib: Any) -> Any:
        order: list[Any] = []
        model, x = network(lib), make_input(lib)
        model[0].register_full_backward_hook(recording_hook(order, "after"))
        with lib.no_grad():
            out = model(x)
        (slope,) = lib.autograd.grad(model(x).sum(), x, create_graph=True)
        slope.sum().backward()
        return out, order[:1], x.grad

    assert_same(program)


def test_wrong_results_are_refused() -> None:
    model, x = network(engine), make_input(engine)
    handle = model.register_full_backward_hook(lambda m, gi, go: (None, None))
    with pytest.raises(AutogradError, match="as many gradients as it receives: 1, not 2"):
        model(x).sum().backward()
    handle.remove()
    model.register_full_backward_hook(lambda m, gi, go: (engine.ones(1),))
    warns = pytest.warns(UserWarning, match="no input of the module requires gradients")
    with warns, pytest.raises(AutogradError, match="must return None"):
        model(make_input(engine, False)).sum().backward()


# -- of all modules ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_hooks_of_all_modules() -> None:
    def program(lib: Any) -> Any:
        order: list[Any] = []
        registry = module_hooks if lib is engine else importlib.import_module("torch.nn.modules.module")
        tell = lambda name: lambda module, *rest: order.append((name, type(module).__name__))  # noqa: E731
        handles = [
            registry.register_module_forward_pre_hook(tell("before")),
            registry.register_module_forward_hook(tell("after")),
            registry.register_module_forward_hook(lambda m, a, k, o: order.append(sorted(k)), with_kwargs=True),
            registry.register_module_full_backward_pre_hook(tell("backward pre")),
            registry.register_module_full_backward_hook(tell("backward")),
        ]
        try:
            model = network(lib)
            model.register_forward_hook(tell("own"))
            model(make_input(lib)).sum().backward()
        finally:
            for handle in handles:
                handle.remove()
        model(make_input(lib))
        return order

    assert_same(program)
    assert not module_hooks.GLOBAL_HOOKS.has_call_hooks


def test_hooks_on_module_inputs() -> None:
    def program(lib: Any) -> Any:
        registry = module_hooks if lib is engine else importlib.import_module("torch.nn.modules.module")
        seen: list[Any] = []
        tell = lambda module, name, value: seen.append((type(module).__name__, name, type(value).__name__))  # noqa: E731
        handles = [
            registry.register_module_parameter_registration_hook(tell),
            registry.register_module_buffer_registration_hook(tell),
            registry.register_module_module_registration_hook(tell),
            registry.register_module_module_registration_hook(
                lambda module, name, value: lib.nn.ReLU() if isinstance(value, lib.nn.Tanh) else None
            ),
        ]
        try:
            model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Tanh())
            model.register_buffer("more", lib.ones(1))
        finally:
            for handle in handles:
                handle.remove()
        lib.nn.Linear(2, 2)
        return seen, type(model[1]).__name__

    assert_same(program)


def test_hooks_that_are_always_called() -> None:
    def program(lib: Any) -> Any:
        class Fails(lib.nn.Module):
            def forward(self, x: Any) -> Any:
                raise KeyError("by the module")

        order: list[Any] = []
        module = Fails()
        module.register_forward_hook(lambda m, a, o: order.append("never"))
        module.register_forward_hook(lambda m, a, o: order.append(("always", o)), always_call=True)
        try:
            module(make_input(lib))
        except KeyError:
            order.append("raised")
        return order

    assert_same(program)


def test_error_in_a_hook_does_not_hide_the_first_error() -> None:
    class Fails(nn.Module):
        def forward(self) -> None:
            raise KeyError("by the module")

    module = Fails()
    module.register_forward_hook(lambda m, a, o: 1 / 0, always_call=True)
    with pytest.raises(KeyError), pytest.warns(UserWarning, match="ZeroDivisionError"):
        module()


# -- of the state -----------------------------------------------------------------------------


def test_hooks_on_the_state_dict() -> None:
    def program(lib: Any) -> Any:
        order: list[Any] = []
        model = network(lib)

        def after(module: Any, state: Any, prefix: str, metadata: Any) -> None:
            order.append(("after", prefix, sorted(state)))
            for key in [key for key in state if key.endswith("bias") and key.startswith(prefix)]:
                state[key + "_old"] = state.pop(key)

        model.register_state_dict_pre_hook(lambda m, prefix, keep: order.append(("pre", prefix, keep)))
        model[2].register_state_dict_post_hook(after)
        return sorted(model.state_dict(keep_vars=True)), order

    assert_same(program)


def test_hooks_on_loading() -> None:
    def program(lib: Any) -> Any:
        order: list[Any] = []
        model = network(lib)
        state = {("old" + key[1:] if key[0] == "2" else key): value * 2 for key, value in model.state_dict().items()}
        state["more"] = lib.ones(1)

        def before(module: Any, given: Any, prefix: str, metadata: Any, strict: bool, *lists: Any) -> None:
            order.append(("before", prefix, sorted(given), strict, [len(one) for one in lists]))
            for key in [key for key in given if key.startswith("old")]:
                given["2" + key[3:]] = given.pop(key)

        def after(module: Any, keys: Any) -> None:
            order.append((type(module).__name__, list(keys.missing_keys), list(keys.unexpected_keys)))
            keys.unexpected_keys.clear()

        model.register_load_state_dict_pre_hook(before)
        model.register_load_state_dict_post_hook(after)
        result = model.load_state_dict(state)
        return (
            order,
            list(result.missing_keys),
            sorted(model.state_dict()),
            list(model.parameters()),
            "old.bias" in state,
        )

    assert_same(program)


def test_keys_left_by_load_hooks_are_errors() -> None:
    model = network(engine)
    model.register_load_state_dict_post_hook(lambda m, keys: None)
    with pytest.raises(WeightsError, match=r"matching weights were loaded(.|\n)*unexpected: more"):
        model.load_state_dict({**model.state_dict(), "more": engine.ones(1)})
    other = network(engine)
    other.register_load_state_dict_pre_hook(lambda *args: args[-1].append("too old"))
    with pytest.raises(WeightsError, match="too old"):
        other.load_state_dict(model.state_dict())
    third = network(engine)
    third.register_state_dict_post_hook(lambda *args: 3)
    with pytest.raises(TypeError, match="must return None"):
        third.state_dict()


def test_state_that_is_not_a_tensor_and_user_defined_state() -> None:
    def program(lib: Any) -> Any:
        class Counter(lib.nn.Linear):
            count = 3

            def get_extra_state(self) -> Any:
                return {"count": self.count}

            def set_extra_state(self, state: Any) -> None:
                self.count = state["count"]

        class Renamed(lib.nn.Linear):
            def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
                super()._save_to_state_dict(destination, prefix, keep_vars)
                destination[prefix + "w"] = destination.pop(prefix + "weight")

            def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
                if prefix + "w" in state_dict:
                    state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
                super()._load_from_state_dict(state_dict, prefix, *rest)

        make = lambda: lib.nn.Sequential(Counter(2, 2), Renamed(2, 2))  # noqa: E731
        first, second = make(), make()
        first[0].count = 7
        state = first.state_dict()
        second.load_state_dict(state)
        same = all(bool((a == b).all()) for a, b in zip(first.parameters(), second.parameters(), strict=True))
        missing = make().load_state_dict({k: v for k, v in state.items() if "extra" not in k}, strict=False)
        return sorted(state), second[0].count, same, list(missing.missing_keys)

    assert_same(program)


def test_submodules_can_be_replaced_by_name() -> None:
    def program(lib: Any) -> Any:
        model = network(lib)
        model.set_submodule("1", lib.nn.ReLU())
        return model[1]._get_name(), model(make_input(lib))

    assert_same(program)
