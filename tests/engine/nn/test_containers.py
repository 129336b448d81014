"""Sequential, ModuleList, ModuleDict and ParameterList behave, and print, as PyTorch's."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import engine
from engine import nn


def builders(library: Any, ones: Any) -> dict[str, Any]:
    """The same containers made of either library's modules."""
    n = library.nn
    return {
        "empty": n.Sequential(),
        "sequential": n.Sequential(n.Linear(2, 3), n.ReLU(), n.Sequential(n.Linear(3, 1), n.Sigmoid())),
        "named": n.Sequential(OrderedDict([("hidden", n.Linear(2, 3)), ("out", n.Linear(3, 1))])),
        "list": n.ModuleList(
            [n.Linear(2, 2), n.Linear(2, 2), n.ReLU(), n.Sequential(n.Tanh()), n.Sequential(n.Tanh())]
        ),
        "empty list": n.ModuleList(),
        "dict": n.ModuleDict({"a": n.Linear(1, 1), "b": n.ModuleList([n.Tanh()])}),
        "parameters": n.ParameterList([ones(2, 3), ones(4)]),
        "one parameter": n.ParameterList([ones(2, 3)]),
        "nothing": n.Sequential(OrderedDict([("gone", n.Linear(1, 1))])),
    }


def test_reprs_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = builders(engine, engine.ones), builders(torch, torch.ones)
    ours["nothing"].gone = theirs["nothing"].gone = None
    for name in ours:
        assert repr(ours[name]).replace("engine.", "torch.") == repr(theirs[name]), name


def test_sequential_runs_in_order() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(6, 2), nn.Softmax(1))
    assert model(engine.ones(5, 2, 3)).shape == (5, 2)


def test_sequential_is_a_list() -> None:
    a, b, c, d = (nn.Linear(1, 1) for _ in range(4))
    model = nn.Sequential(a, b, c)
    assert len(model) == 3
    assert list(model) == [a, b, c]
    assert model[-1] is c
    assert isinstance(model[1:], nn.Sequential)
    assert list(model[1:]) == [b, c]
    model[0] = d
    assert model[0] is d
    del model[1]
    assert list(model.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert list(model.insert(1, b)) == [d, b, c]
    assert model.pop() is c
    assert list(model.append(a).extend([c])) == [d, b, a, c]
    with pytest.raises(IndexError, match="index 4 is out of range for 4 modules"):
        model[4]


def test_sequential_by_name() -> None:
    model = nn.Sequential({"hidden": nn.Linear(1, 2), "out": nn.Linear(2, 1)})
    assert model.hidden is model[0]
    assert list(model[:1].state_dict()) == ["hidden.weight", "hidden.bias"]


def test_module_list() -> None:
    a, b, c = (nn.Linear(1, 1) for _ in range(3))
    modules = nn.ModuleList([a])
    modules += [b]
    modules.insert(0, c)
    assert list(modules) == [c, a, b]
    assert list(modules[:2]) == [c, a]
    assert list(modules + nn.ModuleList([a])) == [c, a, b, a]
    modules[-1] = c
    assert modules.pop(0) is c
    del modules[0]
    assert list(modules.state_dict()) == ["0.weight", "0.bias"]
    with pytest.raises(IndexError):
        modules[3] = a


def test_module_dict() -> None:
    modules = nn.ModuleDict([("a", nn.Linear(1, 1))])
    modules["b"] = nn.Tanh()
    modules.update({"c": nn.ReLU()})
    assert list(modules) == list(modules.keys()) == ["a", "b", "c"]
    assert "b" in modules
    assert len(list(modules.items())) == len(list(modules.values())) == len(modules) == 3
    del modules["b"]
    assert isinstance(modules.pop("c"), nn.ReLU)
    modules.clear()
    assert not len(modules)


def test_parameter_list() -> None:
    parameters = nn.ParameterList([engine.ones(1), nn.Parameter(engine.ones(2))])
    parameters.append(engine.ones(3))
    parameters[0] = engine.zeros(1)
    assert all(isinstance(p, nn.Parameter) for p in parameters)
    assert list(parameters.state_dict()) == ["0", "1", "2"]
    assert [len(p) for p in parameters[1:]] == [2, 3]
    assert parameters[0].tolist() == [0]


def test_sequentials_add_and_multiply() -> None:
    a, b = nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.ReLU())
    assert [type(module) for module in a + b] == [nn.Linear, nn.ReLU]
    assert [*(a * 2)] == [a[0], a[0]] == [*(2 * a)]
    a *= 3
    a += b
    assert len(a) == 4
    with pytest.raises(ValueError, match="1 or more times"):
        a * 0


