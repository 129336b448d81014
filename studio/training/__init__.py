"""Running a project: the session, what it tells, and what it leaves behind."""

from __future__ import annotations

from studio.training.autograd import Snapshot as Snapshot
from studio.training.events import Failed as Failed
from studio.training.events import Looked as Looked
from studio.training.events import SessionEvent as SessionEvent
from studio.training.events import State as State
from studio.training.events import StateChanged as StateChanged
from studio.training.events import Warned as Warned
from studio.training.session import Session as Session

__all__ = ["Failed", "Looked", "Session", "SessionEvent", "Snapshot", "State", "StateChanged", "Warned"]
