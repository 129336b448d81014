"""Variants of ops that write to given memory, with the same bits as the ops' kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.compiler.ir import IRNode
from engine.dtypes import NATIVE_FLOATS
from engine.ops.indexing.index import TensorSlot, fill, index_backward, index_op, slice_backward
from engine.ops.indexing.index_checks import check_range
from engine.ops.movement.joined_elements import join_elements
from engine.ops.record import Op


def _embedding_into(xp: Any, x: Any, index: Any, out: Any, layout: Any, owner: Any) -> None:
    check_range(owner, index, x.shape[0], 0)
    xp.take(x, index, 0, out, "clip")  # indices are valid; any other mode would allocate memory


def _slice_backward_into(xp: Any, x: Any, out: Any, shape: Any, index: Any) -> None:
    out[...] = 0
    out[index] = x


def _index_backward_into(xp: Any, x: Any, *index: Any, out: Any, shape: Any, layout: Any) -> None:
    out[...] = 0
    xp.add.at(out, fill(layout, index), x)


def _join_elements_into(xp: Any, *tensors: Any, out: Any) -> None:
    xp.concatenate(tensors, None, out)


_VARIANTS: dict[Op, Callable[..., None]] = {
    index_op: _embedding_into,
    slice_backward: _slice_backward_into,
    index_backward: _index_backward_into,
    join_elements: _join_elements_into,
}


def out_variant(node: IRNode) -> Callable[..., None] | None:
    """The function that computes a node into C-ordered memory, called with `out`; None if there is none."""
    found = _VARIANTS.get(node.op)
    if found is None or any(value.dtype not in NATIVE_FLOATS for value in (node.values[0], node.out)):
        return None
    if node.op is index_op:  # embedding lookups only
        is_embedding = node.statics.get("owner") is not None and node.statics["layout"] == (TensorSlot(0),)
        return found if is_embedding and len(node.values[0].shape) > 1 else None
    return found


__all__ = ["out_variant"]
