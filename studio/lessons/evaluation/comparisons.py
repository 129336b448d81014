"""Comparisons of values with conditions, and the words for both in feedback."""

from __future__ import annotations

from typing import Any, cast

from msgspec import UNSET

from studio.document.model import Json
from studio.document.training_settings import TRAINING_SETTINGS
from studio.lessons.conditions import (
    ParameterIs,
    SettingIs,
)
from studio.lessons.feedback import Feedback
from studio.lessons.graph_view import GraphView, name_of

_SOURCES = {"train": "training", "val": "validation"}


def result(is_met: bool, goal: str, found: str, action: str, node: str | None = None) -> Feedback:
    """Feedback with `found` and `action` unless the condition is met."""
    return Feedback(is_met=True, goal=goal) if is_met else Feedback(False, goal, found, action, node)


def label(param: str) -> str:
    """A parameter as the inspector names it."""
    return param.replace("_", " ")


def setting_title(setting: str) -> str:
    """A setting of the training as the inspector names it."""
    declared = TRAINING_SETTINGS.get(setting)
    return setting if declared is None else declared.title


def figure_name(figure: str) -> str:
    """A figure in words: "validation accuracy"."""
    source, _, quantity = figure.partition("_")
    return f"{_SOURCES.get(source, source)} {label(quantity)}".strip()


def place_of_change(node: str, graph: GraphView) -> str:
    """Where an output can be changed."""
    return f"{node} or the nodes before it" if len(graph.before([node])) > 1 else node


def port_name(ref: str) -> str:
    """A reference such as "fc.output" or "@nn.ReLU.output" in words."""
    node, _, port = ref.rpartition(".")
    return f"{name_of(node)}.{port}" if not ref.startswith("@") else f"the {port} of {name_of(node)}"


def without_article(name: str) -> str:
    """A name without its article: "no ReLU node"."""
    return name.removeprefix("a ").removeprefix("an ")


def sentence(text: str) -> str:
    """The text with a capital letter, unless it starts with the name of a port."""
    return text if "." in text.partition(" ")[0] else text[:1].upper() + text[1:]


def wanted_text(condition: ParameterIs | SettingIs) -> str:
    """The value or range that a condition asks for."""
    return (
        range_text(condition.at_least, condition.at_most) if condition.equals is UNSET else value_text(condition.equals)
    )


def fits(value: Json, condition: ParameterIs | SettingIs) -> bool:
    """Whether a condition accepts a value."""
    if condition.equals is not UNSET:
        return equal(value, condition.equals)
    return isinstance(value, (int, float)) and within(value, condition.at_least, condition.at_most)


def equal(a: Json, b: object) -> bool:
    """Equality of JSON values: 1, 1.0 and [1] are equal, as in a field; 1 and true are not."""
    if isinstance(a, list) and len(a) == 1 and not isinstance(b, (list, tuple)):
        a = a[0]
    if not isinstance(a, list) and isinstance(b, (list, tuple)) and len(cast("list[Any]", b)) == 1:
        b = cast("list[Any]", b)[0]
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, (list, tuple)):
        others = cast("list[Any]", b)
        return len(a) == len(others) and all(equal(x, y) for x, y in zip(a, others, strict=True))
    return a == b


def within(value: float, least: float | None, most: float | None) -> bool:
    """Whether a value lies in a range whose ends are included."""
    return (least is None or value >= least) and (most is None or value <= most)


def range_text(least: float | None, most: float | None) -> str:
    """A range in words."""
    if least is not None and most is not None:
        return f"from {number_text(least)} to {number_text(most)}"
    if least is not None:
        return f"at least {number_text(least)}"
    return "any value" if most is None else f"at most {number_text(most)}"


def number_text(value: float) -> str:
    """A number as feedback shows it."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def value_text(value: object) -> str:
    """A JSON value as the inspector shows it."""
    match value:
        case None:
            return "empty"
        case bool():
            return "on" if value else "off"
        case int() | float():
            return number_text(value)
        case list() | tuple():
            return ", ".join(map(value_text, cast("list[Any]", value)))
        case _:
            return str(value)


__all__ = [
    "equal",
    "figure_name",
    "fits",
    "label",
    "number_text",
    "place_of_change",
    "port_name",
    "range_text",
    "result",
    "sentence",
    "setting_title",
    "value_text",
    "wanted_text",
    "within",
    "without_article",
]
