"""Suggest rules for a file whose names or matrices follow another convention than the network."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from engine.io import StoredTensor
from studio.document.model import MAX_RULES, ImportedWeights, RenameRule
from studio.training.weights.weight_table import Shape, WeightTable, weight_table

_MAX_PREFIX_PARTS = 4
_TEMPORARY = "@"
"""Start of names between two rules that swap modules. Names of nodes and parameters never contain it."""


def suggest_rules(
    network: Mapping[str, Shape], stored: Mapping[str, StoredTensor], rules: ImportedWeights
) -> ImportedWeights:
    """Add rules with which more tensors match; returns the given rules if there are none.

    A prefix that wrappers add ("module.", "_orig_mod.") is recognized by the names. Modules with other names are paired
    if as many modules of the file have the same parameters with the same shapes, in their order. Names of modules are
    transposed if one of their matrices only fits transposed.
    """
    best, matched = rules, _matched(network, stored, rules)
    for improve in (_with_prefix, _with_transposition, _with_pairs, _with_transposed_pairs, _with_transposition):
        changed = improve(network, stored, best)
        count = 0 if len(changed.rename) > MAX_RULES else _matched(network, stored, changed)
        if count > matched:
            best, matched = changed, count
    return best


def _matched(network: Mapping[str, Shape], stored: Mapping[str, StoredTensor], rules: ImportedWeights) -> int:
    return len(weight_table(network, stored, rules).names("matched"))


# -- prefixes


def _with_prefix(
    network: Mapping[str, Shape], stored: Mapping[str, StoredTensor], rules: ImportedWeights
) -> ImportedWeights:
    shapes = _unmatched(weight_table(network, stored, rules), stored)
    votes: Counter[RenameRule] = Counter()
    for name, shape in shapes.items():
        for prefix, rest in _splits(name):
            if network.get(rest) in (shape, shape[::-1]):
                votes[RenameRule(f"^{re.escape(prefix)}")] += 1
    for name, shape in network.items():
        for prefix, rest in _splits(name):
            if shapes.get(rest) in (shape, shape[::-1]):
                votes[RenameRule("^", prefix)] += 1
    return replace(rules, rename=(*rules.rename, votes.most_common(1)[0][0])) if votes else rules


def _splits(name: str) -> Iterable[tuple[str, str]]:
    """Beginnings of a name, with their dot, and the rests."""
    parts = name.split(".")
    for count in range(1, min(len(parts), _MAX_PREFIX_PARTS + 1)):
        yield ".".join(parts[:count]) + ".", ".".join(parts[count:])


def _unmatched(table: WeightTable, stored: Mapping[str, StoredTensor]) -> dict[str, Shape]:
    """Shapes of the tensors of the file without counterpart, by their names after the rules."""
    return {row.name: stored[row.source].shape for row in table.rows if row.status == "unexpected"}


# -- transposition


def _with_transposition(
    network: Mapping[str, Shape], stored: Mapping[str, StoredTensor], rules: ImportedWeights
) -> ImportedWeights:
    """Transpose the matrices of modules such as c_attn, also square ones of the same name, whose shape says nothing."""
    kinds: set[str] = set()
    fitting: set[str] = set()
    for row in weight_table(network, stored, rules).rows:
        if row.source_shape is None or row.shape is None or len(row.source_shape) != 2:
            continue
        if row.status == "misshapen" and row.source_shape[::-1] == row.shape:
            kinds.add(_kind(row.source))
        elif row.status == "matched" and row.shape[0] != row.shape[1]:
            fitting.add(_kind(row.source))
    patterns = tuple(rf"(^|\.){re.escape(kind)}$" for kind in sorted(kinds - fitting))
    return replace(rules, transpose=(*rules.transpose, *patterns))


def _kind(name: str) -> str:
    """The last two parts of a name without numbers: "c_attn.weight"."""
    return ".".join([part for part in name.split(".") if not part.isdigit()][-2:])


# -- modules


def _with_pairs(
    network: Mapping[str, Shape], stored: Mapping[str, StoredTensor], rules: ImportedWeights
) -> ImportedWeights:
    """Pair modules without counterpart by their parameters, shapes and order."""
    table = weight_table(network, stored, rules)
    ours = _modules({row.name: row.shape or () for row in table.rows if row.status == "missing"})
    given = _unmatched(table, stored)
    theirs = _modules({name: given[name] for name in _ordered(list(given))})
    pairs: dict[str, str] = {}
    for signature, modules in _by_signature(ours).items():
        others = _by_signature(theirs).get(signature, [])
        if len(others) == len(modules):
            pairs.update(zip(others, modules, strict=True))
    return replace(rules, rename=(*rules.rename, *_module_rules(pairs)))


def _with_transposed_pairs(
    network: Mapping[str, Shape], stored: Mapping[str, StoredTensor], rules: ImportedWeights
) -> ImportedWeights:
    return _with_transposition(network, stored, _with_pairs(network, stored, rules))


def _modules(shapes: Mapping[str, Shape]) -> dict[str, dict[str, Shape]]:
    """By module, the shapes of its tensors by the last part of their names. Matrices count in both orientations."""
    modules: dict[str, dict[str, Shape]] = {}
    for name, shape in shapes.items():
        module, _, leaf = name.rpartition(".")
        modules.setdefault(module, {})[leaf] = tuple(sorted(shape)) if len(shape) == 2 else shape
    return modules


def _by_signature(modules: Mapping[str, Mapping[str, Shape]]) -> dict[tuple[tuple[str, Shape], ...], list[str]]:
    found: dict[tuple[tuple[str, Shape], ...], list[str]] = defaultdict(list)
    for module, shapes in modules.items():
        found[tuple(sorted(shapes.items()))].append(module)
    return dict(found)


def _ordered(names: Sequence[str]) -> Sequence[str]:
    """Names in the order of the file; those of a file that sorts them as text, with numbers as numbers."""
    return sorted(names, key=_natural) if list(names) == sorted(names) else names


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d{1,9})", name)]


def _module_rules(pairs: Mapping[str, str]) -> list[RenameRule]:
    """Rules in an order in which none renames what another one has renamed."""
    rules: list[RenameRule] = []
    last: list[RenameRule] = []
    left = {old: new for old, new in pairs.items() if old != new}
    while left:
        old = next((old for old, new in left.items() if new not in left), None)
        if old is None:  # a cycle: one module gets a temporary name
            old = next(iter(left))
            rules.append(_module_rule(old, _TEMPORARY + left[old]))
            last.append(_module_rule(_TEMPORARY + left[old], left[old]))
        else:
            rules.append(_module_rule(old, left[old]))
        del left[old]
    return rules + last


def _module_rule(old: str, new: str) -> RenameRule:
    """Renames the tensors directly in a module, which itself has no name in a file of one module."""
    start = f"^{re.escape(old)}\\." if old else "^"
    return RenameRule(rf"{start}(?=[^.]+$)", f"{new}." if new else "")


__all__ = ["suggest_rules"]
