"""A node that would be checked for ever is a problem at that node."""

from __future__ import annotations

import cProfile
import sys
from typing import Any

import pytest

import engine
from engine.dtypes import float32
from engine.shape import Spec
from studio.document.model import Node
from studio.lowering.analysis import check_budget, node_evaluation, optimizer_trial
from studio.lowering.analysis.check_budget import Budget, OverBudgetError
from studio.lowering.analysis.node_evaluation import NodeEvaluator
from studio.lowering.check import Checker
from studio.nodes import catalogue
from tests.studio.lowering.graphs import coded, digits, document, mlp, report

SEQUENCE = Spec((4, 4, 8), float32)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("key", "arguments"),
    [
        ("nn.RNN", {"input_size": 8, "hidden_size": 4, "num_layers": 2**40}),
        ("nn.Transformer", {"d_model": 8, "nhead": 2, "num_encoder_layers": 2**40}),
    ],
)
def test_construction_of_a_layer_is_limited(
    monkeypatch: pytest.MonkeyPatch, key: str, arguments: dict[str, Any]
) -> None:
    """Types allow no such numbers; what they cannot tell is bounded all the same."""
    monkeypatch.setattr(check_budget.Budget.__init__, "__kwdefaults__", {"seconds": 0.3, "ops": 1000})
    outcome = NodeEvaluator().evaluate(catalogue()[key], arguments, {"input": SEQUENCE})
    assert outcome.fails_on == "arguments"
    assert outcome.failure.startswith("checking it takes longer than 0.3 seconds with ")
    assert str(2**40) in outcome.failure
    assert sys.getprofile() is None


def test_an_active_profiler_is_kept() -> None:
    with cProfile.Profile() as profile:
        outcome = NodeEvaluator().evaluate(catalogue()["nn.GELU"], {"approximate": "none"}, {"input": SEQUENCE})
        assert sys.getprofile() is profile
    assert (outcome.failure, outcome.outputs) == ("", {"output": SEQUENCE})


def test_repeated_upsampling_is_limited() -> None:
    """Sizes grow by a factor of 10,000 per layer; tables of this size would fill the memory."""
    layers = {f"n{index}": Node("nn.Upsample", {"scale_factor": 10_000}) for index in range(50)}
    found = report(digits({**layers, "flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})}))
    assert any(problem.node == "n1" and "the maximum is" in problem.message for problem in found.errors)
    pool = Node("nn.AdaptiveMaxPool2d", {"output_size": 2**30})
    assert "Use a smaller size" in coded(digits({"pool": pool}), "shape-mismatch").message


@pytest.mark.timeout(60)
def test_optimizer_trial_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer_trial, "SECONDS", 0.2)
    endless = {"max_iter": 1_000_000, "max_eval": 1_000_000, "tolerance_grad": 0.0, "tolerance_change": 0.0, "lr": 1e-9}
    assert NodeEvaluator().evaluate(catalogue()["optim.LBFGS"], endless, {}).failure == ""
    assert sys.getprofile() is None


@pytest.mark.timeout(60)
def test_chain_of_splits_is_limited() -> None:
    """Each takes training and validation samples of the one before: twice the work."""
    divisions = {f"d{number}": Node("data.HoldOut", {"stratify": True}) for number in range(40)}
    last = ["digits", *divisions]
    wires = [f"{a}.samples -> {b}.samples" for a, b in zip(last, [*divisions, "batches"], strict=True)]
    found = report(document({"digits": "data.Digits", "batches": "data.Batches", **divisions}, wires))
    problem = next(problem for problem in found.problems if problem.code == "bad-division")
    assert problem.node == "d8"
    assert "8 times" in problem.message


def test_total_check_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later check looks again at nodes that there was no time for."""
    checker = Checker()
    monkeypatch.setattr(node_evaluation, "TOTAL_SECONDS", 0.0)
    errors = checker.check(mlp(), catalogue()).errors
    assert any("checking the nodes before it took 60 seconds" in problem.message for problem in errors)
    monkeypatch.undo()
    assert not checker.check(mlp(), catalogue()).errors


def added(budget: Budget, times: int) -> engine.Tensor:
    found = engine.ones(1)
    with budget:
        for _ in range(times):
            found = found + 1
    return found


def test_ops_are_counted() -> None:
    assert added(Budget(ops=3), 3) == 4
    with pytest.raises(OverBudgetError, match="it takes more than 3 ops"):
        added(Budget(ops=3), 4)


def test_slow_ops_are_stopped() -> None:
    with pytest.raises(OverBudgetError, match="longer than 0 seconds"):
        added(Budget(seconds=0), 1)
