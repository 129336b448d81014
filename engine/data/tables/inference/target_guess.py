"""Guess which column of a table is the target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.data.tables.column_roles import Task
from engine.data.tables.inference.column_guess import ColumnGuess
from engine.data.tables.inference.column_statistics import ColumnStatistics

_MAX_CLASSES = 20
_ROWS_PER_CLASS = 3
"""Minimum rows per class for integers to be classes."""

_SURE = re.compile(
    r"^(target|label|labels|class|class[_ ]?label|y|outcome|response|output|ground[_ ]?truth|survived|churn)$",
    re.IGNORECASE,
)
_LIKELY = re.compile(
    r"^(survived|survival|species|variety|quality|price|sale[_ ]?price|selling[_ ]?price|median[_ ]?house[_ ]?value|"
    r"medv|diagnosis|churn(ed)?|exited|attrition|default(ed)?|default[_. ]payment.*|income|salary|charges|mpg|rings|"
    r"fraud|is[_ ]?fraud|spam|is[_ ]?spam|sentiment|deposit|subscribed|approved|loan[_ ]?status|risk|credit[_ ]?risk|"
    r"fare[_ ]?amount|sales|revenue|demand|count|cnt|rent|score|grade|g3|strength|yield|winner|result|stroke|"
    r"heart[_ ]?disease|disease|condition|num|malignant|poisonous|cultivar|type|category|kind|activity|digit|"
    r"revenue|value|consumption|power|pe|area[_ ]?burned|readmitted|cancel(l)?ed|is[_ ]canceled|converted|clicked|"
    r"purchased|bought|cost|amount|total|rating|stars|preis|preis[_ ]eur|prix|klasse|ziel|zielwert)$",
    re.IGNORECASE,
)
_SUFFIX = re.compile(
    r"[_ .-](target|label|class|y|price|outcome|value|status|flag|rating|score|cost|sales)$", re.IGNORECASE
)
_PREFIX = re.compile(r"^(is|has|will|target|label|churn|default)[_ .-]", re.IGNORECASE)
_SEVERAL = re.compile(r"^(label|target|tag|class|y|topic|genre)[_ .-]?\w+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TargetGuess:
    """The columns to learn."""

    columns: tuple[int, ...]
    """Indices; several for numbers that are learned together."""
    task: Task


def guess_target(
    names: Sequence[str], guesses: Sequence[ColumnGuess], found: Sequence[ColumnStatistics]
) -> TargetGuess | None:
    """The most likely target; None if no column can be learned."""
    several = tuple(
        index for index, name in enumerate(names) if _SEVERAL.match(name) and is_binary(guesses[index], found[index])
    )
    if len(several) > 1 and several == tuple(range(several[0], several[-1] + 1)):
        return TargetGuess(several, "number")
    last = max((index for index, guess in enumerate(guesses) if guess.role != "ignore"), default=-1)
    scores = [
        _score(name, guess, each) + 4 * (index == last) + (index == 0)
        for index, (name, guess, each) in enumerate(zip(_without_coordinates(names), guesses, found, strict=True))
    ]
    best = max(range(len(names)), key=lambda index: scores[index], default=None)
    if best is None or scores[best] <= 0:
        return None
    return TargetGuess((best,), guess_task(guesses[best], found[best]))


def _without_coordinates(names: Sequence[str]) -> list[str]:
    """The names, with an empty one for a y beside x and z, which is a coordinate."""
    is_space = {"x", "y", "z"} <= {name.strip().lower() for name in names}
    return ["" if is_space and name.strip().lower() == "y" else name for name in names]


def _score(name: str, guess: ColumnGuess, found: ColumnStatistics) -> float:
    name = name.strip()
    if not found.present or guess.type in ("date", "text") or _is_useless(guess, found):
        return -10.0
    score = 0.5 if guess.role == "ignore" else 1.0
    score += 10 * bool(_SURE.match(name)) + 6 * bool(_LIKELY.match(name))
    score += 3 * bool(_SUFFIX.search(name)) + 3 * bool(_PREFIX.search(name))
    score += 1 * (guess_task(guess, found) == "classes" and found.distinct <= 10)
    return score - 2 * found.missing / found.rows


def _is_useless(guess: ColumnGuess, found: ColumnStatistics) -> bool:
    """Whether a column has one value only, or identifies rows."""
    return (found.is_counted and found.distinct < 2) or (guess.role == "ignore" and guess.type == "number")


def is_binary(guess: ColumnGuess, found: ColumnStatistics) -> bool:
    return guess.type == "number" and found.is_counted and set(found.counts) <= {"0", "1"}


def guess_task(guess: ColumnGuess, found: ColumnStatistics) -> Task:
    """Whether a column is learned as classes or as a number."""
    if guess.type == "category":
        return "classes"
    few = found.is_counted and found.distinct <= min(_MAX_CLASSES, found.present / _ROWS_PER_CLASS)
    is_integer = found.integers == found.numbers and not guess.formatted
    return "classes" if few and is_integer and not guess.strange else "number"
