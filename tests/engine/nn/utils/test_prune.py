"""Pruning against PyTorch's: masks, names, gradients, prunings of what is pruned."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import ShapeError
from engine.nn.utils import prune

torch: Any = pytest.importorskip("torch")
theirs_prune: Any = pytest.importorskip("torch.nn.utils.prune")

RANDOM = {
    "random": lambda p, m: p.random_unstructured(m, "weight", amount=0.3),
    "random channels": lambda p, m: p.random_structured(m, "weight", amount=1, dim=1),
}
CALLS: dict[str, Any] = {
    "identity": lambda p, m: p.identity(m, "weight"),
    "smallest": lambda p, m: p.l1_unstructured(m, "weight", amount=0.3),
    "smallest five": lambda p, m: p.l1_unstructured(m, name="weight", amount=5),
    "none": lambda p, m: p.l1_unstructured(m, "weight", 0),
    "channels": lambda p, m: p.ln_structured(m, "weight", amount=0.5, n=2, dim=0),
    "inputs": lambda p, m: p.ln_structured(m, "weight", amount=1, n=float("-inf"), dim=1),
    "bias": lambda p, m: p.l1_unstructured(m, "bias", amount=1),
    "twice": lambda p, m: p.l1_unstructured(p.l1_unstructured(m, "weight", 0.3), "weight", 0.5),
    "channels, then elements": lambda p, m: p.l1_unstructured(p.ln_structured(m, "weight", 1, 2, 0), "weight", 3),
    "elements, then channels": lambda p, m: p.ln_structured(p.l1_unstructured(m, "weight", 0.4), "weight", 1, 1, 0),
    "channels twice": lambda p, m: p.ln_structured(p.ln_structured(m, "weight", 1, 2, 0), "weight", 0.5, 2, dim=0),
}


def layers() -> tuple[Any, Any]:
    """A convolution in both, with the same numbers."""
    ours, theirs = engine.nn.Conv2d(2, 4, 2).double(), torch.nn.Conv2d(2, 4, 2).double()
    theirs.load_state_dict({name: torch.tensor(value.numpy()) for name, value in ours.state_dict().items()})
    return ours, theirs


def compare(ours: Any, theirs: Any) -> None:
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    for name, value in ours.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), theirs.state_dict()[name].numpy(), name)
    np.testing.assert_array_equal(ours.weight.detach().numpy(), theirs.weight.detach().numpy())
    hooks = [[type(hook).__name__ for hook in m._forward_pre_hooks.values()] for m in (ours, theirs)]
    assert hooks[0] == hooks[1]


@pytest.mark.parametrize("call", CALLS)
def test_masks_and_gradients(call: str) -> None:
    ours, theirs = layers()
    assert CALLS[call](prune, ours) is ours
    CALLS[call](theirs_prune, theirs)
    compare(ours, theirs)
    x = np.random.default_rng(0).standard_normal((3, 2, 4, 4))
    for _ in range(2):  # the second pass after a step
        outs = []
        for library, layer in ((engine, ours), (torch, theirs)):
            out = layer(library.tensor(x))
            layer.zero_grad()
            (out * out).sum().backward()
            with library.no_grad():
                for parameter in layer.parameters():
                    parameter -= 0.01 * parameter.grad
            outs.append(out.detach().numpy())
        np.testing.assert_allclose(outs[0], outs[1], rtol=1e-10)
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-8, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("call", RANDOM)
def test_random_masks_prune_the_given_amount(call: str) -> None:
    ours, theirs = layers()
    RANDOM[call](prune, ours)
    RANDOM[call](theirs_prune, theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours.weight_mask.sum().item() == theirs.weight_mask.sum().item()


def test_global_pruning() -> None:
    pairs = [layers(), layers()]
    for p, library, place in ((prune, engine, 0), (theirs_prune, torch, 1)):
        parameters = [(pair[place], "weight") for pair in pairs]
        p.global_unstructured(parameters, pruning_method=p.L1Unstructured, amount=0.4)
        p.global_unstructured(parameters, p.L1Unstructured, {(pairs[0][place], "weight"): library.ones(4, 2, 2, 2)},
                              amount=3)  # fmt: skip
    for ours, theirs in pairs:
        compare(ours, theirs)


def test_remove() -> None:
    ours, theirs = layers()
    for p, layer in ((prune, ours), (theirs_prune, theirs)):
        p.l1_unstructured(layer, "weight", 0.5)
        assert p.is_pruned(layer)
        p.remove(layer, "weight")
        assert not p.is_pruned(layer)
        with pytest.raises(ValueError, match="weight"):
            p.remove(layer, "weight")
    compare(ours, theirs)
    assert ours.weight.is_leaf
    assert ours.weight.requires_grad


def test_user_defined_method() -> None:
    result = []
    for p, library in ((prune, engine), (theirs_prune, torch)):

        class EverySecond(p.BasePruningMethod):
            PRUNING_TYPE = "unstructured"

            def compute_mask(self, t: Any, default_mask: Any) -> Any:
                mask = default_mask.clone()
                mask.view(-1)[::2] = 0
                return mask

        layer = library.nn.Linear(3, 4)
        EverySecond.apply(layer, "bias")
        result.append(layer.bias_mask.tolist())
        assert EverySecond().prune(library.ones(3)).tolist() == [0, 1, 0]
        assert p.CustomFromMask(library.tensor([1, 0])).prune(library.ones(2)).tolist() == [1, 0]
    assert result[0] == result[1] == [0, 1, 0, 1]


def test_copies() -> None:
    ours, _ = layers()
    prune.l1_unstructured(ours, "weight", 0.5)
    with engine.no_grad():
        ours(engine.ones(1, 2, 4, 4, dtype=engine.float64))
    ours.weight = ours.weight.detach()
    other = copy.deepcopy(ours)
    prune.remove(other, "weight")
    assert prune.is_pruned(ours)
    assert not prune.is_pruned(other)


def test_refused_arguments() -> None:
    layer = engine.nn.Linear(3, 2)
    with pytest.raises(ValueError, match="6"):
        prune.l1_unstructured(layer, "weight", 7)
    with pytest.raises(ValueError, match="amount"):
        prune.l1_unstructured(layer, "weight", 1.5)
    with pytest.raises(TypeError, match="amount"):
        prune.l1_unstructured(layer, "weight", "half")
    with pytest.raises(ShapeError, match="Prune elements"):
        prune.ln_structured(layer, "bias", 1, 2, 0)
    with pytest.raises(ShapeError, match="scores"):
        prune.l1_unstructured(layer, "weight", 1, engine.ones(2))
    with pytest.raises(ShapeError, match="mask"):
        prune.custom_from_mask(layer, "weight", engine.ones(2))
    with pytest.raises(TypeError, match="prunes slices"):
        prune.global_unstructured([(layer, "weight")], prune.LnStructured, amount=1, n=2)
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
