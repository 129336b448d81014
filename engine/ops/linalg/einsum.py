"""Einstein summation by transposed views and matrix products."""

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
    """Einstein summation: `einsum("bij,bjk->bik", x, y)` multiplies batches of matrices.

    Letters that are not in the result are summed over. A letter that occurs twice in an operand selects its diagonal.
    An ellipsis means leading dimensions that broadcast. Without an arrow the result has the letters that occur once,
    in alphabetical order. The sublist form is `einsum(x, [0, 1], y, [1, 2], [0, 2])`.
    Several operands are contracted in pairs, the pair with the smallest result first.
    """
    terms, result, operands = _parse(args)
    labeled = [_label_dimensions(term, x) for term, x in zip(terms, operands, strict=True)]
    max_ellipsis = max((sum(label.startswith(".") for label in labels) for labels, _ in labeled), default=0)
    output_labels = _output_labels(result, terms, max_ellipsis)
    sizes = _label_sizes([(labels, x.shape) for labels, x in labeled])
    pending = [_diagonals(labels, x) for labels, x in labeled]
    while len(pending) > 1:
        i, j = _next_pair([labels for labels, _ in pending], output_labels, sizes)
        second, first = pending.pop(j), pending.pop(i)
        keep = {label for labels, _ in pending for label in labels} | set(output_labels)
        pending.append(_contract(first, second, keep, sizes))
    labels, x = pending[0]
    labels, x = _sum_out(labels, x, set(output_labels))
    for label in output_labels:
        if label not in labels:
            raise ShapeError(f"einsum: the result has {label!r}, but no operand does")
    return x.permute(tuple(labels.index(label) for label in output_labels)) if output_labels != labels else x


# -- parsing ----------------------------------------------------------------------------------


def _parse(args: tuple[Any, ...]) -> tuple[list[str], str | None, list[Any]]:
    """Terms, result (None without an arrow) and operands, without spaces."""
    if not args:
        raise ValueError('einsum: pass an equation and its operands, as in einsum("ij,jk->ik", x, y)')
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
        invalid = [letter for letter in letters if letter not in string.ascii_letters]
        if invalid:
            raise ValueError(f"einsum: {invalid[0]!r} in {equation!r} is neither a letter nor part of one ellipsis")
    if arrow and len(set(right.replace("...", ""))) != len(right.replace("...", "")):
        raise ValueError(f"einsum: a letter occurs twice in the result {right!r}. Use each letter once there.")
    return terms, right if arrow else None, operands


def _sublists(args: tuple[Any, ...]) -> tuple[list[str], str | None, list[Any]]:
    """Parse the form with a list of dimension numbers, 0 to 51, after each operand."""
    lists, result = args, None
    if len(args) % 2:
        lists, result = args[:-1], _letters(args[-1])
    return [_letters(item) for item in lists[1::2]], result, list(lists[::2])


def _letters(sublist: Sequence[Any]) -> str:
    invalid = [item for item in sublist if item is not Ellipsis and not 0 <= item < 52]
    if invalid:
        raise ValueError(f"einsum: {invalid[0]} in a list of dimensions is not between 0 and 51")
    order = string.ascii_uppercase + string.ascii_lowercase
    return "".join("..." if item is Ellipsis else order[item] for item in sublist)


def _label_dimensions(term: str, x: Any) -> tuple[Labels, Any]:
    """One label for each dimension. Dimensions of an ellipsis are `.1`, `.2`, … counted from its end."""
    before, dots, after = term.partition("...")
    ellipsis_dims = x.ndim - len(before) - len(after)
    if ellipsis_dims < 0 or (not dots and ellipsis_dims):
        raise ShapeError(
            f"einsum: {term!r} has {len(before) + len(after)} letters, but its operand has {x.ndim} dimensions "
            f"({format_shape(x.shape)})"
        )
    return (*before, *(f".{ellipsis_dims - i}" for i in range(ellipsis_dims)), *after), x


