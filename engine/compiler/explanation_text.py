"""Formats an explanation as text."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from textwrap import shorten, wrap
from typing import Any

from engine.compiler.explanation_data import (
    ExplanationData,
    GraphBreak,
    KernelInfo,
    OperationInfo,
    RecompileInfo,
    ReplayInfo,
    SegmentInfo,
    SourceLine,
)

WIDTH = 110
MAX_ROWS = 40
"""Lines for one segment; the middle of longer ones is left out."""
MAX_SEGMENTS = 6
MIN_REPORTED_BYTES = 1024
"""Bytes from which memory is reported."""
MAX_RECOMPILES = 8


def explanation_text(found: ExplanationData, *, source: bool = False) -> str:
    """The text of an explanation; with `source`, including the code of generated kernels."""
    parts = [_head(found)]
    kinds = _kinds(found.segments)
    parts += ["\n".join(_segment(alike, source=source)) for alike in kinds[:MAX_SEGMENTS]]
    if len(kinds) > MAX_SEGMENTS:
        parts.append(f"and {_counted(sum(map(len, kinds[MAX_SEGMENTS:])), 'more segment')}, each after a graph break")
    parts += ["\n".join(_break(number, one)) for number, one in enumerate(found.breaks, start=1)]
    if found.replays.count or found.replays.refused:
        parts.append("\n".join(_replays(found.replays)))
    if found.recompiles:
        parts.append("\n".join(_recompiles(found.recompiles)))
    return "\n\n".join(parts)


def _head(found: ExplanationData) -> str:
    breaks = sum(one.count for one in found.breaks)
    causes = f" ({_counted(len(found.breaks), 'cause')})" if breaks > len(found.breaks) else ""
    ratio = found.eager_seconds / max(found.compiled_seconds, 1e-12)
    speed = f"{ratio:.1f}× faster than" if ratio >= 1.05 else "as fast as" if ratio > 0.95 else "slower than"
    compared = f", {speed} without compilation ({time_text(found.eager_seconds)})" if found.eager_seconds else ""
    state = "partly compiled" if breaks else "compiled"
    counts = f"{_counted(len(found.segments), 'segment')}, {_counted(breaks, 'graph break')}{causes}"
    lines = [
        f"{found.name}: {state}, {counts}",
        f"  one call: {time_text(found.compiled_seconds)}{compared}",
    ]
    if found.first_seconds:
        lines.append(f"  first call, with recording: {time_text(found.first_seconds)}")
    return "\n".join(lines)


def _kinds(segments: Iterable[SegmentInfo]) -> list[list[SegmentInfo]]:
    """Groups equal segments, such as those of the iterations of a loop."""
    found: dict[Any, list[SegmentInfo]] = {}
    for one in segments:
        lines = tuple((op.op, op.line, op.outputs) for op in one.operations)
        found.setdefault((lines, one.ended_by, one.how), []).append(one)
    return list(found.values())


def _segment(alike: Sequence[SegmentInfo], *, source: bool) -> Iterator[str]:
    segment = alike[0]
    made = [kernel for kernel in segment.kernels if kernel.kind == "kernel"]
    ops = _counted(len(segment.operations), "op")
    how = f"fused into {_counted(len(made), 'kernel')}" if made else execution_text(segment.how)
    times = "" if len(alike) == 1 else f", {_times(len(alike)).lower()} per call"
    seconds = sum(one.seconds for one in alike)
    yield f"Segment {_numbers(alike)}: {ops}, {how}{times}, {time_text(seconds)}{' in total' if times else ''}"
    if segment.note:
        yield f"  not fused: {segment.note}"
    yield from _columns(_rows(segment.operations))
    for number, kernel in enumerate(made, start=1):
        yield from _kernel(number, kernel, source=source)
    if segment.how == "fused":
        yield from _alone(segment)
    if segment.held >= MIN_REPORTED_BYTES:
        yield f"  intermediate values: {bytes_text(segment.memory)} (op by op: {bytes_text(segment.held)})"
    yield from _guards(segment)
    if segment.plans > 1:
        yield f"  compiled {segment.plans} times, for different sets of results that are used after it"
    end = "the function" if segment.ended_by is None else f"a graph break ({segment.ended_by})"
    yield f"  ends with {end}"


def execution_text(how: str) -> str:
    """How a segment runs, for the values of `SegmentInfo.how`."""
    return {"recorded": "recorded, not compiled yet", "unfused": "not fused", "call by call": "op by op"}.get(how, how)


def _numbers(segments: Sequence[SegmentInfo]) -> str:
    numbers = [str(one.number) for one in segments]
    return ", ".join(numbers if len(numbers) <= 4 else [*numbers[:3], "…", numbers[-1]])


def _rows(operations: Sequence[OperationInfo]) -> list[tuple[str, str, str]]:
    """For each source line: its location, its code, and the ops that were traced there."""
    rows: list[tuple[str, str, str]] = []
    for (line, backward), members in groupby(operations, lambda one: (one.line, one.backward)):
        ops = list(members)
        location = ("backward of " if backward else "") + location_text(line)
        rows.append((location, "" if line is None or backward else line.code, f"{_names(ops)} → {ops[-1].outputs[0]}"))
    if len(rows) > MAX_ROWS:
        half = MAX_ROWS // 2
        rows[half:-half] = [("…", "", f"{len(rows) - MAX_ROWS} more lines")]
    return rows


def _names(ops: Sequence[OperationInfo]) -> str:
    names = [f"{one.op}_" if one.writes else one.op for one in ops]
    runs = [(name, len(list(same))) for name, same in groupby(names)]
    return shorten(", ".join(name if n == 1 else f"{n}× {name}" for name, n in runs), 60, placeholder=" …")


def _columns(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    first = max((len(location) for location, _, _ in rows), default=0)
    second = min(max((len(text) for _, text, _ in rows), default=0), 42)
    for location, text, ops in rows:
        fitting = text if len(text) <= second else text[: second - 1] + "…"
        yield f"  {location:{first}}  {fitting:{second}}  {ops}".rstrip()


def _kernel(number: int, kernel: KernelInfo, *, source: bool) -> Iterator[str]:
    ops = shorten(" + ".join(kernel.ops), 70, placeholder=" …")
    note = f" ({kernel.note})" if kernel.note else ""
    locations = list(dict.fromkeys(map(location_text, kernel.lines)))
    where = f" ({', '.join(locations if len(locations) <= 3 else [*locations[:2], '…'])})" if locations else ""
    yield f"  kernel {number}{where}: {ops} → {', '.join(_tallied(kernel.makes))}{note}"
    if source and kernel.source:
        yield from ("    | " + text for text in kernel.source.rstrip().splitlines())


def _guards(segment: SegmentInfo) -> Iterator[str]:
    """The inputs that must have the same shapes, dtypes and strides for a later call to reuse the segment."""
    same = _tallied(f"{one.array}{' (written to)' if one.written else ''}" for one in segment.guards)
    if segment.numbers:
        same.append(f"{_counted(segment.numbers, 'number')} of any value")
    if same:
        yield from _listed("guards", same)


def _listed(label: str, items: Iterable[str]) -> Iterator[str]:
    """Items on several lines; no item is split."""
    text = ", ".join(one.replace(" ", "\u00a0") for one in items)
    yield from (part.replace("\u00a0", " ") for part in _wrapped(label, text))


def _tallied(texts: Iterable[str]) -> list[str]:
    """Each text once, with its count."""
    return [text if n == 1 else f"{n}× {text}" for text, n in Counter(texts).items()]


def _alone(segment: SegmentInfo) -> Iterator[str]:
    """Ops that no generated kernel computes."""
    alone = [one for one in segment.kernels if one.kind == "call"]
    why = ((one.ops[0], one.note.removeprefix(f"{one.ops[0]}: ")) for one in alone)
    if alone:
        yield from _listed(
            "outside of generated kernels", _tallied(f"{op} ({note})" if note else op for op, note in why)
        )


def _replays(replays: ReplayInfo) -> Iterator[str]:
    yield f"Fully compiled, without Python: {_counted(replays.count, 'call')}"
    yield from (
        f"  Python ran again because this changed: {text}" for text, _ in Counter(replays.missed).most_common(5)
    )
    yield from (f"  Python runs on every call, because {text}" for text in dict.fromkeys(replays.refused))


def _break(number: int, one: GraphBreak) -> Iterator[str]:
    code = "" if one.line is None else f"   {one.line.code}"
    yield f"Break {number}: {one.reason}   {location_text(one.line)}{code}"
    of = "" if one.op is None else f": {one.op}" if one.reason in _OF_CALLS else f"; it needed the result of {one.op}"
    yield from _wrapped("Reason", f"{one.what}{of}")
    after = _counted(one.after, "op") if one.after else "none"
    yield (
        f"  {_times(one.count)} per call, {_counted(one.before, 'op')} before it and {after} after it; "
        f"computing the values took {time_text(one.seconds)}{' in total' if one.count > 1 else ''}"
    )
    yield from _wrapped("Fix", one.rewrite)
    yield f"  Help: {one.help}"


_OF_CALLS = {"shape", "device", "observed", "limit", "exposed", "disabled"}
"""Reasons whose op could not be traced; for the others the op's values were needed."""


