"""What a module does with what is assigned to it: registration, walks, modes, moves."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.errors import AutogradError, DeviceError


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(engine.ones(2))
        self.register_buffer("seen", engine.zeros(()))
        self.register_buffer("scratch", engine.zeros(3), persistent=False)
        self.inner = nn.Linear(2, 2)
        self.width = 2

    def forward(self, input: engine.Tensor) -> engine.Tensor:
        return self.inner(input) * self.scale


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Block()
        self.second = nn.Sequential(nn.ReLU(), Block())
        self.shared = self.first.inner


def names(pairs: Any) -> list[str]:
    return [name for name, _ in pairs]


# -- registration -----------------------------------------------------------------------------


def test_assignment_registers() -> None:
    block = Block()
    assert names(block.named_parameters()) == ["scale", "inner.weight", "inner.bias"]
    assert names(block.named_buffers()) == ["seen", "scratch"]
    assert names(block.named_children()) == ["inner"]
    assert "scale" not in vars(block)
    assert {"scale", "seen", "inner", "width"} <= set(dir(block))


def test_shared_modules_count_once() -> None:
    model = Model()
    assert "shared.weight" not in names(model.named_parameters())
    assert "shared.weight" in names(model.named_parameters(remove_duplicate=False))
    assert "shared.weight" in model.state_dict()
    assert names(model.named_modules()) == [
        "",
        "first",
        "first.inner",
        "second",
        "second.0",
        "second.1",
        "second.1.inner",
    ]
    assert names(model.named_children()) == ["first", "second", "shared"]


def test_parameter_replaces_an_attribute_of_the_same_name() -> None:
    block = Block()
    block.width = nn.Parameter(engine.ones(1))
    block.seen = nn.Parameter(engine.ones(1))
    assert {"width", "seen"} <= set(names(block.named_parameters()))
    assert names(block.named_buffers()) == ["scratch"]
    assert "width" not in vars(block)


def test_none_keeps_the_registration() -> None:
    block = Block()
    block.scale = None
    block.inner = None
    assert names(block.named_parameters()) == []
    block.scale = nn.Parameter(engine.ones(1))
    assert names(block.named_parameters()) == ["scale"]


def test_delete() -> None:
    block = Block()
    for name in ("scale", "seen", "scratch", "inner", "width"):
        delattr(block, name)
        with pytest.raises(AttributeError, match=f"'Block' object has no attribute '{name}'"):
            getattr(block, name)
    block.scale = 3
    assert block.scale == 3
    assert not block.state_dict()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scale", engine.ones(2), r"Block\.scale must be an nn\.Parameter or None, not Tensor"),
        ("inner", 3, r"Block\.inner must be an nn\.Module or None, not int"),
        ("seen", "text", r"Block\.seen must be a Tensor or None, not str"),
    ],
)
def test_assignments_that_lose_a_registration(name: str, value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        setattr(Block(), name, value)


def test_assignment_before_init_is_refused() -> None:
    class Hasty(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"super\(\)\.__init__\(\)"):
        Hasty()


@pytest.mark.parametrize("name", ["", "a.b", "forward", "inner"])
def test_refused_names(name: str) -> None:
    with pytest.raises(KeyError):
        Block().register_parameter(name, nn.Parameter(engine.ones(1)))


def test_a_computed_tensor_is_not_a_parameter() -> None:
    parameter = nn.Parameter(engine.ones(1))
    computed = parameter * 2
    assert type(computed) is engine.Tensor
    with pytest.raises(TypeError, match=r"nn\.Parameter"):
        Block().register_parameter("computed", computed)  # pyright: ignore[reportArgumentType]


def test_integer_parameters_cannot_be_trained() -> None:
    with pytest.raises(AutogradError, match="int64"):
        nn.Parameter(engine.arange(3))
    assert not nn.Parameter(engine.arange(3), requires_grad=False).requires_grad


def test_a_parameter_shares_memory_and_prints_as_pytorchs() -> None:
    data = engine.ones(2)
    parameter = nn.Parameter(data)
    data.fill_(3)
    assert repr(parameter) == "Parameter containing:\ntensor([3., 3.], requires_grad=True)"


def test_get_by_dotted_name() -> None:
    model = Model()
    assert model.get_submodule("second.1.inner") is model.second[1].inner
    assert model.get_submodule("") is model
    assert model.get_parameter("first.scale") is model.first.scale
    assert model.get_buffer("second.1.seen") is model.second[1].seen
    with pytest.raises(AttributeError, match=r"module 'second\.2\.inner' does not exist: Sequential has no '2', only"):
        model.get_submodule("second.2.inner")
    with pytest.raises(AttributeError, match="Block has no parameter 'seen'"):
        model.get_parameter("first.seen")


def test_missing_forward_is_an_error() -> None:
    with pytest.raises(NotImplementedError, match=r"Model has no forward\(\)"):
        Model()(1)


# -- modes and gradients ----------------------------------------------------------------------


def test_train_and_eval_reach_all_submodules() -> None:
    model = Model()
    assert model.eval() is model
    assert not any(module.training for module in model.modules())
    model.train()
    assert all(module.training for module in model.modules())


def test_apply_visits_children_first() -> None:
    visited: list[str] = []
    Block().apply(lambda module: visited.append(type(module).__name__))
    assert visited == ["Linear", "Block"]


def test_requires_grad_freezes() -> None:
    block = Block().requires_grad_(False)
    assert not block(engine.ones(1, 2)).requires_grad


def test_zero_grad() -> None:
    block = Block()
    block(engine.ones(1, 2)).sum().backward()
    block.zero_grad(set_to_none=False)
    assert block.scale.grad.tolist() == [0, 0]
    block.zero_grad()
    assert block.scale.grad is None


# -- moves ------------------------------------------------------------------------------------


def test_to_keeps_parameters_and_converts_only_floating_point() -> None:
    layer = nn.BatchNorm1d(2)
    weight = layer.weight
    layer(engine.randn(4, 2)).sum().backward()
    assert layer.to(engine.float64) is layer
    assert layer.weight is weight
    assert isinstance(weight, nn.Parameter)
    assert weight.requires_grad
    assert weight.is_leaf
    assert weight.dtype is weight.grad.dtype is layer.running_mean.dtype is engine.float64
    assert layer.num_batches_tracked.dtype is engine.int64
    assert layer.float().weight.dtype is engine.float32
    assert layer.half().weight.dtype is engine.float16
    assert layer.to(engine.ones(1, dtype=engine.float64)).weight.dtype is engine.float64
    assert layer.to("cpu", engine.float32).weight.dtype is engine.float32
    with pytest.raises(TypeError, match="int64"):
        layer.to(engine.int64)


def test_shared_parameters_stay_shared() -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    model = nn.Sequential(first, second).double()
    assert first.weight is second.weight
    assert len(list(model.parameters())) == 3


def test_an_optimizer_survives_a_move() -> None:
    layer = nn.Linear(2, 1)
    optimizer = optim.SGD(layer.parameters(), lr=1.0)
    layer.double()
    before = layer.weight.detach().clone()
    layer(engine.ones(1, 2, dtype=engine.float64)).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(layer.weight.detach().numpy(), before.numpy() - 1)


def test_module_on_meta_can_be_materialized() -> None:
    with engine.device("meta"):
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    assert all(tensor.is_meta for tensor in model.state_dict().values())
    with pytest.raises(DeviceError, match=r"to_empty\(device='cpu'\)"):
        model.to("cpu")
    source = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    model.to_empty(device="cpu").load_state_dict(source.state_dict())
    x = engine.randn(4, 3)
    np.testing.assert_array_equal(model(x).detach().numpy(), source(x).detach().numpy())


def test_deepcopy_is_independent() -> None:
    model = Model()
    twin = copy.deepcopy(model)
    assert isinstance(twin.first.scale, nn.Parameter)
    assert twin.shared is twin.first.inner
    assert twin.first.inner.weight is not model.first.inner.weight
    with engine.no_grad():
        twin.first.scale.fill_(5)
    assert model.first.scale.tolist() == [1, 1]


def test_construction_arguments_for_device_and_dtype() -> None:
    assert nn.Linear(2, 3, device="meta").weight.is_meta
    assert nn.Conv2d(2, 3, 1, dtype=engine.float64).bias.dtype is engine.float64
    assert nn.BatchNorm2d(2, dtype=engine.float64).running_var.dtype is engine.float64
