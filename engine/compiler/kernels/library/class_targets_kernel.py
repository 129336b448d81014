"""Class targets of losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.instruction import has_scalars
from engine.compiler.ir import IRNode
from engine.compiler.kernels.library.routines import Routine, background_kernel, implements
from engine.ops.cross_entropy import check_class_targets
from engine.shape import count


class ClassTargets:
    """`check_class_targets` of 64-bit integers."""

    def __init__(self, size: int, statics: dict[str, Any]) -> None:
        self._module = background_kernel("class_targets", np.dtype(np.float32))
        self._size, self._statics = size, statics
        self._numbers = statics["ignore_index"], statics["count"]
        self._invalid = np.zeros(1, np.int64)

    def __call__(self, target: Any, valid: Any, classes: Any) -> None:
        kernel = self._module.function
        if kernel is not None:
            kernel(id(target), id(valid), id(classes), id(self._invalid), self._size, *self._numbers)
        if kernel is None or self._invalid[0]:  # NumPy raises the error
            valid[...], classes[...] = check_class_targets.kernel(np, target, **self._statics)


@implements(check_class_targets)
def _(node: IRNode) -> Routine | None:
    [target] = node.values
    if target.dtype != np.int64 or has_scalars(node.statics):
        return None
    return ClassTargets(count(target.shape), dict(node.statics))


__all__: list[str] = []
