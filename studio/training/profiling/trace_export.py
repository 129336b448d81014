"""A profile as a trace file in the Trace Event Format, for chrome://tracing and ui.perfetto.dev."""

from __future__ import annotations

import json
from typing import Any

from studio.training.profiling.profile_data import PHASE_TITLES, PHASES, Phase, Profile

PROCESS = 1
_STEPS_THREAD = 0
_THREADS: dict[Phase, int] = {phase: number for number, phase in enumerate(PHASES, start=1)}


def trace_text(profile: Profile) -> str:
    """The JSON text of a trace: a row of steps, and a row for each phase."""
    events = [*_names(profile), *_steps(profile), *_intervals(profile)]
    about = {"profile": profile.name, "mode": profile.mode, "device": profile.device}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": about}, separators=(",", ":"))


def _names(profile: Profile) -> list[dict[str, Any]]:
    threads = {_STEPS_THREAD: "Steps", **{number: PHASE_TITLES[phase] for phase, number in _THREADS.items()}}
    named = [_metadata("process_name", {"name": f"{profile.name}, {profile.mode}, {profile.device}"})]
    for number, title in threads.items():
        named.append(_metadata("thread_name", {"name": title}, number))
        named.append(_metadata("thread_sort_index", {"sort_index": number}, number))
    return named


def _metadata(name: str, arguments: dict[str, Any], thread: int = 0) -> dict[str, Any]:
    return {"name": name, "ph": "M", "pid": PROCESS, "tid": thread, "ts": 0, "args": arguments}


def _steps(profile: Profile) -> list[dict[str, Any]]:
    return [
        _complete(
            f"Step {step.number}",
            "step",
            _STEPS_THREAD,
            step.start,
            step.end,
            {"waiting for data (ms)": step.waiting / 1e6, "counted": step.is_counted},
        )
        for step in profile.steps
    ]


def _intervals(profile: Profile) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for event in profile.timeline:
        arguments: dict[str, Any] = {"nodes": ", ".join(event.nodes), "step": event.step}
        if event.kernel is not None:
            kernel = profile.kernels[event.kernel]
            arguments |= {"bytes read": kernel.read, "bytes written": kernel.written, "flops": kernel.flops}
        found.append(_complete(event.title, event.phase, _THREADS[event.phase], event.start, event.end, arguments))
    return found


def _complete(name: str, category: str, thread: int, start: int, end: int, arguments: dict[str, Any]) -> dict[str, Any]:
    """A complete event; its times are in microseconds."""
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "pid": PROCESS,
        "tid": thread,
        "ts": start / 1000,
        "dur": (end - start) / 1000,
        "args": arguments,
    }


__all__ = ["PROCESS", "trace_text"]
