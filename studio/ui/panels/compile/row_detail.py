"""Content of the details pane for a row of the outline, as plain data."""

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
class RowDetail:
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


def of_break(cause: GraphBreak) -> RowDetail:
    """A cause of graph breaks."""
    reason = REASONS[cause.reason]
    op = ""
    if cause.op is not None:
        op = f": {cause.op}" if cause.reason in _OF_CALLS else f". It needed the result of {cause.op}"
    after = number_format.count(cause.after, "ops") if cause.after else "nothing"
    facts = [
        ("Reason", _sentence(f"{cause.what}{op}")),
        ("Fix", _sentence(_plain(cause.rewrite))),
        ("Splits", f"{number_format.count(cause.before, 'ops')} before it, {after} after it"),
    ]
    nodes = nodes_of(cause.line)
    if cause.line is not None and not nodes:
        facts.append(("Location", location_text(cause.line)))
    code, title, mark = _code_of_break(cause)
    times = "once per step" if cause.count == 1 else f"{cause.count} times per step"
    summary = f"{times}, {number_format.milliseconds(cause.seconds)} lost"
    return RowDetail(reason.title, summary, nodes, tuple(facts), code, title, mark, cause.reason)


def of_segment(segment: SegmentInfo) -> RowDetail:
    """A segment."""
    facts = [("Executed by", _execution(segment))]
    if segment.memory or segment.held:
        compiled, eager = number_format.size(segment.memory), number_format.size(segment.held)
        facts.append(("Memory", f"{compiled} of intermediate values; without compilation {eager}"))
    facts += [
        ("Reused for", ", ".join(_guards(segment)) or "any inputs"),
        (
            "Ends",
            "with the step" if segment.ended_by is None else f"with a graph break: {REASONS[segment.ended_by].title}",
        ),
    ]
    if segment.plans > 1:
        facts.append(("Variants", f"{segment.plans}, for different sets of results used after it"))
    summary = f"{number_format.count(len(segment.operations), 'ops')}, {number_format.milliseconds(segment.seconds)}"
    title = f"Region {segment.number}"
    return RowDetail(
        title, summary, nodes_of_segment(segment), tuple(facts), _listing(segment), "Ops in order of execution"
    )


def of_kernel(kernel: KernelInfo, number: int) -> RowDetail:
    """A generated kernel, or an op without one, which has number 0."""
    facts = [("Ops", " + ".join(_tallied(kernel.ops)))]
    facts += [("Reads", ", ".join(_tallied(kernel.reads)) or "nothing"), ("Writes", ", ".join(_tallied(kernel.makes)))]
    if kernel.note:
        facts.append(("Note", _sentence(kernel.note)))
    if number:
        count = len(kernel.ops)
        summary = f"{count} ops in one pass" if count > 1 else "1 op"
        return RowDetail(
            f"Kernel {number}", summary, nodes_of_kernel(kernel), tuple(facts), kernel.source, "Generated code"
        )
    return RowDetail(kernel.ops[0], "computed without a generated kernel", nodes_of_kernel(kernel), tuple(facts))


def of_recompile(recompile: RecompileInfo) -> RowDetail:
    """A step whose ops differ from those of all earlier steps."""
    has_other_line = recompile.expected_line not in (None, recompile.line)
    at = f", {location_text(recompile.expected_line)}" if has_other_line else ""
    facts = [
        ("Expected", f"{recompile.expected}{at}"),
        ("Got", recompile.got),
        *(("Differs" if index == 0 else "", text) for index, text in enumerate(recompile.differences)),
        ("Same", f"the first {number_format.count(recompile.after, 'ops')}" if recompile.after else "no ops"),
    ]
    code = recompile.line.code if recompile.line else ""
    nodes = nodes_of(recompile.line)
    return RowDetail("Recompile", f"call {recompile.call}", nodes, tuple(facts), code, "First different line")


def of_step(explanation: Explanation) -> RowDetail:
    """The whole step, shown while no row is selected."""
    kernels = sum(kernel.kind == "kernel" for segment in explanation.segments for kernel in segment.kernels)
    ops = sum(len(segment.operations) for segment in explanation.segments)
    facts = [
        ("One step", speed(explanation)),
        ("Ops", f"{ops:,} recorded, fused into {number_format.count(kernels, 'kernels')}"),
        ("Memory", f"{number_format.size(explanation.memory)} of intermediate values"),
    ]
    if explanation.first_seconds:
        facts.append(("First step", f"{number_format.milliseconds(explanation.first_seconds)}, with recording"))
    replays = explanation.replays
    facts += [("Python", _sentence(f"runs on every step, because {text}")) for text in dict.fromkeys(replays.refused)]
    facts += [("Ran Python", _sentence(f"because this changed: {text}")) for text in _tallied(replays.missed)]
    return RowDetail("Training step", "forward pass, backward pass and optimizer update", facts=tuple(facts))


