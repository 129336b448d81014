"""Runs ops on tensors."""

from engine.tensors.dispatch.device_transfer import move as move
from engine.tensors.dispatch.in_place_call import run_in_place as run_in_place
from engine.tensors.dispatch.op_call import run as run

__all__ = ["move", "run", "run_in_place"]
