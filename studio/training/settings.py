"""How a run goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine import cuda_available

Device = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run goes, with everything decided."""

    epochs: int | None
    steps: int | None
    device: str
    seed: int
    compile: bool


def resolved(device: Device) -> str:
    """The device that a choice stands for."""
    return ("cuda" if cuda_available() else "cpu") if device == "auto" else device


__all__ = ["Device", "Settings", "resolved"]
