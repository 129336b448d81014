"""Runs ops on tensors."""

from engine.tensors.dispatch.in_place import run_in_place as run_in_place
from engine.tensors.dispatch.run import run as run
from engine.tensors.dispatch.transfer import move as move

__all__ = ["move", "run", "run_in_place"]
