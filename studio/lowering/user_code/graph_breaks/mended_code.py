"""Searches for a source with fewer graph breaks and the same results."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import engine
from engine.compiler import CompiledFunction
from engine.compiler.break_reasons import REASONS
from engine.random import Generator, drawing_from
from engine.shape import Spec
from studio.lowering.user_code.code_evaluation import CodeTooSlow, time_limited
from studio.lowering.user_code.graph_breaks import choice_rules, loop_rules, reading_rules
from studio.lowering.user_code.graph_breaks.break_location import FORCED, Rewrite, Rule, locations_at
from studio.lowering.user_code.graph_breaks.code_trial import SEED, TRIAL_SECONDS, Batch, CodeTrial
from studio.lowering.user_code.graph_breaks.rewrite_verification import Agreement, compare, compare_branches
from studio.lowering.user_code.graph_breaks.trial_batches import trial_batches
from studio.lowering.user_code.repeatable_code import state_change
from studio.lowering.user_code.source_edits import edited
from studio.nodes.python_source import CodeError

MAX_STEPS = 24
"""Rewrites in one source at most."""
_READING: tuple[Rule, ...] = (
    loop_rules.element_loops,
    reading_rules.lists,
    reading_rules.arrays,
    reading_rules.numbers,
)
_RULES: Mapping[str, tuple[Rule, ...]] = {
    "bool": (
        loop_rules.element_loops,
        choice_rules.branches,
        choice_rules.expressions,
        choice_rules.conversions,
        choice_rules.assertions,
    ),
    "number": _READING,
    "list": _READING,
    "iteration": _READING,
    "array": _READING,
    "print": (reading_rules.prints,),
    "shape": (reading_rules.selections,),
    "opaque": (reading_rules.copies,),
    "explicit": (reading_rules.explicit_breaks,),
}


_BRANCHES = ("if ", "elif ", "while ")


@dataclass(frozen=True, slots=True)
class CodeBreak:
    """A graph break in a source."""

    reason: str
    """Id of the reason."""
    line: int
    """Line of the source, from 1."""
    code: str
    """Text of the line."""


@dataclass(frozen=True, slots=True)
class MendedCode:
    """A source with fewer graph breaks and the same results."""

    source: str
    titles: tuple[str, ...]
    """What was done: "Use engine.where"."""
    agreement: Agreement
    before: int
    """Lines with graph breaks before, on all batches."""
    after: int
    notes: tuple[str, ...] = ()
    """What the code does no longer do, as sentences."""
    left: str = ""
    """Why breaks are left, as a sentence; empty if there are none."""


@dataclass(frozen=True, slots=True)
class Unmended:
    """Why no rewrite is offered, as a sentence."""

    reason: str


def mend(
    source: str,
    arguments: Mapping[str, Any],
    inputs: Mapping[str, Spec],
    real: Sequence[Mapping[str, Any]] = (),
    advance: Callable[[], None] = lambda: None,
) -> MendedCode | Unmended:
    """Rewrite the lines of a trusted source that break the graph, one after another, as long as results are equal.

    Args:
        arguments: arguments of the node
        inputs: its input tensors
        real: arrays by input, from the data of the project
        advance: called between trials; it cancels by raising an exception
    """
    search = _Search(source, arguments, trial_batches(inputs, real), advance)
    return search.run()


class _Search:
    def __init__(
        self, source: str, arguments: Mapping[str, Any], batches: Sequence[Batch], advance: Callable[[], None]
    ) -> None:
        self._source, self._arguments, self._advance = source, arguments, advance
        self._batches = [each for each in batches if each.has_gradients or self._ends(each)]
        self._refused: dict[tuple[str, str], str] = {}
        self._titles: list[str] = []
        self._notes: list[str] = []
        self._agreement = Agreement()
        self._prints = True

    def run(self) -> MendedCode | Unmended:
        if (
            changed := state_change(re.sub(r"\bprint\(", "repr_(", self._source))
        ) is not None and "repr_" not in changed:
            effect = changed
        else:
            effect = ""
        first = self.breaks(self._source)
        if not first:
            return Unmended("This code has no graph break.")
        current, breaks = self._source, first
        for _ in range(MAX_STEPS):
            waiting = [each for each in breaks if (each.reason, each.code) not in self._refused]
            if not waiting:
                break
            changed = self._mend_one(current, waiting[0], effect)
            if changed is not None:
                current = changed
                breaks = self.breaks(current)
        reasons = [self._refused.get((each.reason, each.code), "") for each in breaks]
        left = next(filter(None, reasons), "")
        if current == self._source or len(breaks) >= len(first):
            is_branch = bool(breaks) and breaks[0].code.startswith(_BRANCHES)
            return Unmended(left if left and (current == self._source or is_branch) else _needs_values(first[0]))
        titles = tuple(dict.fromkeys(self._titles))
        return MendedCode(
            current, titles, self._agreement, len(first), len(breaks), tuple(dict.fromkeys(self._notes)), left
        )

    def breaks(self, source: str) -> list[CodeBreak]:
        """The lines with graph breaks on any of the batches, in the order of lines."""
        trial = self._trial(source)
        lines = source.splitlines()
        found: dict[tuple[str, int], CodeBreak] = {}
        for batch in self._batches:
            if not batch.has_gradients:
                continue  # a loop may never end for infinite values
            self._advance()
            for reason, line in _breaks_of(trial, batch):
                text = lines[line - 1].strip() if line <= len(lines) else ""
                found.setdefault((reason, line), CodeBreak(reason, line, text))
        return sorted(found.values(), key=lambda each: each.line)

    def _ends(self, batch: Batch) -> bool:
        """Whether the original code ends in time."""
        return not isinstance(self._trial(self._source).run(batch).error, TimeoutError)

    def _mend_one(self, current: str, found: CodeBreak, effect: str) -> str | None:
        """The source without one break, or None, with the reason in `_refused`."""
        refusal = ""
        for rewrite in _rewrites(current, found):
            self._advance()
            if effect and rewrite.forced:
                refusal = refusal or f"{_first_upper(effect)}, so both branches cannot be computed."
                continue
            result = self._verified(current, rewrite)
            if isinstance(result, str):
                effect_text = (
                    "is not possible" if result.startswith("the rewritten code") else "would change the results"
                )
                refusal = refusal or f"{rewrite.title} {effect_text}: {result}."
                continue
            changed, agreement = result
            if (found.reason, found.code) in {(each.reason, each.code) for each in self.breaks(changed)}:
                refusal = refusal or f"{rewrite.title} does not remove the break."
                continue
            self._titles.append(rewrite.title)
            if rewrite.note:
                self._notes.append(rewrite.note)
            self._agreement = agreement
            return changed
        self._refused[found.reason, found.code] = refusal or _refusal(found)
        return None

    def _verified(self, current: str, rewrite: Rewrite) -> tuple[str, Agreement] | str:
        """The source after a rewrite, or how its results differ."""
        try:
            changed = edited(current, rewrite.edits)
            if rewrite.forced:
                before, after = edited(current, rewrite.forced), edited(current, rewrite.forced_after)
                conditions = sorted(set(re.findall(rf'{FORCED}\("(\d+:\d+)"', before)))
                found = compare_branches(self._trial(before), self._trial(after), conditions, self._batches)
                if isinstance(found, str):
                    return found
            is_silent = rewrite.title == "Remove print()"
            self._prints = self._prints and not is_silent
            agreement = compare(self._trial(self._source), self._trial(changed), self._batches, prints=self._prints)
        except (CodeError, SyntaxError) as error:
            return f"the rewritten code cannot be read ({error})"
        return agreement if isinstance(agreement, str) else (changed, agreement)

    def _trial(self, text: str) -> CodeTrial:
        return CodeTrial(self._source, text, self._arguments)


def _rewrites(source: str, found: CodeBreak) -> Iterable[Rewrite]:
    rules = _RULES.get(found.reason, ())
    for location in locations_at(source, found.line):
        for rule in rules:
            yield from rule(location)


def _breaks_of(trial: CodeTrial, batch: Batch) -> list[tuple[str, int]]:
    """Reasons and lines of the graph breaks of one call."""
    try:
        with np.errstate(all="ignore"), drawing_from(Generator(SEED)), time_limited(trial.filename, TRIAL_SECONDS):
            function = trial.load(partial(print, file=io.StringIO()))
            tensors = {name: engine.tensor(array) for name, array in batch.arrays.items()}
            inputs = {
                name: each.requires_grad_() if each.dtype.is_floating_point else each for name, each in tensors.items()
            }

            def called(**given: Any) -> Any:
                # In a network, inputs are results of ops: the values of arguments would be known without a break.
                return function(**{name: each.clone() for name, each in given.items()})

            trace = CompiledFunction(called, backend="eager").trace_call(**inputs)
    except (Exception, CodeTooSlow):  # noqa: BLE001 - this batch shows no breaks; the comparison reports errors
        return []
    ends = [(run.reason, run.where) for run in trace]
    return [
        (reason.id, where[1])
        for reason, where in ends
        if reason is not None and where is not None and where[0] == trial.filename
    ]


def _refusal(found: CodeBreak) -> str:
    """Why no rule has a rewrite, as a sentence."""
    line = f"Line {found.line} ({found.code})"
    if found.code.startswith("while "):
        return f"{line} repeats until a value changes, so the number of ops depends on the data."
    if found.code.startswith(_BRANCHES):
        return f"{line} decides about more than variables or one result, so both branches cannot be computed."
    return f"No rewrite is known for line {found.line} ({found.code}). {REASONS[found.reason].advice}"


def _needs_values(found: CodeBreak) -> str:
    where = f"line {found.line} ({found.code})"
    return f"Python uses the values of {where} for more than arithmetic, so no tensor can replace them."


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


__all__ = ["CodeBreak", "MendedCode", "Unmended", "mend"]
