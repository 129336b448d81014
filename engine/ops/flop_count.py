"""Floating-point operations of an op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.ops.record import Op
from engine.shape import Spec, count


def count_flops(op: Op, outputs: Sequence[Spec], inputs: Sequence[Any], statics: dict[str, Any]) -> int:
    """Count two operations for each multiply-add, and one for each element of other ops; none for movements of data.

    Args:
        inputs: a Spec for each tensor, and the other inputs as they are
    """
    if op.view or op.kind == "movement":
        return 0
    macs = op.count_macs(outputs[0], inputs, statics)
    if macs:
        return 2 * int(macs)
    tensors = [one for one in inputs if isinstance(one, Spec)]
    if op.kind in ("elementwise", "reduce"):
        return max(count(spec.shape) for spec in (*tensors, *outputs))
    return sum(count(spec.shape) for spec in outputs)


__all__ = ["count_flops"]
