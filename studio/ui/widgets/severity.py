"""How severities of problems look: icon, color and text role."""

from __future__ import annotations

from typing import NamedTuple

from studio.ui.widgets.labels import Role


class SeverityStyle(NamedTuple):
    """Icon, token of its color in the theme, and role of texts."""

    icon: str
    token: str
    role: Role


_STYLES = {
    "error": SeverityStyle("error", "error", "error"),
    "warning": SeverityStyle("warning", "warning", "warning"),
    "hint": SeverityStyle("info", "text-dim", "dim"),
    "ok": SeverityStyle("ok", "ok", ""),
}


def severity_style(severity: str) -> SeverityStyle:
    """The style of "error", "warning", "hint" or "ok" (no problem)."""
    return _STYLES[severity]


__all__ = ["SeverityStyle", "severity_style"]
