"""All diagnoses by area. Each is declared in the file of its area."""

from __future__ import annotations

from collections.abc import Mapping

from studio.lowering.problems.diagnoses.code import CODE
from studio.lowering.problems.diagnoses.commands import COMMANDS
from studio.lowering.problems.diagnoses.data import DATA
from studio.lowering.problems.diagnoses.graph import GRAPH
from studio.lowering.problems.diagnoses.layers import LAYERS
from studio.lowering.problems.diagnoses.optimizers import OPTIMIZERS
from studio.lowering.problems.diagnoses.parameters import PARAMETERS
from studio.lowering.problems.diagnoses.parts import PARTS
from studio.lowering.problems.diagnoses.runs import RUNS
from studio.lowering.problems.diagnoses.scores import SCORES
from studio.lowering.problems.diagnoses.sequences import SEQUENCES
from studio.lowering.problems.diagnosis import Diagnosis

AREAS: Mapping[str, tuple[Diagnosis, ...]] = {
    "parts": PARTS,
    "graph": GRAPH,
    "code": CODE,
    "parameters": PARAMETERS,
    "scores": SCORES,
    "layers": LAYERS,
    "sequences": SEQUENCES,
    "optimizers": OPTIMIZERS,
    "data": DATA,
    "runs": RUNS,
    "commands": COMMANDS,
}


def _by_code() -> dict[str, Diagnosis]:
    found: dict[str, Diagnosis] = {}
    for diagnosis in (each for area in AREAS.values() for each in area):
        if diagnosis.code in found:
            raise ValueError(f"the diagnosis {diagnosis.code} is declared twice")
        found[diagnosis.code] = diagnosis
    return found


DIAGNOSES: Mapping[str, Diagnosis] = _by_code()
_RENAMED = {"learning-rate-high": "learning-rate-too-high"}


def current_code(code: str) -> str:
    """The code of a diagnosis, given one that projects and records of earlier versions may contain."""
    return _RENAMED.get(code, code)


__all__ = ["AREAS", "DIAGNOSES", "current_code"]
