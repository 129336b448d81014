"""Shapes with symbolic dimensions, and the shape and dtype of a tensor before it is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.dtypes import DType

_MAX_TERMS = 10_000
"""Terms of a symbolic size, and products of terms of one multiplication."""


class Dim:
    """A symbolic size: a polynomial with integer coefficients, such as ``N`` or ``4*N + 1``.

    A symbol is an unknown number above 1: `N == 1` is False, `N == N` is True. A quotient that is not exact becomes a
    new symbol, ``⌊N/2⌋``. Sums and products of more than 10,000 terms raise OverflowError.
    """

    __slots__ = ("_terms",)

    def __init__(self, name: str | None = None, *, terms: Mapping[tuple[str, ...], int] | None = None) -> None:
        self._terms: dict[tuple[str, ...], int] = dict(terms) if terms is not None else {(name or "N",): 1}

    # -- arithmetic: results that are plain numbers become int again

    def __add__(self, other: SymInt) -> SymInt:
        added = _terms(other)
        _check_terms(len(self._terms) + len(added))
        terms = dict(self._terms)
        for key, value in added.items():
            terms[key] = terms.get(key, 0) + value
        return _simplest(terms)

    __radd__ = __add__

    def __neg__(self) -> SymInt:
        return _simplest({key: -value for key, value in self._terms.items()})

    def __sub__(self, other: SymInt) -> SymInt:
        return self + -other

    def __rsub__(self, other: int) -> SymInt:
        return -self + other

    def __mul__(self, other: SymInt) -> SymInt:
        product: dict[tuple[str, ...], int] = {}
        factors = _terms(other)
        _check_terms(len(self._terms) * len(factors))
        for left, a in self._terms.items():
            for right, b in factors.items():
                key = tuple(sorted(left + right))
                product[key] = product.get(key, 0) + a * b
        return _simplest(product)

    __rmul__ = __mul__

    def __floordiv__(self, other: SymInt) -> SymInt:
        quotient = _exact_quotient(self._terms, _terms(other))
        return _Quotient.of(self, other) if quotient is None else _simplest(quotient)

    def __rfloordiv__(self, other: int) -> SymInt:
        return 0 if other == 0 else _Quotient.of(other, self)

    def __mod__(self, other: SymInt) -> SymInt:
        return self - (self // other) * other

    def __rmod__(self, other: int) -> SymInt:
        return other - (other // self) * self

    # -- order: as for one large number in place of every symbol

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._terms == other._terms

    def __hash__(self) -> int:
        return hash(frozenset(self._terms.items()))

    def __lt__(self, other: SymInt) -> bool:
        return _sign(self - other) < 0

    def __le__(self, other: SymInt) -> bool:
        return _sign(self - other) <= 0

    def __gt__(self, other: SymInt) -> bool:
        return _sign(self - other) > 0

    def __ge__(self, other: SymInt) -> bool:
        return _sign(self - other) >= 0

    def terms(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """Return the terms of the polynomial: symbols, and their factor."""
        return iter(self._terms.items())

    @staticmethod
    def quotient(symbol: str) -> tuple[SymInt, SymInt] | None:
        """Return numerator and denominator of a symbol that stands for a rounded quotient, else None."""
        return (symbol.numerator, symbol.denominator) if isinstance(symbol, _Quotient) else None

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Return the size with its symbols set to `sizes`. Raises KeyError for a symbol without a size."""
        return sum(
            count
            * math.prod(
                symbol.evaluate(sizes) if isinstance(symbol, _Quotient) else sizes[symbol] for symbol in symbols
            )
            for symbols, count in self._terms.items()
        )

    def at(self, value: int) -> int:
        """Return the size with every symbol set to `value`."""
        return sum(
            count * math.prod(symbol.at(value) if isinstance(symbol, _Quotient) else value for symbol in symbols)
            for symbols, count in self._terms.items()
        )

    def __repr__(self) -> str:
        def term(symbols: tuple[str, ...], count: int) -> str:
            if not symbols:
                return str(count)
            sign = "-" if count < 0 else ""
            return sign + "·".join(([str(abs(count))] if abs(count) != 1 else []) + list(symbols))

        ordered = sorted(self._terms.items(), key=lambda item: (-len(item[0]), item[0]))
        return " + ".join(term(symbols, count) for symbols, count in ordered).replace("+ -", "- ")


