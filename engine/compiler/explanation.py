"""The report of `explain` about a compiled function, with conversions to JSON and text."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.compiler.explanation_data import (
    ExplanationData,
    GraphBreak,
    GuardInfo,
    KernelInfo,
    OperationInfo,
    RecompileInfo,
    ReplayInfo,
    SegmentInfo,
    SourceLine,
)
from engine.compiler.explanation_text import explanation_text


@dataclass(frozen=True, slots=True)
class Explanation(ExplanationData):
    """How a function was compiled. `str()` returns text, `as_dict()` and `as_json()` return data."""

    def relabeled(self, change: Callable[[SourceLine], SourceLine]) -> Explanation:
        """A copy with changed lines, for instance with canvas nodes."""
        return _mapped(self, change)

    def as_dict(self) -> dict[str, Any]:
        """The explanation as nested dicts, lists, strings and numbers."""
        return json.loads(self.as_json())

    def as_json(self, indent: int | None = None) -> str:
        found = asdict(self)
        found["memory"] = self.memory
        for one, graph_break in zip(found["breaks"], self.breaks, strict=True):
            one["help"] = graph_break.help
        return json.dumps(found, indent=indent)

    def text(self, *, source: bool = False) -> str:
        """The explanation as text; with `source`, including the code of generated kernels."""
        return explanation_text(self, source=source)

    def __str__(self) -> str:
        return self.text()


def _mapped(value: Any, change: Callable[[SourceLine], SourceLine]) -> Any:
    if isinstance(value, SourceLine):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_mapped(item, change) for item in value)
    if isinstance(value, (Explanation, SegmentInfo, GraphBreak, RecompileInfo, OperationInfo, GuardInfo, KernelInfo)):
        names = value.__dataclass_fields__
        return replace(value, **{name: _mapped(getattr(value, name), change) for name in names})
    return value


__all__ = [
    "Explanation",
    "GraphBreak",
    "GuardInfo",
    "KernelInfo",
    "OperationInfo",
    "RecompileInfo",
    "ReplayInfo",
    "SegmentInfo",
    "SourceLine",
]
