"""Identifiers in generated code that do not shadow modules or other names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from studio.document.node_names import not_an_identifier
from studio.nodes.types import NodeType

ENGINE = "engine"
MODULES = frozenset(
    {
        *("checkpoint", ENGINE, "data", "fit", "functional", "linalg"),
        *("lr_scheduler", "metrics", "nn", "optim", "transforms"),
    }
)
"""Modules that every program may import."""

METHODS = "Tensor"
"""First part of the keys of functions that are methods of tensors."""

SUBPACKAGES = {
    "transforms": "engine.data",
    "lr_scheduler": "engine.optim",
    "functional": "engine.nn",
    "checkpoint": "engine.utils",
}
"""Import path of modules that are not direct submodules of the engine."""

RESERVED = MODULES | {"self", "super", "batch"}

UNDERSCORED = frozenset({"_", "__init__"})
"""The names in generated code that begin with an underscore."""


class UnsafeSyntaxError(ValueError):
    """Generated code contains syntax that is not allowed. `line` is its line number, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def identifier(text: str, line: int | None = None) -> str:
    """Return the text unchanged. Raises UnsafeSyntaxError if it is not allowed as an identifier."""
    problem = not_an_identifier(text)
    if problem is None and text.startswith("_") and text not in UNDERSCORED:
        problem = "begins with an underscore"
    if problem is not None:
        raise UnsafeSyntaxError(f"the name {text[:MAX_SHOWN_CHARACTERS]!r}, which {problem}", line)
    return text


MAX_SHOWN_CHARACTERS = 100
"""Maximum length of a rejected name in a message."""


def path_of(node_type: NodeType) -> tuple[str, str]:
    """Module and function or class of a node type in generated code: ("nn", "Linear")."""
    prefix, _, title = node_type.key.partition(".")
    return (ENGINE if prefix == "ops" else prefix, title)


class Locals:
    """The local names of one method. A name that is already taken gets an underscore appended."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = {*RESERVED, *used}

    def new(self, name: str) -> str:
        while name in self._used:
            name += "_"
        self._used.add(name)
        return name


def class_name(text: str | None) -> str:
    """The class name for a project name: "digits_mlp" → "DigitsMlp"; "Network" if no valid name results."""
    normalized = unicodedata.normalize("NFKC", text or "")
    words = re.findall(r"[^\W_]+", normalized)
    name = "".join(word[:1].upper() + word[1:] for word in words)[:60]
    return name if not_an_identifier(name) is None and name not in RESERVED else "Network"
