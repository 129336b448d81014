"""Symbolic arrays and a namespace in place of NumPy, with which op kernels are traced.

Calls of NumPy become expressions with NumPy's dtypes. Code that reads elements, or depends on shapes, raises
LoweringUnsupported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.kernels.scalar_expression import BOOL, FLOAT64, Expression, LoweringUnsupported, cast, make, number
from engine.dtypes import NUMBERS

_LENGTH = 7
"""Length of each dimension of a symbolic array, by which loops over elements are detected."""


class SymbolicArray(np.lib.mixins.NDArrayOperatorsMixin):
    """A symbolic array, or a run-time number if its expression is weak. In-place operators replace the expression."""

    __slots__ = ("_branches", "expression", "ndim")
    __array_priority__ = 1000

    def __init__(self, expression: Expression | None, ndim: int, branches: BranchOutcomes) -> None:
        self.expression = expression
        self.ndim = ndim
        self._branches = branches

    # -- attributes

    @property
    def value_expression(self) -> Expression:
        if self.expression is None:
            raise LoweringUnsupported("it reads memory that it has not written")
        return self.expression

    @property
    def dtype(self) -> Any:
        if self.value_expression.weak:
            raise AttributeError("dtype")  # a Python number has none
        return self.value_expression.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return (_LENGTH,) * self.ndim

    @property
    def size(self) -> int:
        return _LENGTH**self.ndim

    @property
    def real(self) -> SymbolicArray:
        return self

    def __bool__(self) -> bool:
        if not self.value_expression.weak:
            raise LoweringUnsupported("it branches on array values")
        return self._branches.outcome_of(self.value_expression)

    # -- operations

    def astype(self, dtype: Any, order: str = "K", copy: bool = True) -> SymbolicArray:
        return self._like(cast(self.value_expression, dtype))

    def copy(self, order: str = "C") -> SymbolicArray:
        return self._like(self.value_expression)

    def reshape(self, *shape: Any) -> SymbolicArray:
        new_shape = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if new_shape not in ((-1,), self.shape):
            raise LoweringUnsupported("it changes shapes")
        return self

    def _like(self, expression: Expression) -> SymbolicArray:
        return SymbolicArray(expression, self.ndim, self._branches)

    def __getitem__(self, index: Any) -> SymbolicArray:
        if index is Ellipsis or (isinstance(index, slice) and index.start in (None, 0) and index.step in (None, 1)):
            stop = self.size if index is Ellipsis or index.stop in (None, _LENGTH) else index.stop
        else:
            stop = 0
        if stop >= self.size:
            return self
        raise LoweringUnsupported("it indexes an array")

    def __setitem__(self, index: Any, value: Any) -> None:
        self[index].put(expression_of(value))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method != "__call__":
            raise LoweringUnsupported(f"it reduces with numpy.{ufunc.__name__}.{method}")
        if options.pop("where", True) is not True or options.pop("dtype", None) is not None:
            raise LoweringUnsupported(f"it calls numpy.{ufunc.__name__} with unsupported options")
        found = _applied(ufunc, [expression_of(one) for one in inputs])
        ndim = max((one.ndim for one in inputs if isinstance(one, SymbolicArray)), default=0)
        target = out[0] if out is not None else None
        if target is None:
            return SymbolicArray(found, ndim, self._branches)
        if not isinstance(target, SymbolicArray):
            raise LoweringUnsupported("it writes to an array that it did not create")
        target.put(found)
        return target

    def put(self, found: Expression) -> None:
        """Assigns an expression."""
        self.expression = cast(found, self.dtype)


class _UninitializedArray(SymbolicArray):
    """Uninitialized memory with a fixed dtype."""

    __slots__ = ("_dtype",)

    def __init__(self, dtype: Any, ndim: int, branches: BranchOutcomes) -> None:
        super().__init__(None, ndim, branches)
        self._dtype = np.dtype(dtype)

    @property
    def dtype(self) -> Any:
        return self._dtype

    def put(self, found: Expression) -> None:
        self.expression = cast(found, self._dtype)


def expression_of(value: Any) -> Expression:
    if isinstance(value, SymbolicArray):
        return value.value_expression
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return number(value.item(), value.dtype)
    if isinstance(value, NUMBERS):
        return number(value)
    raise LoweringUnsupported(f"it computes with {type(value).__name__}")


def _applied(ufunc: Any, inputs: Sequence[Expression]) -> Expression:
    """The expression of a NumPy ufunc with NumPy's dtypes."""
    if ufunc.signature is not None or ufunc.nout != 1:
        raise LoweringUnsupported(f"it calls numpy.{ufunc.__name__}")
    if all(one.weak or one.name == "number" for one in inputs) and any(one.weak for one in inputs):
        weak = True
        dtypes = _python_dtypes(ufunc, inputs)
    else:
        weak = False
        kinds = [(float if one.dtype == FLOAT64 else int) if one.weak else one.dtype for one in inputs]
        try:
            dtypes = ufunc.resolve_dtypes((*kinds, None))
        except TypeError as error:
            raise LoweringUnsupported(
                f"numpy.{ufunc.__name__} does not take {', '.join(str(kind) for kind in kinds)}"
            ) from error
    args = tuple(cast(one, dtype) for one, dtype in zip(inputs, dtypes, strict=False))
    return make(ufunc.__name__, dtypes[-1], args, weak=weak)