def test_parameter_list_also_holds_other_values() -> None:
    torch = pytest.importorskip("torch")
    values = nn.ParameterList([engine.ones(2, 3), 3])
    values += [engine.ones(1)]
    values[1] = "text"
    assert [*values][1] == "text"
    assert [name for name, _ in values.named_parameters()] == ["0", "2"]
    theirs = torch.nn.ParameterList([torch.ones(2, 3), "text", torch.ones(1)])
    assert repr(values) == repr(theirs).replace("torch.", "engine.")
    with pytest.raises(RuntimeError, match="a ParameterList cannot be called"):
        values()


def test_parameter_dict() -> None:
    torch = pytest.importorskip("torch")
    values = nn.ParameterDict({"b": engine.ones(2), "a": nn.Parameter(engine.zeros(1))})
    assert [*values] == ["b", "a"]
    assert [name for name, _ in values.named_parameters()] == ["b", "a"]
    assert list(values.state_dict()) == ["b", "a"]
    assert "b" in values
    assert len(values) == 2
    assert values.get("c") is None
    values.setdefault("c", engine.ones(3))
    assert isinstance(values["c"], nn.Parameter)
    values |= nn.ParameterDict([("d", engine.ones(1))])
    assert list((values | nn.ParameterDict({"e": engine.ones(1)})).keys()) == ["b", "a", "c", "d", "e"]
    assert list(reversed(values)) == ["d", "c", "a", "b"]
    assert values.pop("d").shape == (1,)
    assert values.popitem()[0] == "c"
    del values["a"]
    assert values.copy()["b"] is values["b"]
    theirs = torch.nn.ParameterDict({"b": torch.ones(2)})
    assert repr(values) == repr(theirs).replace("torch.FloatTensor", "engine.float32")
    assert values.fromkeys(["x", "y"], 3).values() == [3, 3]
    values.clear()
    assert values.items() == []
    with pytest.raises(KeyError, match="already exists"):
        values["forward"] = engine.ones(1)
    with pytest.raises(KeyError):
        values["missing"]


def test_assigned_buffers() -> None:
    module = nn.Module()
    module.kept = nn.Buffer(engine.ones(2))
    module.scratch = nn.Buffer(engine.ones(3), persistent=False)
    assert [name for name, _ in module.named_buffers()] == ["kept", "scratch"]
    assert list(module.state_dict()) == ["kept"]
    assert not module.kept.requires_grad


def test_modules_are_replaced_by_name() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
    model.set_submodule("1.0", nn.Tanh())
    assert isinstance(model[1][0], nn.Tanh)
    with pytest.raises(AttributeError, match="no module 'x' to replace"):
        model.set_submodule("1.x", nn.Tanh(), strict=True)
    with pytest.raises(ValueError, match="non-empty target"):
        model.set_submodule("", nn.Tanh())


def test_train_calls_each_module() -> None:
    class Frozen(nn.BatchNorm1d):
        def train(self, mode: bool = True) -> Any:
            return super().train(False)

    model = nn.Sequential(Frozen(2), nn.Dropout()).train()
    assert not model[0].training
    assert model[1].training
    with pytest.raises(ValueError, match="True or False"):
        model.train(1)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["engine", "torch"])
def test_third_party_code_with_lists_of_parameters(name: str) -> None:
    lib = pytest.importorskip(name)

    class Learner(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vars = lib.nn.ParameterList([lib.nn.Parameter(lib.ones(2)), lib.nn.Parameter(lib.zeros(1))])

        def parameters(self, recurse: bool = True) -> Any:
            return self.vars

    class Stacked(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parameters = lib.nn.ParameterList([lib.nn.Parameter(lib.ones(3))])

    learner = Learner()
    loss = (learner.vars[0] * 3).sum() + learner.vars[1].sum()
    assert [gradient.tolist() for gradient in lib.autograd.grad(loss, learner.parameters())] == [[3, 3], [1]]
    stacked = Stacked()
    assert list(stacked.state_dict()) == ["parameters.0"]
    assert [parameter.numel() for parameter in stacked.parameters()] == [3]
