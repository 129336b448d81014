"""How training steps run, in a word and in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from engine import fit
from studio.training.runs.run_history import Run
from studio.ui import number_format


@dataclass(frozen=True, slots=True)
class Tier:
    """What the badge shows."""

    title: str
    tip: str
    token: str
    """Colour of its mark."""
    filled: float
    """Share of the mark that is filled: 1 for what is as fast as it gets."""


EAGER = Tier(
    "Eager",
    "Ops run one by one, as Python calls them. “Compile training step” in the Run menu is off.",
    "text-dim",
    0.0,
)
_RECORDING = "This step runs op by op and is recorded. The next ones run as a plan."
_INTERPRETED = "The plan runs with NumPy while its kernels are compiled in the background. The numbers are the same."
_COMPILED = "The step runs as a plan with compiled kernels. Python still walks through the model in each step."
_UNRECORDED = "The run ended while its steps ran op by op, before there was a plan for them."
_UNCOMPILED = "The run ended while its kernels were being compiled, so its steps ran with NumPy."
_REPLAYED = "The whole step runs as a plan with compiled kernels, without any Python of the model."


def tier_of(run: Run | None, *, compiles: bool) -> Tier | None:
    """The tier of a run; of what a run would be if there is none. None while that cannot be known."""
    if run is None or run.compiled is None:
        return None if compiles else EAGER
    if not run.compiled:
        return EAGER
    state = run.compile_state
    if not run.is_live and (state is None or state.tier in ("recording", "interpreted")):
        return _ended(state)
    if state is None:
        return Tier("Recording", _RECORDING, "warning", 0.25)
    match state.tier:
        case "recording":
            return Tier("Recording", _told(_RECORDING, state), "warning", 0.25)
        case "interpreted":
            ready = f"kernels {state.kernels_ready}/{state.kernels} ready"
            return Tier(f"Interpreted ({ready})", _told(_INTERPRETED, state), "warning", 0.5)
        case "compiled":
            return Tier("Compiled", _told(_COMPILED, state), "ok", 0.75)
        case "replayed":
            return Tier("Replayed", _told(_REPLAYED, state), "ok", 1.0)


def _ended(state: fit.CompileState | None) -> Tier:
    """Of a run that ended before its steps were compiled: what it was, and nothing that seems to go on."""
    told = _UNRECORDED
    if state is not None:
        told = _told(_UNRECORDED if state.tier == "recording" else _UNCOMPILED, state)
    return Tier("Ended before it was compiled", told, "text-dim", 0.0)


def _told(text: str, state: fit.CompileState) -> str:
    parts = [
        number_format.count(state.kernels, "kernels"),
        number_format.count(state.breaks, "graph breaks") + " a step" if state.breaks else "no graph breaks",
        number_format.count(state.recompiles, "recompiles") if state.recompiles else "no recompiles",
    ]
    if state.kernels_failed:
        parts.append(f"{number_format.count(state.kernels_failed, 'kernels')} could not be compiled")
    return f"{text}\n{', '.join(parts)}."


__all__ = ["EAGER", "Tier", "tier_of"]