class _Quotient(str):
    """The symbol of a quotient that is not a polynomial. Stores numerator and denominator."""

    __slots__ = ("denominator", "numerator")

    @classmethod
    def of(cls, numerator: SymInt, denominator: SymInt) -> Dim:
        names = [f"({part})" if " " in str(part) else str(part) for part in (numerator, denominator)]
        symbol = cls(f"⌊{names[0]}/{names[1]}⌋")
        symbol.numerator, symbol.denominator = numerator, denominator
        return Dim(terms={(symbol,): 1})

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        above, below = (
            part.evaluate(sizes) if isinstance(part, Dim) else part for part in (self.numerator, self.denominator)
        )
        return above // below

    def at(self, value: int) -> int:
        above, below = (
            part.at(value) if isinstance(part, Dim) else part for part in (self.numerator, self.denominator)
        )
        return above // below


SymInt: TypeAlias = int | Dim
Shape: TypeAlias = tuple[SymInt, ...]


@dataclass(frozen=True, slots=True)
class Spec:
    """Shape and dtype of a tensor without data."""

    shape: Shape
    dtype: DType

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_open(self) -> bool:
        """Return whether a size is symbolic."""
        return any(isinstance(size, Dim) for size in self.shape)

    def with_shape(self, shape: Iterable[SymInt]) -> Spec:
        return Spec(tuple(shape), self.dtype)

    def __str__(self) -> str:
        return f"{format_shape(self.shape)} {self.dtype.name}"


def format_shape(shape: Iterable[Any]) -> str:
    """Format a shape as ``N×1×28×28``; a scalar is ``scalar``."""
    return "×".join(map(str, shape)) or "scalar"


def count(shape: Iterable[SymInt]) -> Any:
    """Return the number of elements; an int unless a dimension is symbolic."""
    total: Any = 1
    for size in shape:
        total = total * size
    return total


def _terms(value: SymInt) -> dict[tuple[str, ...], int]:
    return value._terms if isinstance(value, Dim) else {(): int(value)}


def _check_terms(number: int) -> None:
    if number > _MAX_TERMS:
        raise OverflowError(f"a symbolic size has {number:,} terms; at most {_MAX_TERMS:,} are possible")


def _simplest(terms: dict[tuple[str, ...], int]) -> SymInt:
    terms = {key: value for key, value in terms.items() if value}
    if not terms:
        return 0
    return terms[()] if set(terms) == {()} else Dim(terms=terms)


def _exact_quotient(
    numerator: dict[tuple[str, ...], int], denominator: dict[tuple[str, ...], int]
) -> dict[tuple[str, ...], int] | None:
    """Return `numerator / denominator` if the denominator is one term that divides every term, else None."""
    if len(denominator) != 1:
        return {(): 1} if numerator == denominator else None
    [(symbols, factor)] = denominator.items()
    quotient: dict[tuple[str, ...], int] = {}
    for key, value in numerator.items():
        remaining = list(key)
        for symbol in symbols:
            if symbol not in remaining:
                return None
            remaining.remove(symbol)
        if value % factor:
            return None
        quotient[tuple(remaining)] = value // factor
    return quotient


_LARGE = 10**12


def _sign(value: SymInt) -> int:
    return value.at(_LARGE) if isinstance(value, Dim) else int(value)


class Size(tuple[Any, ...]):
    """A shape. Prints like PyTorch's torch.Size."""

    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return count(self)

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: tuple[Any, ...]) -> Size:  # type: ignore[override]
        return Size((*self, *other))

    def __mul__(self, times: Any) -> Size:  # type: ignore[override]
        return Size(tuple.__mul__(self, times))

    def __repr__(self) -> str:
        return f"engine.Size([{', '.join(map(str, self))}])"
