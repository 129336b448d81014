"""Content of the details pane for one row of the outline, as plain data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from engine.compiler.break_reasons import REASONS
from engine.compiler.explanation import (
    Explanation,
    GraphBreak,
    GuardInfo,
    KernelInfo,
    RecompileInfo,
    SegmentInfo,
    SourceLine,
)
from engine.compiler.explanation_text import execution_text
from studio.training.regions import nodes_of, nodes_of_kernel, nodes_of_segment
from studio.ui import number_format
from studio.ui.window import help_page

_OF_CALLS = frozenset(("shape", "device", "observed", "limit", "exposed", "memory", "disabled"))
"""Reasons whose op could not be traced; for the others the op's values were needed."""
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Detail:
    title: str
    summary: str = ""
    nodes: tuple[str, ...] = ()
    """Canvas nodes that are shown as links."""
    facts: tuple[tuple[str, str], ...] = ()
    """Label and text."""
    code: str = ""
    code_title: str = ""
    mark: int | None = None
    """Number of the highlighted line, from 1."""
    help: str = ""
    """Section of the reference page on graph breaks."""


def of_break(one: GraphBreak) -> Detail:
    """A cause of graph breaks."""
    reason = REASONS[one.reason]
    of = "" if one.op is None else f": {one.op}" if one.reason in _OF_CALLS else f". It needed the result of {one.op}"
    after = number_format.count(one.after, "ops") if one.after else "nothing"
    facts = [
        ("Reason", _sentence(f"{one.what}{of}")),
        ("Fix", _sentence(_plain(one.rewrite))),
        ("Splits", f"{number_format.count(one.before, 'ops')} before it, {after} after it"),
    ]
    nodes = nodes_of(one.line)
    if one.line is not None and not nodes:
        facts.append(("Location", place(one.line)))
    code, title, mark = _code_of_break(one)
    times = "once per step" if one.count == 1 else f"{one.count} times per step"
    summary = f"{times}, {number_format.milliseconds(one.seconds)} lost"
    return Detail(reason.title, summary, nodes, tuple(facts), code, title, mark, one.reason)


def of_segment(segment: SegmentInfo) -> Detail:
    """A segment."""
    facts = [("Executed by", _how(segment))]
    if segment.memory or segment.held:
        compiled, eager = number_format.size(segment.memory), number_format.size(segment.held)
        facts.append(("Memory", f"{compiled} of intermediate values; op by op {eager}"))
    facts += [
        ("Guards", ", ".join(_guards(segment)) or "none"),
        (
            "Ends",
            "with the step" if segment.ended_by is None else f"with a graph break: {REASONS[segment.ended_by].title}",
        ),
    ]
    if segment.plans > 1:
        facts.append(("Variants", f"{segment.plans}, for different sets of results used after it"))
    summary = f"{number_format.count(len(segment.operations), 'ops')}, {number_format.milliseconds(segment.seconds)}"
    title = f"Segment {segment.number}"
    return Detail(
        title, summary, nodes_of_segment(segment), tuple(facts), _listing(segment), "Ops in order of execution"
    )


def of_kernel(kernel: KernelInfo, number: int) -> Detail:
    """A generated kernel, or an op without one, which has number 0."""
    facts = [("Ops", " + ".join(_tallied(kernel.ops)))]
    facts += [("Reads", ", ".join(_tallied(kernel.reads)) or "nothing"), ("Writes", ", ".join(_tallied(kernel.makes)))]
    if kernel.note:
        facts.append(("Note", _sentence(kernel.note)))
    if number:
        count = len(kernel.ops)
        summary = f"{count} ops in one pass" if count > 1 else "1 op"
        return Detail(
            f"Kernel {number}", summary, nodes_of_kernel(kernel), tuple(facts), kernel.source, "Generated code"
        )
    return Detail(kernel.ops[0], "computed without a generated kernel", nodes_of_kernel(kernel), tuple(facts))


def of_recompile(one: RecompileInfo) -> Detail:
    """A step that took another path than those before it."""
    at = "" if one.expected_line in (None, one.line) else f", {place(one.expected_line)}"
    facts = [
        ("Expected", f"{one.expected}{at}"),
        ("Got", one.got),
        *(("Differs" if place_ == 0 else "", text) for place_, text in enumerate(one.differences)),
        ("Equal", f"the first {number_format.count(one.after, 'ops')}" if one.after else "no op"),
    ]
    code = one.line.code if one.line else ""
    return Detail(
        "Recompile", f"call {one.call}", nodes_of(one.line), tuple(facts), code, "Where it left the known way"
    )


