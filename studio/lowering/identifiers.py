"""Names in generated code: what a node is called where, without hiding a module or another name."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable

MODULES = frozenset({"checkpoint", "engine", "data", "fit", "lr_scheduler", "metrics", "nn", "optim", "transforms"})
"""What the head of every program may import."""

TAKEN = MODULES | {"self", "super", "batch"}


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
    usable = name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name
    return name if usable and name not in TAKEN else "Network"
