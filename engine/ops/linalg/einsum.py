"""Einstein's summation convention, composed of transposed views and matrix products."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from engine.errors import ShapeError
from engine.ops.composite import composite
from engine.shape import Dim, count, format_shape

Labels = tuple[str, ...]


@composite(method=False, sample=lambda s: [
    ("ij,jk->ik", s.normal(3, 4), s.normal(4, 2)), ("ii->i", s.normal(3, 3)), ("...ij->...ji", s.normal(2, 3, 4)),
    ("bij,bjk,k->bi", s.normal(2, 3, 4), s.normal(2, 4, 5), s.normal(5)), ("i,j", s.normal(3), s.normal(2)),
    ("ij->", s.normal(3, 4)), ("b...,b...->b", s.normal(2, 3, 4), s.normal(2, 3, 4)),
])  # fmt: skip
def einsum(*args: Any) -> Any:
    """Sums of products named by letters: `einsum("bij,bjk->bik", x, y)` multiplies batches of matrices.

    A letter that is absent from the result is summed over; one that stands twice in an operand means its diagonal;
    an ellipsis stands for leading dimensions that broadcast. Without an arrow the result has the letters that occur
    once, in alphabetical order. The sublist form is `einsum(x, [0, 1], y, [1, 2], [0, 2])`.
    Several operands are contracted in pairs, those first whose result is smallest.
    """
    terms, result, operands = _parsed(args)
    labeled = [_unfolded(term, x) for term, x in zip(terms, operands, strict=True)]
    widest = max((sum(label.startswith(".") for label in labels) for labels, _ in labeled), default=0)
    wanted = _result_labels(result, terms, widest)
    sizes = _sizes([(labels, x.shape) for labels, x in labeled])
    pending = [_diagonals(labels, x) for labels, x in labeled]
    while len(pending) > 1:
        i, j = _next_pair([labels for labels, _ in pending], wanted, sizes)
        second, first = pending.pop(j), pending.pop(i)
        keyword_overloads = {label for labels, _ in pending for label in labels} | set(wanted)
        pending.append(_contracted(first, second, keyword_overloads, sizes))
    labels, x = pending[0]
    labels, x = _summed(labels, x, set(wanted))
    for label in wanted:
        if label not in labels:
            raise ShapeError(f"einsum: the result has {label!r}, which no operand has")
    return x.permute(tuple(labels.index(label) for label in wanted)) if wanted != labels else x


# -- what is written --------------------------------------------------------------------------


def _parsed(args: tuple[Any, ...]) -> tuple[list[str], str | None, list[Any]]:
    """Terms, result, operands; spaces removed."""
    if not args:
        raise ValueError('einsum: give an equation and its operands, as einsum("ij,jk->ik", x, y)')
    if not isinstance(args[0], str):
        return _sublists(args)
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum: {equation!r} has {len(terms)} operands, but {len(operands)} were given")
    for term in (*terms, right):
        letters = term.replace("...", "", 1)
        wrong = [letter for letter in letters if letter not in string.ascii_letters]
        if wrong:
            raise ValueError(f"einsum: {wrong[0]!r} in {equation!r} is neither a letter nor part of one ellipsis")
    if arrow and len(set(right.replace("...", ""))) != len(right.replace("...", "")):
        raise ValueError(f"einsum: a letter stands twice in the result {right!r}. It can stand there once.")
    return terms, right if arrow else None, operands


def _sublists(args: tuple[Any, ...]) -> tuple[list[str], str | None, list[Any]]:
    """The form with lists of numbers below 52 behind each operand."""
    lists, result = args, None
    if len(args) % 2:
        lists, result = args[:-1], _letters(args[-1])
    return [_letters(item) for item in lists[1::2]], result, list(lists[::2])


def _letters(sublist: Sequence[Any]) -> str:
    wrong = [item for item in sublist if item is not Ellipsis and not 0 <= item < 52]
    if wrong:
        raise ValueError(f"einsum: {wrong[0]} in a list of dimensions is not between 0 and 51")
    order = string.ascii_uppercase + string.ascii_lowercase
    return "".join("..." if item is Ellipsis else order[item] for item in sublist)


def _unfolded(term: str, x: Any) -> tuple[Labels, Any]:
    """One label for each dimension; those of an ellipsis are `.1`, `.2` … counted from its end."""
    before, dots, after = term.partition("...")
    spare = x.ndim - len(before) - len(after)
    if spare < 0 or (not dots and spare):
        raise ShapeError(
            f"einsum: {term!r} names {len(before) + len(after)} dimensions, but its operand is {format_shape(x.shape)}"
        )
    return (*before, *(f".{spare - i}" for i in range(spare)), *after), x


def _result_labels(result: str | None, terms: list[str], widest: int) -> Labels:
    dots = tuple(f".{widest - i}" for i in range(widest))
    if result is None:
        letters = "".join(terms).replace(".", "")
        return (*dots, *sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    before, found, after = result.partition("...")
    return (*before, *(dots if found else ()), *after)


def _sizes(labeled: list[tuple[Labels, Any]]) -> dict[str, Any]:
    """The size of each label; 1 goes with any."""
    sizes: dict[str, Any] = {}
    for labels, shape in labeled:
        for label, size in zip(labels, shape, strict=True):
            known = sizes.get(label, 1)
            if known != 1 and size not in (1, known):
                what = "the ellipsis" if label.startswith(".") else repr(label)
                raise ShapeError(f"einsum: {what} is {known} in one operand and {size} in another")
            sizes[label] = size if known == 1 else known
    return sizes


# -- what is done -----------------------------------------------------------------------------


def _diagonals(labels: Labels, x: Any) -> tuple[Labels, Any]:
    """Each label once: repeated ones become the diagonal."""
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            order = [d for d in range(x.ndim) if d not in (first, second)]
            n = x.shape[first]
            if x.shape[second] != n:
                raise ShapeError(f"einsum: {label!r} stands for {n} and for {x.shape[second]} in one operand")
            x = x.diagonal(0, first, second)
            labels = (*(labels[d] for d in order), label)
    return labels, x


def _summed(labels: Labels, x: Any, keep: set[str]) -> tuple[Labels, Any]:
    dims = tuple(i for i, label in enumerate(labels) if label not in keep)
    return tuple(label for label in labels if label in keep), x.sum(dims) if dims else x


def _next_pair(terms: list[Labels], wanted: Labels, sizes: dict[str, Any]) -> tuple[int, int]:
    """The two operands whose contraction leaves the least."""
    if len(terms) == 2:
        return 0, 1

    def left(pair: tuple[int, int]) -> float:
        i, j = pair
        keyword_overloads = {label for k, labels in enumerate(terms) if k not in pair for label in labels} | set(wanted)
        after = {label for label in (*terms[i], *terms[j]) if label in keyword_overloads}
        grown = [_number(count(sizes[label] for label in labels)) for labels in (after, terms[i], terms[j])]
        return grown[0] - grown[1] - grown[2]

    return min(((i, j) for i in range(len(terms)) for j in range(i + 1, len(terms))), key=left)


def _number(size: Any) -> float:
    return float(size.at(1000)) if isinstance(size, Dim) else float(size)


def _contracted(
    first: tuple[Labels, Any], second: tuple[Labels, Any], keep: set[str], sizes: dict[str, Any]
) -> tuple[Labels, Any]:
    """Two operands multiplied, and summed over the labels that are not kept: one batched matrix product."""
    (a, x), (b, y) = first, second
    a, x = _summed(a, x, keep | set(b))
    b, y = _summed(b, y, keep | set(a))
    # A size of 1 against a larger one does not take part in the product as a shared dimension.
    both = [label for label in a if label in b]
    ragged = [label for label in both if x.shape[a.index(label)] != y.shape[b.index(label)]]
    if ragged:
        x, y = (_widened(labels, tensor, ragged, sizes) for labels, tensor in ((a, x), (b, y)))
    batch = [label for label in both if label in keep]
    inner = [label for label in both if label not in keep]
    rows = [label for label in a if label not in both]
    columns = [label for label in b if label not in both]
    if not inner:  # nothing is summed: the elementwise product is all there is
        shape_x = x.permute(tuple(a.index(label) for label in (*batch, *rows)))
        shape_y = y.permute(tuple(b.index(label) for label in (*batch, *columns)))
        for _ in columns:
            shape_x = shape_x.unsqueeze(-1)
        for _ in rows:
            shape_y = shape_y.unsqueeze(len(batch))
        return (*batch, *rows, *columns), shape_x * shape_y
    size = {label: sizes[label] for label in (*batch, *inner)}
    size |= {label: x.shape[a.index(label)] for label in rows}
    size |= {label: y.shape[b.index(label)] for label in columns}
    lengths = {name: [size[label] for label in labels] for name, labels in
               (("batch", batch), ("rows", rows), ("inner", inner), ("columns", columns))}  # fmt: skip
    left = x.permute(tuple(a.index(label) for label in (*batch, *rows, *inner)))
    left = left.reshape(*lengths["batch"], count(lengths["rows"]), count(lengths["inner"]))
    right = y.permute(tuple(b.index(label) for label in (*batch, *inner, *columns)))
    right = right.reshape(*lengths["batch"], count(lengths["inner"]), count(lengths["columns"]))
    product = (left @ right).reshape((*lengths["batch"], *lengths["rows"], *lengths["columns"]))
    return (*batch, *rows, *columns), product


def _widened(labels: Labels, x: Any, ragged: list[str], sizes: dict[str, Any]) -> Any:
    return x.expand(*(sizes[label] if label in ragged else size for label, size in zip(labels, x.shape, strict=True)))
