"""Recording of op calls in the autograd graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import dtypes
from engine.dtypes import NATIVE_FLOATS
from engine.graph import OpNode, SourceLocation
from engine.graph.saved_tensors import Saved, raise_inference_tensor
from engine.modes import MODES
from engine.ops.record import Op
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor


def record(
    op: Op,
    inputs: Sequence[Any],
    statics: dict[str, Any],
    outs: Sequence[Tensor],
    where: SourceLocation,
    written: Storage | None = None,
) -> None:
    """Create the autograd node of a call and set it as `grad_fn` of the outputs.

    Args:
        inputs: inputs of the call, with views refreshed
        written: storage that the call wrote to
    """
    edges: list[Any] = []
    metas: list[Any] = []
    needed_mask, bit = 0, 1
    for value in inputs:
        if isinstance(value, Tensor):
            array = value._array
            metas.append((array.shape, array.dtype))
            if value._requires_grad:
                needed_mask |= bit
                node = value._node
                edges.append((value, 0) if node is None else (node, value._index))
            else:
                edges.append(None)
        else:
            metas.append(value)
            edges.append(None)
        bit += bit
    plan = op.backward_plans.get(needed_mask | bit) or op.backward_plan(needed_mask, len(edges))
    if not plan.rules:
        return
    saved: dict[int, Saved] = {}
    for index in plan.saved_inputs:
        value = inputs[index]
        if isinstance(value, Tensor):
            storage = value._storage
            version = storage.version
            if version < 0:
                raise_inference_tensor(value)
            saved[index] = (value, version - 1 if storage is written else version)
    for index in plan.saved_outputs:
        out = outs[index]
        saved[-1 - index] = (Tensor(out._array, out._storage), out._storage.version)
    outputs: list[Any] = []
    node = OpNode(op, edges, metas, statics, plan.rules, saved, outputs, where)
    for out in outs:
        array = out._array
        dtype = array.dtype
        if dtype in NATIVE_FLOATS or dtypes.is_floating(dtype):
            out._node, out._index, out._requires_grad = node, len(outputs), True
            if out._view is not None:
                out._view = (out._view[0], out._base._node)  # pyright: ignore[reportOptionalMemberAccess]
        outputs.append((array.shape, dtype))
    if where is not None and (observer := MODES.observer) is not None:
        observer.recorded(node, inputs)
