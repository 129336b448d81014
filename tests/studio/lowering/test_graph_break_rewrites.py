"""Rewrites of code with graph breaks: offered only if outputs, gradients and effects are the same."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import engine
from engine.compiler import CompiledFunction
from engine.shape import Dim, Spec
from studio.document.code_trust import TRUST
from studio.lowering.user_code.code_loader import UntrustedCodeError, load_code
from studio.lowering.user_code.graph_breaks.mended_code import MendedCode, Unmended, mend
from tests.studio.lowering.graph_break_sources import MENDED, REFUSED

SPEC = Spec((Dim("N"), 8), engine.float32)


def mended(source: str, **arguments: object) -> MendedCode | Unmended:
    TRUST.allow([source])
    return mend(source, arguments, {"x": SPEC})


@pytest.mark.parametrize("name", MENDED)
def test_break_is_removed_and_results_stay(name: str) -> None:
    source, parts = MENDED[name]
    found = mended(source)
    assert isinstance(found, MendedCode), found
    assert (found.after, found.left) == (0, "")
    assert found.before >= 1
    for part in parts:
        assert part in found.source
    kept = [line for line in source.splitlines() if line.lstrip().startswith("def ") or "import" in line]
    assert [line for line in kept if line not in found.source.splitlines()] == []
    ast.parse(found.source)


@pytest.mark.parametrize("name", REFUSED)
def test_rewrite_that_changes_anything_is_refused_with_a_reason(name: str) -> None:
    source, reason = REFUSED[name]
    found = mended(source)
    assert isinstance(found, Unmended), found
    assert reason in found.reason
    assert found.reason.endswith(".")


@pytest.mark.parametrize("name", ["choice", "two variables", "item", "numpy", "loop over elements", "several breaks"])
def test_rewritten_code_runs_compiled_without_a_break_to_the_same_results(name: str) -> None:
    """Independent of the trials of the search: other values, and compiled."""
    source, _ = MENDED[name]
    found = mended(source)
    assert isinstance(found, MendedCode)
    TRUST.allow([found.source])
    old, new = load_code(source, "<old>"), load_code(found.source, "<new>")
    compiled = CompiledFunction(lambda x: new(x * 1), backend="eager")
    for seed in range(4):
        array = np.random.default_rng(seed).normal(0.3 * (seed - 1.5), 2.0, (6, 8)).astype(np.float32)
        first, second = (engine.tensor(array).requires_grad_() for _ in range(2))
        expected, got = old(first * 1), compiled.trace_call(second)
        assert all(run.reason is None for run in got)
        result = new(second * 1)
        np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=1e-5)
        expected.sum().backward()
        result.sum().backward()
        assert first.grad is not None and second.grad is not None
        np.testing.assert_allclose(second.grad.numpy(), first.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_arguments_of_the_node_reach_the_trials() -> None:
    source = "def f(x, most: float = 6.0):\n    if x.max() > most:\n        x = x * 0.5\n    return x\n"
    assert isinstance(mended(source, most=0.5), MendedCode)


def test_real_batches_count_as_well() -> None:
    """A value that only the data of the project contain."""
    source = "def f(x):\n    scale = 1 / (x.max().item() - 12345)\n    return x * scale\n"
    TRUST.allow([source])
    found = mend(source, {}, {"x": SPEC}, [{"x": np.full((3, 8), 12345, np.float32)}])
    assert isinstance(found, (MendedCode, Unmended))
    assert isinstance(mend(source, {}, {"x": SPEC}), MendedCode)
    assert isinstance(found, Unmended), "Python raises an error where a tensor becomes infinite"
    assert "batch 1 of the data" in found.reason


def test_comments_of_a_rewritten_branch_are_kept() -> None:
    source = """\
def f(x):
    # before
    if x.max() > 1:  # large
        # halved
        x = x / 2
    return x  # end
"""
    found = mended(source)
    assert isinstance(found, MendedCode)
    assert found.source.splitlines() == [
        "def f(x):",
        "    # before",
        "    # large",
        "    # halved",
        "    x = engine.where(x.max() > 1, x / 2, x)",
        "    return x  # end",
    ]


def test_one_of_two_breaks_is_mended_and_the_other_explained() -> None:
    source = """\
def f(x):
    if x.max() > 1:
        x = x / 2
    while x.abs().max() > 2:
        x = x / 2
    return x
"""
    found = mended(source)
    assert isinstance(found, MendedCode)
    assert (found.before, found.after) == (2, 1)
    assert "the number of ops depends on the data" in found.left


def test_removed_output_is_noted() -> None:
    found = mended(MENDED["print"][0])
    assert isinstance(found, MendedCode)
    assert found.notes == ("Nothing is printed. Hover over the wire to see its values.",)


def test_code_that_is_not_trusted_is_not_run() -> None:
    source = "def untrusted(x):\n    if x.max() > 3:\n        x = x / 2\n    return x\n"
    found = mend(source, {}, {"x": SPEC})
    assert isinstance(found, Unmended)
    with pytest.raises(UntrustedCodeError):
        load_code(source, "<untrusted>")


def test_search_can_be_cancelled() -> None:
    class CancelledError(Exception):
        pass

    def cancel() -> None:
        raise CancelledError

    source, _ = MENDED["choice"]
    TRUST.allow([source])
    with pytest.raises(CancelledError):
        mend(source, {}, {"x": SPEC}, advance=cancel)
