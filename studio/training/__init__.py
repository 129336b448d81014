"""Training of a project: sessions, their events, run records and checkpoints."""

from __future__ import annotations

from studio.training.autograd.autograd_snapshot import AutogradSnapshot as AutogradSnapshot
from studio.training.session_events import AutogradCaptured as AutogradCaptured
from studio.training.session_events import BreakpointsHit as BreakpointsHit
from studio.training.session_events import Failed as Failed
from studio.training.session_events import SessionEvent as SessionEvent
from studio.training.session_events import State as State
from studio.training.session_events import StateChanged as StateChanged
from studio.training.session_events import Warned as Warned
from studio.training.training_session import TrainingSession as TrainingSession

__all__ = [
    "Failed",
    "AutogradCaptured",
    "BreakpointsHit",
    "TrainingSession",
    "SessionEvent",
    "AutogradSnapshot",
    "State",
    "StateChanged",
    "Warned",
]
