"""Names of the nodes of a reproduction, made of the paths of a flat graph."""

from __future__ import annotations

import re


class NodeNaming:
    """Gives unique Python identifiers."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def name(self, path: str) -> str:
        """A new name like a path: "encoder.0.norm" becomes "encoder_0_norm"."""
        base = re.sub(r"\W", "_", path)
        name, number = base, 2
        while name in self._used:
            name, number = f"{base}_{number}", number + 1
        self._used.add(name)
        return name


__all__ = ["NodeNaming"]
