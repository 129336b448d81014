"""Examples of the mistakes that the diagnosis recognises, by area. Tests and the help pages use them."""

from __future__ import annotations

from studio.reference.mistakes.code import CODE
from studio.reference.mistakes.data import DATA
from studio.reference.mistakes.experiments import EXPERIMENTS
from studio.reference.mistakes.layers import LAYERS
from studio.reference.mistakes.metrics import METRICS
from studio.reference.mistakes.mistake import Mistake
from studio.reference.mistakes.optimizers import OPTIMIZERS
from studio.reference.mistakes.parameters import PARAMETERS
from studio.reference.mistakes.parts import PARTS
from studio.reference.mistakes.runs import RUNS
from studio.reference.mistakes.schedules import SCHEDULES
from studio.reference.mistakes.scores import SCORES
from studio.reference.mistakes.sequences import SEQUENCES
from studio.reference.mistakes.states import STATES
from studio.reference.mistakes.tables import TABLES
from studio.reference.mistakes.targets import TARGETS

MISTAKES: tuple[Mistake, ...] = (
    *PARTS,
    *PARAMETERS,
    *SCORES,
    *TARGETS,
    *METRICS,
    *LAYERS,
    *SEQUENCES,
    *STATES,
    *OPTIMIZERS,
    *SCHEDULES,
    *DATA,
    *TABLES,
    *RUNS,
    *EXPERIMENTS,
    *CODE,
)

__all__ = ["MISTAKES", "Mistake"]
