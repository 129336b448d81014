"""What a profile says in plain words, with a next step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.compiler.explanation_text import time_text
from studio.training.profiling.machine_limits import MachineLimits
from studio.training.profiling.profile_data import PHASE_TITLES, PHASES, Profile
from studio.training.profiling.roofline import bound_seconds, roofline

_LOADER_SHARE = 0.15
_NODE_SHARE = 0.3
_OVERHEAD_SHARE = 0.3
_SLOWDOWN = 1.3


@dataclass(frozen=True, slots=True)
class Hint:
    """A sentence about a profile."""

    text: str
    node: str = ""
    """Path of the node that it is about, if any."""


def hints(profile: Profile, limits: MachineLimits) -> tuple[Hint, ...]:
    """What takes the time, the most important first."""
    if not profile.seconds:
        return ()
    return tuple(_found(profile, limits))


def _found(profile: Profile, limits: MachineLimits) -> Iterator[Hint]:
    total = profile.seconds
    waiting = profile.phase_seconds("loader")
    if waiting >= _LOADER_SHARE * total:
        loader = next((part.node for part in profile.parts if part.phase == "loader"), "")
        yield Hint(
            f"The step waits for data in {waiting / total:.0%} of its time ({time_text(waiting)}). "
            f"Raise workers of {loader}, or remove expensive transforms.",
            loader.partition(", ")[0],
        )
    yield from _slowest_node(profile)
    if profile.unexplained >= _OVERHEAD_SHARE * total:
        remedy = (
            "Compile training steps, or use larger batches."
            if profile.mode == "eager"
            else "Use larger batches, and look for graph breaks in the Compile panel."
        )
        yield Hint(
            f"No kernel runs in {profile.unexplained / total:.0%} of the step "
            f"({time_text(profile.unexplained)}): Python works between kernels. {remedy}"
        )
    bounds = bound_seconds(roofline(profile, limits))
    kernels = sum(bounds.values())
    if bounds.get("overhead", 0.0) >= _OVERHEAD_SHARE * kernels > 0:
        yield Hint(
            f"Kernels bound by overhead take {bounds['overhead'] / kernels:.0%} of the time in kernels: calls and "
            "short loops cost more than the work. Larger batches give each kernel more work."
        )
    elif bounds.get("memory", 0.0) >= bounds.get("compute", 0.0) > 0:
        yield Hint(
            f"Kernels bound by memory take {bounds['memory'] / kernels:.0%} of the time in kernels: they move more "
            "bytes than they compute. Mixed precision or smaller activations reduce the bytes."
        )
    if profile.unprofiled_seconds and total > _SLOWDOWN * profile.unprofiled_seconds:
        yield Hint(
            f"Measuring slowed the step down: {time_text(total)}, and {time_text(profile.unprofiled_seconds)} "
            "without the profiler. Trust shares rather than absolute times."
        )
    for note in profile.notes:
        yield Hint(note)


def _slowest_node(profile: Profile) -> Iterator[Hint]:
    seconds = {node: sum(times.values()) for node, times in profile.node_seconds().items() if set(times) - {"loader"}}
    if not seconds:
        return
    slowest = max(seconds, key=lambda node: seconds[node])
    if seconds[slowest] >= _NODE_SHARE * profile.seconds:
        times = profile.node_seconds()[slowest]
        phases = ", ".join(
            f"{time_text(times[phase])} in {PHASE_TITLES[phase].lower()}" for phase in PHASES if times.get(phase)
        )
        yield Hint(f"{slowest} takes {seconds[slowest] / profile.seconds:.0%} of the step: {phases}.", slowest)


__all__ = ["Hint", "hints"]
