"""Where the pictures, themes and templates lie that ship with the studio."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "assets"


def asset(*parts: str) -> Path:
    return ROOT.joinpath(*parts)
