"""Graph breaks by Python nodes in the training step, with their share of its time."""

from __future__ import annotations

from functools import partial

from engine.compiler import Explanation
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.user_code.code_problems import changed_source
from studio.lowering.user_code.condition_rewrites import REPETITIONS, has_loop, without_conditions
from studio.nodes.python_node import source_of
from studio.training.diagnosis.run_facts import RunFacts

MIN_SHARE = 0.2
"""Share of the step outside of compiled segments from which a break is worth a change. Sound steps have none."""
MIN_STEP = 50
"""Steps after which recording and planning no longer show in the time of a step."""


def find_graph_breaks(explanation: Explanation, step_seconds: float, facts: RunFacts) -> Problem | None:
    """The Python node with most breaks.

    Args:
        step_seconds: duration of a training step, without waiting for data
    """
    breaks = [each for each in explanation.breaks if each.line is not None and facts.has_code(each.line.node)]
    outside = step_seconds - sum(each.seconds for each in explanation.segments)
    share = outside / step_seconds if step_seconds > 0 else 0.0
    if not breaks or share < MIN_SHARE:
        return None
    most = max(breaks, key=lambda each: each.count)
    node = None if most.line is None else most.line.node
    count = sum(each.count for each in breaks)
    times = "once" if count == 1 else f"{count} times"
    message = (
        f"{node} interrupts the compiled training step {times}, which costs {share:.0%} of its time "
        f"({1000 * outside:.2g} of {1000 * step_seconds:.2g} ms): its code needs values of tensors in Python. "
        "Compute with tensors instead of item(), float(), if or while on their values; the Compile panel shows the "
        "lines."
    )
    evidence = {"breaks": count, "share": share, "seconds": outside, "step_seconds": step_seconds}
    fix = None if node is None else _fix(node, facts)
    return Problem("warning", "graph-breaks", message, node=node, fix=fix, evidence=evidence)


def _fix(node: str, facts: RunFacts) -> Fix | None:
    """Choose between tensors instead of a condition on their values, if that is all that needs them."""
    document = facts.document
    source = source_of(document.nodes[node].params) if node in document.nodes else ""
    changed = without_conditions(source)
    if changed is None:
        return None
    limit = f", with at most {REPETITIONS} repetitions" if has_loop(source) else ""
    return Fix(f"Use engine.where{limit}", partial(changed_source, name=node, source=changed))


__all__ = ["MIN_STEP", "find_graph_breaks"]
