"""Rules that rename the tensors of a weights file: regular expressions and replacements, applied one after another.

Rules are in project files, which may come from anyone. A pattern can therefore not repeat a group and has few
repetitions, so that matching a name takes no exponential time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from studio.document.model import MAX_RULES, ImportedWeights, RenameRule

_MAX_REPETITIONS = 4
_MAX_NAME = 500
"""Longest name that rules apply to, in characters."""
_CLASS_OR_ESCAPE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPETITION = re.compile(r"[*+]|\{\d*,?\d*\}")
_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{\d*,?\d*\})")


def pattern_problem(pattern: str) -> str:
    """Why a regular expression cannot be used, as the rest of a sentence; empty if it can."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is not a regular expression ({error})"
    plain = _CLASS_OR_ESCAPE.sub("x", pattern)
    if _REPEATED_GROUP.search(plain):
        return "repeats a group, which can take very long"
    if len(_REPETITION.findall(plain)) > _MAX_REPETITIONS:
        return f"has more than {_MAX_REPETITIONS} repetitions, which can take very long"
    return ""


def rule_problem(rule: RenameRule) -> str:
    """Why a rule cannot be used, as the rest of a sentence; empty if it can."""
    if problem := pattern_problem(rule.pattern):
        return f"pattern {rule.pattern!r} {problem}"
    try:
        re.compile(rule.pattern).sub(rule.replacement, "")
    except (re.error, IndexError) as error:
        return f"replacement {rule.replacement!r} does not fit its pattern ({error})"
    return ""


def renamed(name: str, rules: Iterable[RenameRule]) -> str:
    """The name of a tensor after all rules."""
    for rule in rules:
        if len(name) > _MAX_NAME:
            break
        name = re.sub(rule.pattern, rule.replacement, name)
    return name


def with_renamed_node(weights: ImportedWeights, old: str, new: str) -> ImportedWeights:
    """Rules that give the tensors of a node its new name. Renaming it back removes the rule."""
    rule = _node_rule(old, new)
    if weights.rename and weights.rename[-1] == _node_rule(new, old):
        return replace(weights, rename=weights.rename[:-1])
    return weights if len(weights.rename) >= MAX_RULES else replace(weights, rename=(*weights.rename, rule))


def _node_rule(old: str, new: str) -> RenameRule:
    return RenameRule(rf"^{re.escape(old)}\.", f"{new}.")


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns is found in a name."""
    return len(name) <= _MAX_NAME and any(re.search(pattern, name) for pattern in patterns)


__all__ = ["matches", "pattern_problem", "renamed", "rule_problem", "with_renamed_node"]
