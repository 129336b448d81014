"""Names of nodes: validation, and unique names."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable

MAX_LENGTH = 100

_WORD_START = re.compile(r"(?<=[A-Za-z0-9])(?=[A-Z][a-z])")
_NOT_WORD = re.compile(r"\W+")
_NUMBER = re.compile(r"_[0-9]+$")


def problem(name: str) -> str | None:
    """Why `name` is not a valid node name, as the rest of a sentence that begins with it; None if it is valid.

    A name is an attribute of the generated class and a prefix in the weights file, which is why the rules are strict.
    """
    if not name:
        return "is empty"
    if len(name) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    if name == "self" or name.startswith("_"):
        return "is reserved: names that begin with an underscore, and self, belong to the generated class"
    return not_an_identifier(name)


def not_an_identifier(text: str) -> str | None:
    """Why `text` is not a valid Python name, as the rest of a sentence that begins with it; None if it is valid."""
    if not text.isidentifier():
        return "is not a Python identifier: use letters, digits and underscores, and begin with a letter"
    if keyword.iskeyword(text):
        return "is a Python keyword"
    if unicodedata.normalize("NFKC", text) != text:
        # Python itself normalizes identifiers, so two such names could become one attribute.
        return f"is written with compatibility characters: write {unicodedata.normalize('NFKC', text)!r}"
    return None


def to_identifier(text: str) -> str:
    """Derive a name from a title or type key: "nn.BatchNorm2d" → "batch_norm2d", "My layer" → "my_layer"."""
    text = unicodedata.normalize("NFKC", text.rpartition(".")[2] or text)
    name = _NOT_WORD.sub("_", _WORD_START.sub("_", text)).strip("_").lower()
    name = unicodedata.normalize("NFKC", name)[: MAX_LENGTH - 10].strip("_")
    if not name or name[0].isdigit():
        name = f"node_{name}".rstrip("_")
    if keyword.iskeyword(name) or name == "self":
        name = f"{name}_node"
    return name if problem(name) is None else "node"


def name_from_title(title: str) -> str:
    """Derive a name from a title that the user entered: the title if it is a valid name, else e.g. "my_first_layer".

    Empty for a title without a letter or digit.
    """
    title = title.strip()
    if problem(title) is None or not any(letter.isalnum() for letter in title):
        return title if problem(title) is None else ""
    return to_identifier(title.replace(".", " "))


def unique_name(name: str, used: Iterable[str]) -> str:
    """`name` if it is not in use, else the first unused of name_2, name_3, …"""
    return UniqueNames(used).reserve(name)


class UniqueNames:
    """Assigns unique names to many nodes in linear time."""

    def __init__(self, used: Iterable[str]) -> None:
        self._used = set(used)
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> str:
        """Reserve and return `name`, or the first unused of name_2, name_3, …"""
        stem = _NUMBER.sub("", name) or name
        number = self._next.get(stem, 2)
        found = name
        while found in self._used:
            found = f"{stem}_{number}"
            number += 1
        if found != name:
            self._next[stem] = number
        self._used.add(found)
        return found
