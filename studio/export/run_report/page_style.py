"""The style sheet of reports: the rules of `assets/export/report`, and colors of both themes of the window."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.system.assets import asset


def style_sheet() -> str:
    """CSS that follows the light or dark mode of the browser."""
    light, dark = (_colors(json.loads(asset(f"themes/{name}.json").read_text("utf-8"))) for name in ("light", "dark"))
    variables = "\n".join(f"  --{name}: light-dark({color}, {dark[name]});" for name, color in light.items())
    rules = asset("export/report/report.css").read_text("utf-8")
    return f":root {{\n{variables}\n}}\n{rules}\n" + "\n".join(_rules(light))


def _colors(theme: Mapping[str, Any]) -> dict[str, str]:
    series = {f"series-{number}": color for number, color in enumerate(theme["series"])}
    return {**theme["colors"], **series}


def _rules(names: Mapping[str, str]) -> list[str]:
    rules = [f".line.{name} {{ stroke: var(--{name}); }}" for name in names if name.startswith("series-")]
    return rules + [f".legend .{name} {{ color: var(--{name}); }}" for name in names if name.startswith("series-")]


__all__ = ["style_sheet"]