def _output_labels(result: str | None, terms: list[str], max_ellipsis: int) -> Labels:
    dots = tuple(f".{max_ellipsis - i}" for i in range(max_ellipsis))
    if result is None:
        letters = "".join(terms).replace(".", "")
        return (*dots, *sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    before, ellipsis, after = result.partition("...")
    return (*before, *(dots if ellipsis else ()), *after)


def _label_sizes(labeled: list[tuple[Labels, Any]]) -> dict[str, Any]:
    """The size of each label. Size 1 broadcasts."""
    sizes: dict[str, Any] = {}
    for labels, shape in labeled:
        for label, size in zip(labels, shape, strict=True):
            previous = sizes.get(label, 1)
            if previous != 1 and size not in (1, previous):
                what = "the ellipsis" if label.startswith(".") else repr(label)
                raise ShapeError(f"einsum: {what} has size {previous} in one operand and {size} in another")
            sizes[label] = size if previous == 1 else previous
    return sizes


# -- contraction ------------------------------------------------------------------------------


def _diagonals(labels: Labels, x: Any) -> tuple[Labels, Any]:
    """Replace repeated labels by one label for the diagonal."""
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            order = [d for d in range(x.ndim) if d not in (first, second)]
            n = x.shape[first]
            if x.shape[second] != n:
                raise ShapeError(f"einsum: {label!r} has sizes {n} and {x.shape[second]} in one operand")
            x = x.diagonal(0, first, second)
            labels = (*(labels[d] for d in order), label)
    return labels, x


def _sum_out(labels: Labels, x: Any, keep: set[str]) -> tuple[Labels, Any]:
    """Sum over the labels that are not in `keep`."""
    dims = tuple(i for i, label in enumerate(labels) if label not in keep)
    return tuple(label for label in labels if label in keep), x.sum(dims) if dims else x


def _next_pair(terms: list[Labels], output_labels: Labels, sizes: dict[str, Any]) -> tuple[int, int]:
    """The pair of operands whose contraction reduces the number of elements most."""
    if len(terms) == 2:
        return 0, 1

    def growth(pair: tuple[int, int]) -> float:
        i, j = pair
        keep = {label for k, labels in enumerate(terms) if k not in pair for label in labels} | set(output_labels)
        after = {label for label in (*terms[i], *terms[j]) if label in keep}
        counts = [_estimated_size(count(sizes[label] for label in labels)) for labels in (after, terms[i], terms[j])]
        return counts[0] - counts[1] - counts[2]

    return min(((i, j) for i in range(len(terms)) for j in range(i + 1, len(terms))), key=growth)


def _estimated_size(size: Any) -> float:
    return float(size.at(1000)) if isinstance(size, Dim) else float(size)


def _contract(
    first: tuple[Labels, Any], second: tuple[Labels, Any], keep: set[str], sizes: dict[str, Any]
) -> tuple[Labels, Any]:
    """Multiply two operands and sum over the labels that are not in `keep`, by one batched matrix product."""
    (a, x), (b, y) = first, second
    a, x = _sum_out(a, x, keep | set(b))
    b, y = _sum_out(b, y, keep | set(a))
    # Broadcast dimensions must have equal sizes in the matrix product.
    shared = [label for label in a if label in b]
    broadcast_labels = [label for label in shared if x.shape[a.index(label)] != y.shape[b.index(label)]]
    if broadcast_labels:
        x, y = (_expand(labels, tensor, broadcast_labels, sizes) for labels, tensor in ((a, x), (b, y)))
    batch = [label for label in shared if label in keep]
    inner = [label for label in shared if label not in keep]
    rows = [label for label in a if label not in shared]
    columns = [label for label in b if label not in shared]
    if not inner:  # without a sum an elementwise product is enough
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


def _expand(labels: Labels, x: Any, broadcast_labels: list[str], sizes: dict[str, Any]) -> Any:
    return x.expand(
        *(sizes[label] if label in broadcast_labels else size for label, size in zip(labels, x.shape, strict=True))
    )
