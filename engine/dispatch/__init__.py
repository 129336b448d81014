"""Runs ops on tensors."""

from engine.dispatch.in_place import run_in_place as run_in_place
from engine.dispatch.run import run as run
from engine.dispatch.transfer import move as move

__all__ = ["move", "run", "run_in_place"]