def of_all(found: Explanation) -> Detail:
    """The step as a whole, while nothing is chosen."""
    kernels = sum(kernel.kind == "kernel" for segment in found.segments for kernel in segment.kernels)
    ops = sum(len(segment.operations) for segment in found.segments)
    facts = [
        ("One step", speed(found)),
        ("Ops", f"{ops:,} traced, fused into {number_format.count(kernels, 'kernels')}"),
        ("Memory", f"{number_format.size(found.memory)} of intermediate values"),
    ]
    if found.first_seconds:
        facts.append(("First step", f"{number_format.milliseconds(found.first_seconds)}, with tracing"))
    facts += [
        ("Python", _sentence(f"runs on every step, because {text}")) for text in dict.fromkeys(found.replays.refused)
    ]
    facts += [("Guard failed", _sentence(f"this changed: {text}")) for text in _tallied(found.replays.missed)]
    return Detail("Training step", "forward pass, backward pass and optimizer update", facts=tuple(facts))


def speed(found: Explanation) -> str:
    """Compiled against eager."""
    compiled = number_format.milliseconds(found.compiled_seconds)
    if not found.eager_seconds:
        return compiled
    eager, ratio = (
        number_format.milliseconds(found.eager_seconds),
        found.eager_seconds / max(found.compiled_seconds, 1e-12),
    )
    if 0.95 < ratio < 1.05:
        return f"{compiled}, as fast as eager mode ({eager})"
    how = f"{ratio:.1f}× faster" if ratio > 1 else f"{1 / ratio:.1f}× slower"
    return f"{compiled}, {how} than eager mode ({eager})"


def place(line: SourceLine | None) -> str:
    """The canvas node of a line, or its file and number."""
    if line is None:
        return "unknown line"
    return line.node or f"{Path(line.file).name}:{line.number}"


def _how(segment: SegmentInfo) -> str:
    made = sum(kernel.kind == "kernel" for kernel in segment.kernels)
    own = sum(kernel.kind == "call" for kernel in segment.kernels)
    if segment.how != "fused":
        return _sentence(
            f"{execution_text(segment.how)}, because {segment.note}" if segment.note else execution_text(segment.how)
        )
    parts = [number_format.count(made, "generated kernels")] if made else []
    parts += [f"{number_format.count(own, 'ops')} without generated kernel"] if own else []
    return " and ".join(parts) or "views only"


def _guards(segment: SegmentInfo) -> list[str]:
    """The inputs that must keep their shapes, dtypes and strides for the segment to be reused."""

    def told(guard: GuardInfo) -> str:
        return f"{guard.array}{', written to' if guard.written else ''}"

    counts = Counter(map(told, segment.guards))
    texts = [f"{n}× {text}" if n > 1 else text for text, n in counts.items()]
    if segment.numbers:
        texts.append(f"{number_format.count(segment.numbers, 'numbers')} of any value")
    return texts


def _listing(segment: SegmentInfo) -> str:
    """The ops that were traced on each line."""
    rows: list[tuple[str, str]] = []
    for (line, backward), members in groupby(segment.operations, lambda one: (one.line, one.backward)):
        ops = list(members)
        names = " ".join(_tallied(f"{one.op}_" if one.writes else one.op for one in ops))
        rows.append((f"{place(line)}, backward" if backward else place(line), f"{names} → {ops[-1].outputs[0]}"))
    width = min(max((len(where) for where, _ in rows), default=0), 24)
    return "\n".join(f"{where:{width}}  {names}" for where, names in rows)


def _code_of_break(one: GraphBreak) -> tuple[str, str, int | None]:
    """The source file, or the line and its replacement, or an example of such a break."""
    line = one.line
    if line is not None and not line.node and Path(line.file).is_file():
        text = Path(line.file).read_text(encoding="utf-8", errors="replace")
        return text, f"{Path(line.file).name}, line {line.number}", line.number
    instead = _CODE.findall(one.rewrite)
    if line is not None and line.code and instead:
        return f"# Now\n{line.code}\n\n# Fix\n" + "\n".join(instead), "This line", None
    examples = help_page.examples("reference/graph-breaks.md", one.reason)
    if len(examples) < 2:
        return (line.code if line else ""), "The line", None
    return f"# Breaks\n{examples[0]}\n\n# Does not break\n{examples[1]}", "An example", None


def _tallied(texts: Iterable[str]) -> Sequence[str]:
    """Each text once, with its count."""
    return [text if n == 1 else f"{n}× {text}" for text, n in Counter(texts).items()]


def _plain(text: str) -> str:
    return text.replace("`", "")


def _sentence(text: str) -> str:
    text = _plain(text)
    first = text.partition(" ")[0]
    begin = text[:1] if "(" in first or "." in first or "_" in first else text[:1].upper()  # code is not capitalized
    return f"{begin}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


__all__ = ["Detail", "of_all", "of_break", "of_kernel", "of_recompile", "of_segment", "place", "speed"]