def _python_dtypes(ufunc: Any, inputs: Sequence[Expression]) -> Any:
    """Dtypes of operations on Python numbers, which are computed in double precision."""
    return ufunc.resolve_dtypes((*[one.dtype for one in inputs], None))


class BranchOutcomes:
    """Outcomes of branches on run-time numbers, for one path through a kernel."""

    def __init__(self, outcomes: tuple[bool, ...]) -> None:
        self.outcomes = outcomes
        self.conditions: list[Expression] = []

    def outcome_of(self, condition: Expression) -> bool:
        if condition not in self.conditions:
            self.conditions.append(condition)
        index = self.conditions.index(condition)
        return self.outcomes[index] if index < len(self.outcomes) else True


class SymbolicNamespace:
    """Replaces NumPy: ufuncs, and functions that create arrays."""

    def __init__(self, branches: BranchOutcomes) -> None:
        self._branches = branches

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name, None)
        if isinstance(found, np.ufunc):
            return self._ufunc(found)
        if isinstance(found, type) or name in ("pi", "inf", "nan", "dtype", "finfo", "iinfo", "errstate"):
            return found
        raise LoweringUnsupported(f"it calls numpy.{name}")

    def _ufunc(self, ufunc: Any) -> Any:
        def call(*inputs: Any, out: Any = None, **options: Any) -> Any:
            if len(inputs) > ufunc.nin:
                out = inputs[ufunc.nin]
                inputs = inputs[: ufunc.nin]
            if not any(isinstance(one, SymbolicArray) for one in inputs):
                return ufunc(*inputs, **options)
            some = next(one for one in inputs if isinstance(one, SymbolicArray))
            return some.__array_ufunc__(ufunc, "__call__", *inputs, out=None if out is None else (out,), **options)

        return call

    def _symbol(self, expression: Expression, *like: Any) -> SymbolicArray:
        ndim = max((one.ndim for one in like if isinstance(one, SymbolicArray)), default=0)
        return SymbolicArray(expression, ndim, self._branches)

    def where(self, condition: Any, x: Any, y: Any) -> SymbolicArray:
        c, a, b = map(expression_of, (condition, x, y))
        dtype = np.result_type(*[one.dtype.type(0).item() if one.weak else one.dtype for one in (a, b)])
        made = make("where", dtype, (as_bool(c), cast(a, dtype), cast(b, dtype)))
        return self._symbol(made, condition, x, y)

    def clip(self, x: Any, low: Any, high: Any, out: Any = None) -> Any:
        found = self._ufunc(np.minimum)(self._ufunc(np.maximum)(x, low), high)
        if out is None:
            return found
        out.put(found.value_expression)
        return out

    def asarray(self, value: Any, dtype: Any = None) -> SymbolicArray:
        found = expression_of(value)
        if dtype is None:
            dtype = found.dtype
        return self._symbol(cast(found, dtype), value)

    array = ascontiguousarray = asarray

    def abs(self, x: Any, out: Any = None) -> Any:
        return self._ufunc(np.absolute)(x, out=out)

    def round(self, x: Any) -> Any:
        return self._ufunc(np.rint)(x)

    def empty(self, shape: Any, dtype: Any = FLOAT64) -> SymbolicArray:
        return _UninitializedArray(dtype, 1 if isinstance(shape, int) else len(shape), self._branches)

    def empty_like(self, x: SymbolicArray) -> SymbolicArray:
        return _UninitializedArray(x.dtype, x.ndim, self._branches)

    def ones(self, shape: Any, dtype: Any = FLOAT64) -> SymbolicArray:
        return SymbolicArray(number(1, dtype), 1 if isinstance(shape, int) else len(shape), self._branches)

    def zeros(self, shape: Any, dtype: Any = FLOAT64) -> SymbolicArray:
        return SymbolicArray(number(0, dtype), 1 if isinstance(shape, int) else len(shape), self._branches)

    def ones_like(self, x: SymbolicArray) -> SymbolicArray:
        return SymbolicArray(number(1, x.dtype), x.ndim, self._branches)

    def zeros_like(self, x: SymbolicArray) -> SymbolicArray:
        return SymbolicArray(number(0, x.dtype), x.ndim, self._branches)

    def broadcast_to(self, x: Any, shape: Any) -> SymbolicArray:
        return SymbolicArray(expression_of(x), len(shape), self._branches)


def as_bool(condition: Expression) -> Expression:
    if condition.dtype == BOOL:
        return condition
    return make("not_equal", BOOL, (condition, cast(number(0), condition.dtype)))


__all__ = ["BranchOutcomes", "SymbolicArray", "SymbolicNamespace", "expression_of", "as_bool"]
