"""Puts a call into the autograd graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import dtypes
from engine.dtypes import NATIVE_FLOATS
from engine.graph import OpNode, Place
from engine.graph.saved import Saved, refuse_inference
from engine.ops.record import Op
from engine.tensor import Storage, Tensor


def record(
    op: Op,
    inputs: Sequence[Any],
    statics: dict[str, Any],
    outs: Sequence[Tensor],
    where: Place,
    written: Storage | None = None,
) -> None:
    """Makes the autograd node of a call and hangs its outputs on it; `written` is the memory that the call wrote to."""
    edges: list[Any] = []
    metas: list[Any] = []
    wanted, bit = 0, 1
    for value in inputs:
        edge = None
        if isinstance(value, Tensor):
            array = value._array
            metas.append((array.shape, array.dtype))
            if value._view is not None:
                value._refresh()
            if value._requires_grad:
                wanted |= bit
                edge = (value, 0) if value._node is None else (value._node, value._index)
        else:
            metas.append(value)
        edges.append(edge)
        bit += bit
    plan = op.plan(wanted, len(edges))
    if not plan.rules:
        return
    saved: dict[int, Saved] = {}
    for index in plan.saves:
        value = inputs[index]
        if isinstance(value, Tensor):
            storage = value._storage
            if storage.version < 0:
                refuse_inference(value)
            saved[index] = (value, storage.version - 1 if storage is written else storage.version)
    for index in plan.outs:
        out = outs[index]
        saved[-1 - index] = (Tensor(out._array, out._storage), out._storage.version)
    outputs = tuple([(out._array.shape, out._array.dtype) for out in outs])
    node = OpNode(op, tuple(edges), tuple(metas), statics, plan.rules, saved, outputs, where)
    for index, out in enumerate(outs):
        dtype = outputs[index][1]
        if dtype in NATIVE_FLOATS or dtypes.is_floating(dtype):
            out._node, out._index, out._requires_grad = node, index, True
            if out._view is not None:
                out._view = (out._view[0], out._base._node)  # pyright: ignore[reportOptionalMemberAccess]