def _recompiles(recompiles: Sequence[RecompileInfo]) -> Iterator[str]:
    yield f"Recompiles: {len(recompiles)}"
    for one in recompiles[:MAX_RECOMPILES]:
        code = f"   {one.line.code}" if one.line and one.line.code else ""
        yield f"  call {one.call}, after {_counted(one.after, 'equal op')}: {location_text(one.line)}{code}"
        at = "" if one.expected_line in (None, one.line) else f" at {location_text(one.expected_line)}"
        yield f"    expected {one.expected}{at}, got {one.got}"
        yield from (f"    {text}" for text in one.differences)
    if len(recompiles) > MAX_RECOMPILES:
        yield f"  and {len(recompiles) - MAX_RECOMPILES} more"


def _wrapped(label: str, text: str) -> list[str]:
    return wrap(
        f"{label}: {text}", WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def location_text(line: SourceLine | None) -> str:
    """The canvas node of a line, or its file and number."""
    if line is None:
        return "unknown line"
    return line.node or f"{os.path.basename(line.file)}:{line.number}"


def time_text(seconds: float) -> str:
    """ "14 µs", "0.52 ms", "1.3 s"."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1.0, "s")):
        if seconds * factor < 1000 or unit == "s":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError


def bytes_text(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"


def _times(count: int) -> str:
    return "Once" if count == 1 else "Twice" if count == 2 else f"{count} times"


def _counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


__all__ = ["bytes_text", "execution_text", "explanation_text", "location_text", "time_text"]
