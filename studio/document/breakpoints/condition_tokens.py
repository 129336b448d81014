"""Words, numbers and signs of a condition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<path>[^\W\d]\w*(?:\.\w+)*)"
    r"|(?P<sign><=|>=|==|!=|[<>+\-*/(),]))"
)
Kind = Literal["number", "path", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    position: int
    """Of its first character, from 0."""


class ConditionError(ValueError):
    """A condition that cannot be read.

    Args:
        problem: what is wrong
        position: of the character where it is wrong, from 0
    """

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(f"{problem} (character {position + 1})")
        self.problem, self.position = problem, position


def tokens_of(text: str) -> list[Token]:
    """The tokens of a condition, with an end. Raises ConditionError for other characters."""
    found: list[Token] = []
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            raise ConditionError(f"{text[start]!r} is no part of a condition", start)
        kind = match.lastgroup
        assert kind is not None
        found.append(Token(kind, match[kind], match.start(kind)))  # pyright: ignore[reportArgumentType]
        position = match.end()
    return [*found, Token("end", "", len(text))]


__all__ = ["ConditionError", "Token", "tokens_of"]
