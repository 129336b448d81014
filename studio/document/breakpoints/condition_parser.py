"""Reads conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import TypeGuard, TypeVar

from studio.document.breakpoints.condition import (
    FIGURES,
    MEDIAN,
    NUMERIC,
    QUANTITIES,
    STATISTICS,
    Arithmetic,
    Call,
    Comparison,
    Condition,
    Expression,
    Logic,
    NanOrigin,
    Number,
    Part,
    Quantity,
    RecentMedian,
    Statistic,
    Test,
    ValueTest,
)
from studio.document.breakpoints.condition_tokens import ConditionError, Token, tokens_of

MAX_LENGTH = 500
"""Characters of a condition."""
MAX_MEDIAN = 1000
"""Steps of a median."""
_MAX_DEPTH = 50
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_TESTS: dict[str, Test] = {"nan": "NaN", "infinite": "infinite", "finite": "finite"}
_WORDS = ("and", "or", "not", "is", "in", "anywhere", "NaN")
T = TypeVar("T")


def parse_condition(text: str) -> Condition:
    """Read a condition. Raises ConditionError with the position of the mistake."""
    if len(text) > MAX_LENGTH:
        raise ConditionError(f"a condition has at most {MAX_LENGTH} characters", MAX_LENGTH)
    if not text.strip():
        raise ConditionError("a condition is needed, such as loss is NaN", 0)
    return _Parser(tokens_of(text)).condition()


def renamed_condition(text: str, rename: Callable[[str], str]) -> str:
    """A condition with other paths of nodes, as after a rename. One that cannot be read stays as it is."""
    try:
        tokens = tokens_of(text)
        parse_condition(text)
    except ConditionError:
        return text
    for token, after in reversed(list(pairwise(tokens))):
        is_path = token.kind == "path" and token.text not in _WORDS and after.text != "("
        if is_path and token.text not in QUANTITIES:
            text = text[: token.position] + rename(token.text) + text[token.position + len(token.text) :]
    return text


@dataclass(slots=True)
class _Parser:
    tokens: list[Token]
    index: int = 0
    depth: int = 0

    def condition(self) -> Condition:
        found = self._needs_condition(self._or(), 0)
        if self._token.kind != "end":
            raise self._error(f"{self._token.text!r} is not expected here")
        return found

    # -- tokens

    @property
    def _token(self) -> Token:
        return self.tokens[self.index]

    def _take(self, *texts: str) -> Token | None:
        """The next token if it is one of these."""
        token = self._token
        if token.kind in ("path", "sign") and token.text in texts:
            self.index += 1
            return token
        return None

    def _need(self, text: str) -> None:
        if self._take(text) is None:
            raise self._error(f"{text!r} is missing" if self._token.kind == "end" else f"expected {text!r}")

    def _error(self, problem: str, token: Token | None = None) -> ConditionError:
        return ConditionError(problem, (token or self._token).position)

    # -- grammar, from `or` to single values

    def _or(self) -> Part:
        return self._joined("or", lambda: self._joined("and", self._not))

    def _joined(self, word: str, inner: Callable[[], Part]) -> Part:
        start = self._token.position
        first = inner()
        if self._token.text != word:
            return first
        parts = [self._needs_condition(first, start)]
        while self._take(word):
            start = self._token.position
            parts.append(self._needs_condition(inner(), start))
        return Logic("and" if word == "and" else "or", tuple(parts))

    def _not(self) -> Part:
        if not self._take("not"):
            return self._comparison()
        start = self._token.position
        self._enter()
        found = Logic("not", (self._needs_condition(self._not(), start),))
        self.depth -= 1
        return found

    def _comparison(self) -> Part:
        token = self._token
        if (
            token.kind == "path"
            and token.text.lower() == "nan"
            and self.tokens[self.index + 1].text in ("anywhere", "in")
        ):
            return self._nan_origin()
        left = self._sum()
        sign = self._take(*_COMPARISONS)
        if sign is not None:
            start = self._token.position
            right = self._sum()
            return Comparison(sign.text, self._needs_number(left, token.position), self._needs_number(right, start))
        if self._take("is"):
            negated = self._take("not") is not None
            word = self._token
            if word.text.lower() not in _TESTS:
                raise self._error("expected NaN, infinite or finite after 'is'")
            self.index += 1
            return ValueTest(self._needs_number(left, token.position), _TESTS[word.text.lower()], negated)
        return left

    def _nan_origin(self) -> NanOrigin:
        self.index += 1
        if self._take("anywhere"):
            return NanOrigin(None)
        self._need("in")
        return NanOrigin(self._path("NaN in"))

    def _sum(self) -> Part:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/"), self._signed))

    def _chain(self, signs: tuple[str, ...], inner: Callable[[], Part]) -> Part:
        start = self._token.position
        left = inner()
        while (sign := self._take(*signs)) is not None:
            right_start = self._token.position
            right = inner()
            left = Arithmetic(sign.text, self._needs_number(left, start), self._needs_number(right, right_start))
        return left

    def _signed(self) -> Part:
        if not self._take("-"):
            return self._single()
        start = self._token.position
        self._enter()
        found = Arithmetic("-", Number(0.0), self._needs_number(self._signed(), start))
        self.depth -= 1
        return found

    def _single(self) -> Part:
        token = self._token
        if self._take("("):
            self._enter()
            found = self._or()
            self._need(")")
            self.depth -= 1
            return found
        if token.kind == "number":
            self.index += 1
            return Number(float(token.text))
        if token.kind != "path" or token.text in ("and", "or", "is"):
            raise self._error("a value is missing" if token.kind == "end" else f"{token.text!r} is not expected here")
        self.index += 1
        return self._call(token) if self._take("(") else self._value(token)

    def _value(self, token: Token) -> Expression:
        if token.text in QUANTITIES:
            return Quantity(token.text)
        path, _, figure = token.text.rpartition(".")
        function = FIGURES.get(figure, figure)
        if path and function in STATISTICS:
            return Statistic(function, path)
        known = {**QUANTITIES, **{f"{path}.{name}": name for name in STATISTICS}} if path else QUANTITIES
        hint = _closest(token.text, known)
        if not path:
            raise self._error(
                f"{token.text!r} is no quantity of a step.{hint} Statistics have a function: norm({token.text})", token
            )
        raise self._error(f"{figure!r} is no figure of {path}.{hint}", token)

    def _call(self, token: Token) -> Expression:
        name = token.text
        if name in STATISTICS:
            found: Expression = Statistic(name, self._path(f"{name}()"))
        elif name == MEDIAN:
            found = self._median()
        elif name in NUMERIC:
            found = Call(name, self._arguments(name, NUMERIC[name]))
        else:
            raise self._error(
                f"there is no function {name!r}.{_closest(name, {**STATISTICS, **NUMERIC, MEDIAN: 0})}", token
            )
        self._need(")")
        return found

    def _median(self) -> RecentMedian:
        if not self._take("loss"):
            raise self._error("median() is of the loss: median(loss, 20)")
        self._need(",")
        token = self._token
        count = float(token.text) if token.kind == "number" else 0.0
        if count != int(count) or not 1 <= count <= MAX_MEDIAN:
            raise self._error(f"median() needs a number of steps from 1 to {MAX_MEDIAN}")
        self.index += 1
        return RecentMedian(int(count))

    def _arguments(self, name: str, count: int) -> tuple[Expression, ...]:
        self._enter()
        found: list[Expression] = []
        while True:
            start = self._token.position
            found.append(self._needs_number(self._sum(), start))
            if not self._take(","):
                break
        if len(found) != count:
            raise self._error(f"{name}() needs {count} values, not {len(found)}")
        self.depth -= 1
        return tuple(found)

    def _path(self, after: str) -> str:
        token = self._token
        if token.kind != "path" or token.text in _WORDS:
            raise self._error(f"{after} needs a node, an output or a parameter, such as fc1 or fc1.weight")
        self.index += 1
        return token.text

    # -- types

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self._error("the condition is nested too deeply")

    def _needs_condition(self, part: Part, position: int) -> Condition:
        if not _is_condition(part):
            raise ConditionError("expected a condition, such as loss > 2, but this is a number", position)
        return part

    def _needs_number(self, part: Part, position: int) -> Expression:
        if _is_condition(part):
            raise ConditionError("expected a number, but this is a condition", position)
        return part  # pyright: ignore[reportReturnType]


def _is_condition(part: Part) -> TypeGuard[Condition]:
    return isinstance(part, Comparison | ValueTest | NanOrigin | Logic)


def _closest(word: str, known: Mapping[str, object]) -> str:
    close = get_close_matches(word, known, n=1)
    return f" Did you mean {close[0]}?" if close else ""


__all__ = ["MAX_LENGTH", "parse_condition", "renamed_condition"]
