"""Compilation status of a run: title, tooltip and color of its badge."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine import fit
from studio.training.runs.run_history import Run
from studio.ui import number_format


@dataclass(frozen=True, slots=True)
class CompileStatus:
    """Content of the badge."""

    title: str
    tip: str
    token: str
    """Theme color of the icon."""
    filled: float
    """Filled share of the ring in the icon, from 0 to 1 for the fastest state."""


_EAGER = "Eager mode: ops run one by one, as in PyTorch without torch.compile."
_SWITCHED_OFF = "“Compile training steps” in the Run menu is off."
UNCOMPILED = CompileStatus("Compilation off", f"{_EAGER} {_SWITCHED_OFF}", "text-dim", 0.0)
_RECORDING = "Tracing: this step runs op by op while its ops are recorded. Later steps run compiled."
_INTERPRETED = "Kernels compile in the background. Until they are ready, NumPy computes the same values."
_COMPILED = "Steps run compiled kernels. The model’s Python code still runs in each step."
_BROKEN = (
    "Steps run compiled kernels, but at each graph break they wait for Python. "
    "Run › Mend graph break shows them on the canvas."
)
_UNRECORDED = "The run ended while its steps were traced, before a compiled step ran."
_UNFINISHED = "The run ended while kernels were compiling, so NumPy computed its steps."
_REPLAYED = "Steps run compiled kernels only. The model’s Python code does not run."


def compile_status(run: Run | None, *, compiles: bool) -> CompileStatus | None:
    """The state of a run, or of the next run if there is none. None while it is unknown."""
    if run is None or run.compiled is None:
        return None if compiles else UNCOMPILED
    if not run.compiled:
        title = "Running without compilation" if run.is_live else "Ran without compilation"
        return replace(UNCOMPILED, title=title, tip=_EAGER)
    state = run.compile_state
    if not run.is_live and (state is None or state.tier in ("recording", "interpreted")):
        return _ended(state)
    if state is None:
        return CompileStatus("Preparing to compile", _RECORDING, "warning", 0.25)
    match state.tier:
        case "recording":
            return CompileStatus("Preparing to compile", _with_counts(_RECORDING, state), "warning", 0.25)
        case "interpreted":
            ready = f"{state.kernels_ready} of {state.kernels} kernels ready"
            return CompileStatus(f"Compiling ({ready})", _with_counts(_INTERPRETED, state), "warning", 0.5)
        case "compiled" if state.breaks:
            return CompileStatus("Partly compiled", _with_counts(_BROKEN, state), "warning", 0.65)
        case "compiled":
            return CompileStatus("Compiled", _with_counts(_COMPILED, state), "ok", 0.75)
        case "replayed":
            return CompileStatus("Fully compiled", _with_counts(_REPLAYED, state), "ok", 1.0)


def _ended(state: fit.CompileState | None) -> CompileStatus:
    """State of a run that ended before its steps were compiled."""
    tip = _UNRECORDED
    if state is not None:
        tip = _with_counts(_UNRECORDED if state.tier == "recording" else _UNFINISHED, state)
    return CompileStatus("Run ended before compilation finished", tip, "text-dim", 0.0)


def _with_counts(text: str, state: fit.CompileState) -> str:
    parts = [
        number_format.count(state.kernels, "kernels"),
        number_format.count(state.breaks, "graph breaks") + " per step" if state.breaks else "no graph breaks",
        number_format.count(state.recompiles, "recompiles") if state.recompiles else "no recompiles",
    ]
    if state.kernels_failed:
        parts.append(f"{number_format.count(state.kernels_failed, 'kernels')} could not be compiled")
    return f"{text}\n{', '.join(parts)}."


__all__ = ["UNCOMPILED", "CompileStatus", "compile_status"]
