"""Training of a project: sessions, their events, run records and checkpoints."""

from __future__ import annotations

from studio.training.autograd import Snapshot as Snapshot
from studio.training.session import Session as Session
from studio.training.session_events import AutogradCaptured as AutogradCaptured
from studio.training.session_events import Failed as Failed
from studio.training.session_events import SessionEvent as SessionEvent
from studio.training.session_events import State as State
from studio.training.session_events import StateChanged as StateChanged
from studio.training.session_events import Warned as Warned

__all__ = ["Failed", "AutogradCaptured", "Session", "SessionEvent", "Snapshot", "State", "StateChanged", "Warned"]
