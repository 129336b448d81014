"""Names in generated code: what a node is called where, without hiding a module or another name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from studio.document.node_names import not_an_identifier
from studio.nodes.types import NodeType

MODULES = frozenset({"checkpoint", "engine", "data", "fit", "lr_scheduler", "metrics", "nn", "optim", "transforms"})
"""What the head of every program may import."""

SUBPACKAGES = {"transforms": "engine.data", "lr_scheduler": "engine.optim", "checkpoint": "engine.utils"}
"""Where modules are that are no direct part of the engine."""

TAKEN = MODULES | {"self", "super", "batch"}

UNDERSCORED = frozenset({"_", "__init__"})
"""The names in generated code that begin with an underscore."""


class UnsafeSyntaxError(ValueError):
    """Generated code holds something that does not belong there. `line` is its line, if that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def identifier(text: str, line: int | None = None) -> str:
    """The text itself. Raises UnsafeSyntaxError if it cannot be a name in generated code."""
    problem = not_an_identifier(text)
    if problem is None and text.startswith("_") and text not in UNDERSCORED:
        problem = "begins with an underscore"
    if problem is not None:
        raise UnsafeSyntaxError(f"the name {text[:LONGEST_SHOWN]!r}, which {problem}", line)
    return text


LONGEST_SHOWN = 100
"""Characters of a refused name that a message repeats."""


def path_of(node_type: NodeType) -> tuple[str, str]:
    """The module in generated code, and what a node of this type calls of it: ("nn", "Linear")."""
    prefix, _, title = node_type.key.partition(".")
    return ("engine" if prefix == "ops" else prefix, title)


class Locals:
    """The local names of one method. The first to ask for a name gets it; later ones get an underscore more."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*TAKEN, *taken}

    def new(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def class_name(text: str | None) -> str:
    """The class that a project's name suggests: "digits_mlp" → "DigitsMlp"; "Network" where it suggests none."""
    plain = unicodedata.normalize("NFKC", text or "")
    words = re.findall(r"[^\W_]+", plain)
    name = "".join(word[:1].upper() + word[1:] for word in words)[:60]
    return name if not_an_identifier(name) is None and name not in TAKEN else "Network"
