"""A profile as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.compiler.explanation_text import time_text
from engine.data.file_access import format_bytes
from studio.training.profiling.hints import hints
from studio.training.profiling.machine_limits import MachineLimits
from studio.training.profiling.profile_data import MEMORY_KINDS, PHASE_TITLES, PHASES, Profile
from studio.training.profiling.roofline import bound_seconds, roofline

TOP = 10
"""Rows of the longest tables."""
_NAME_WIDTH = 40


def profile_text(profile: Profile, limits: MachineLimits) -> str:
    """Phases, nodes, kernels, memory, the position under the roofline, and hints."""
    parts = [_head(profile), _phases(profile), _nodes(profile), _kernels(profile, limits), _memory(profile)]
    parts += [_limits(profile, limits), _hints(profile, limits)]
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def _head(profile: Profile) -> Iterator[str]:
    counted = sum(step.is_counted for step in profile.steps)
    how = "compiled steps" if profile.mode == "compiled" else "steps in eager mode"
    yield (
        f"{profile.name}: {how} on {profile.device}, batches of {profile.batch_size}, "
        f"{time_text(profile.seconds)} a step"
    )
    yield f"  {len(profile.steps)} measured, means of the {counted} not slower than their median"


def _phases(profile: Profile) -> Iterator[str]:
    yield "Phases"
    for phase in PHASES:
        seconds = profile.phase_seconds(phase)
        note = {"loader": "waiting for data", "other": "no kernel runs: Python between kernels, training loop"}
        yield _row(PHASE_TITLES[phase], seconds, profile) + (f"  {note[phase]}" if phase in note else "")


def _nodes(profile: Profile) -> Iterator[str]:
    times = profile.node_seconds()
    rows = sorted(times, key=lambda node: -sum(times[node].values()))
    if not rows:
        return
    yield "Nodes" + _more(rows) + f"{'':>{_NAME_WIDTH - 5 - len(_more(rows))}}      total  share    forward   backward"
    for node in rows[:TOP]:
        found = times[node]
        columns = "  ".join(f"{_time(found.get(phase, 0.0)):>9}" for phase in ("forward", "backward"))
        yield f"{_row(node, sum(found.values()), profile)}  {columns}"


def _kernels(profile: Profile, limits: MachineLimits) -> Iterator[str]:
    points = roofline(profile, limits)
    if not points:
        return
    title = "Kernels" if profile.mode == "compiled" else "Ops"
    title += _more(points)
    yield f"{title:<{_NAME_WIDTH + 2}}      time  share  runs   GFLOP/s      GB/s  of limit  bound by  phase and nodes"
    for point in points[:TOP]:
        kernel = point.kernel
        reached = f"{kernel.flops_per_second / 1e9:>8.1f}  {kernel.bytes_per_second / 1e9:>8.1f}  {point.share:>8.0%}"
        nodes = _shortened(f"{', '.join(kernel.phases)}: {', '.join(kernel.nodes)}", 2 * _NAME_WIDTH)
        yield f"{_row(kernel.name, kernel.seconds, profile)}  {kernel.count:>4}  {reached}  {point.bound:<8}  {nodes}"


def _memory(profile: Profile) -> Iterator[str]:
    memory = profile.memory
    how = "of the compiled plan, which reuses it" if memory.is_planned else "op by op"
    yield f"Memory: {format_bytes(memory.peak)} at the peak; intermediate values {how}"
    for kind in MEMORY_KINDS:
        found = sorted(((node.kinds.get(kind, 0), node.node) for node in memory.nodes), reverse=True)
        most = ", ".join(f"{node or 'no node'} {format_bytes(size)}" for size, node in found[:3] if size)
        if memory.total(kind):
            yield f"  {kind:<20} {format_bytes(memory.total(kind)):>10}  most: {most}"


def _limits(profile: Profile, limits: MachineLimits) -> Iterator[str]:
    yield (
        f"Limits of this machine ({limits.name}), measured on {limits.measured[:10]}: "
        f"{limits.flops / 1e9:,.0f} GFLOP/s, {limits.bandwidth / 1e9:,.1f} GB/s"
    )
    bounds = bound_seconds(roofline(profile, limits))
    total = sum(bounds.values())
    shares = [f"{bound} {seconds / total:.0%}" for bound, seconds in sorted(bounds.items(), key=lambda one: -one[1])]
    if any(point.share > 1 for point in roofline(profile, limits)):
        yield "  kernels above 100% find their arrays in a cache, which is faster than memory"
    if total:
        yield f"  time in kernels bound by: {', '.join(shares)}"


def _hints(profile: Profile, limits: MachineLimits) -> Iterator[str]:
    found = hints(profile, limits)
    if found:
        yield "Hints"
    for hint in found:
        yield f"  - {hint.text}"


def _row(name: str, seconds: float, profile: Profile) -> str:
    share = seconds / profile.seconds if profile.seconds else 0.0
    return f"  {_shortened(name, _NAME_WIDTH):<{_NAME_WIDTH}}  {_time(seconds):>9}  {share:>5.1%}"


def _time(seconds: float) -> str:
    return time_text(seconds) if seconds else "-"


def _more(rows: Sequence[object]) -> str:
    return f" ({TOP} of {len(rows)})" if len(rows) > TOP else ""


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


__all__ = ["profile_text"]