def speed(explanation: Explanation) -> str:
    """Step time, compared with eager mode if that was timed."""
    compiled = number_format.milliseconds(explanation.compiled_seconds)
    if not explanation.eager_seconds:
        return compiled
    eager, ratio = (
        number_format.milliseconds(explanation.eager_seconds),
        explanation.eager_seconds / max(explanation.compiled_seconds, 1e-12),
    )
    if 0.95 < ratio < 1.05:
        return f"{compiled}, as fast as without compilation ({eager})"
    how = f"{ratio:.1f}× faster" if ratio > 1 else f"{1 / ratio:.1f}× slower"
    return f"{compiled}, {how} than without compilation ({eager})"


def location_text(line: SourceLine | None) -> str:
    """The canvas node of a source line, else its file name and line number."""
    if line is None:
        return "unknown line"
    return line.node or f"{Path(line.file).name}:{line.number}"


def _execution(segment: SegmentInfo) -> str:
    generated = sum(kernel.kind == "kernel" for kernel in segment.kernels)
    without_kernel = sum(kernel.kind == "call" for kernel in segment.kernels)
    if segment.how != "fused":
        return _sentence(
            f"{execution_text(segment.how)}, because {segment.note}" if segment.note else execution_text(segment.how)
        )
    parts = [number_format.count(generated, "generated kernels")] if generated else []
    parts += [f"{number_format.count(without_kernel, 'ops')} without a generated kernel"] if without_kernel else []
    return " and ".join(parts) or "views only"


def _guards(segment: SegmentInfo) -> list[str]:
    """Inputs whose shapes, dtypes and strides must stay the same for the segment to be reused."""

    def guard_text(guard: GuardInfo) -> str:
        return f"{guard.array}{', written to' if guard.written else ''}"

    counts = Counter(map(guard_text, segment.guards))
    texts = [f"{n}× {text}" if n > 1 else text for text, n in counts.items()]
    if segment.numbers:
        texts.append(f"{number_format.count(segment.numbers, 'numbers')} of any value")
    return texts


def _listing(segment: SegmentInfo) -> str:
    """A row per source line: location, ops traced there, and their last output."""
    rows: list[tuple[str, str]] = []
    for (line, backward), members in groupby(segment.operations, lambda op: (op.line, op.backward)):
        ops = list(members)
        names = " ".join(_tallied(f"{op.op}_" if op.writes else op.op for op in ops))
        location = f"{location_text(line)}{', backward' if backward else ''}"
        rows.append((location, f"{names} → {ops[-1].outputs[0]}"))
    width = min(max((len(location) for location, _ in rows), default=0), 24)
    return "\n".join(f"{location:{width}}  {names}" for location, names in rows)


def _code_of_break(cause: GraphBreak) -> tuple[str, str, int | None]:
    """Code, title and number of the highlighted line: the source file, else the line and its fix, else an example."""
    line = cause.line
    if line is not None and not line.node and Path(line.file).is_file():
        text = Path(line.file).read_text(encoding="utf-8", errors="replace")
        return text, f"{Path(line.file).name}, line {line.number}", line.number
    fixes = _CODE.findall(cause.rewrite)
    if line is not None and line.code and fixes:
        return f"# Now\n{line.code}\n\n# Fix\n" + "\n".join(fixes), "Line of the break", None
    examples = help_page.examples("reference/graph-breaks.md", cause.reason)
    if len(examples) < 2:
        return (line.code if line else ""), "Line of the break", None
    return f"# Breaks\n{examples[0]}\n\n# Does not break\n{examples[1]}", "Example", None


def _tallied(texts: Iterable[str]) -> Sequence[str]:
    """Each text once, with its count if it occurs more than once."""
    return [text if n == 1 else f"{n}× {text}" for text, n in Counter(texts).items()]


def _plain(text: str) -> str:
    return text.replace("`", "")


def _sentence(text: str) -> str:
    text = _plain(text)
    first = text.partition(" ")[0]
    is_code = any(mark in first for mark in "(._")
    start = text[:1] if is_code else text[:1].upper()
    return f"{start}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


__all__ = ["RowDetail", "location_text", "of_break", "of_kernel", "of_recompile", "of_segment", "of_step", "speed"]
