"""State dicts: what is in them, what loads, and what the errors name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import WeightsError


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2, bias=False))


def test_keys_match_pytorch() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 2, bias=False)
    )
    ours = model().state_dict()
    assert list(ours) == list(theirs.state_dict())
    assert {name: tensor.dtype.name for name, tensor in ours.items()} == {
        name: str(tensor.dtype).removeprefix("torch.") for name, tensor in theirs.state_dict().items()
    }


def test_shares_memory_and_carries_no_gradient() -> None:
    layer = nn.Linear(2, 2)
    state = layer.state_dict()
    assert not state["weight"].requires_grad
    state["weight"].fill_(7)
    assert layer.weight.tolist() == [[7, 7], [7, 7]]
    assert layer.state_dict(keep_vars=True)["weight"] is layer.weight
    assert list(layer.state_dict(prefix="net.")) == ["net.weight", "net.bias"]


def test_non_persistent_buffers_are_left_out() -> None:
    module = nn.Module()
    module.register_buffer("kept", engine.ones(1))
    module.register_buffer("scratch", engine.ones(1), persistent=False)
    assert list(module.state_dict()) == ["kept"]


def test_loads_tensors_and_arrays_and_keeps_the_dtype() -> None:
    source, target = model(), model()
    state: dict[str, Any] = dict(source.state_dict())
    state["0.weight"] = state["0.weight"].numpy().astype(np.float64)
    weight = target[0].weight
    keys = target.load_state_dict(state)
    assert repr(keys) == "<All keys matched successfully>"
    assert target[0].weight is weight
    assert weight.dtype is engine.float32
    for name, tensor in source.state_dict().items():
        np.testing.assert_array_equal(target.state_dict()[name].numpy(), tensor.numpy())


def test_assign_uses_the_given_tensors() -> None:
    layer = nn.Linear(2, 1)
    weight = layer.weight
    given = engine.ones(1, 2, dtype=engine.float64)
    layer.load_state_dict({"weight": given, "bias": engine.zeros(1)}, assign=True)
    assert layer.weight is weight
    assert weight.dtype is engine.float64
    assert weight.requires_grad
    given.fill_(3)
    assert weight.tolist() == [[3, 3]]


def test_the_error_names_every_key_and_changes_nothing() -> None:
    layer = model()
    before = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    state = {name: tensor + 1 for name, tensor in layer.state_dict().items()}
    del state["0.bias"]
    state["fc.weight"] = engine.zeros(5, 5)
    state["3.weight"] = engine.zeros(10, 4)
    with pytest.raises(WeightsError) as caught:
        layer.load_state_dict(state)
    assert str(caught.value) == (
        "These weights do not match Sequential; nothing was changed.\n"
        "  missing: 0.bias (4)\n"
        "  unexpected: fc.weight (5×5)\n"
        "  shape: 3.weight is 2×4 in the module and 10×4 in the weights\n"
        "Create the module with the sizes of the weights, or remove these keys from the weights."
    )
    for name, tensor in layer.state_dict().items():
        np.testing.assert_array_equal(tensor.numpy(), before[name].numpy())


def test_non_strict_loads_matching_keys() -> None:
    layer = nn.Linear(2, 1)
    keys = layer.load_state_dict({"weight": engine.ones(1, 2), "extra": engine.ones(1)}, strict=False)
    assert keys.missing_keys == ["bias"]
    assert keys.unexpected_keys == ["extra"]
    assert repr(keys) == "IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['extra'])"
    assert layer.weight.tolist() == [[1, 1]]
    with pytest.raises(WeightsError, match="weight is 1×2 in the module and 2×2 in the weights"):
        layer.load_state_dict({"weight": engine.ones(2, 2)}, strict=False)


@pytest.mark.parametrize(
    ("keys", "remedy"),
    [
        (["module.weight", "module.bias"], "Remove the prefix 'module.' from every key"),
        (["weight", "offset"], "strict=False"),
    ],
)
def test_remedies(keys: list[str], remedy: str) -> None:
    shapes = dict(zip(keys, [(1, 2), (1,)], strict=True))
    with pytest.raises(WeightsError, match=remedy):
        nn.Linear(2, 1).load_state_dict({key: engine.zeros(*shape) for key, shape in shapes.items()})


def test_remedy_for_the_weights_of_a_part() -> None:
    whole = nn.ModuleDict({"body": nn.Linear(2, 1)})
    with pytest.raises(WeightsError, match="Load them into 'body' of the module"):
        whole.load_state_dict(nn.Linear(2, 1).state_dict())


def test_batch_norm_weights_without_a_count_load() -> None:
    layer = nn.BatchNorm1d(2)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    layer.load_state_dict(state)


def test_non_tensors_are_named_too() -> None:
    state: dict[str, Any] = {**nn.Linear(1, 1).state_dict(), "comment": "from run 7"}
    with pytest.raises(WeightsError, match="unexpected: comment"):
        nn.Linear(1, 1).load_state_dict(state)


def test_needs_a_mapping() -> None:
    with pytest.raises(TypeError, match="mapping"):
        nn.Linear(1, 1).load_state_dict([])  # pyright: ignore[reportArgumentType]
