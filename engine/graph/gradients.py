"""The two ways to ask for gradients: `backward` adds them to the `.grad` of leaves, `grad` returns them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, ValuesView
from typing import Any

from engine.errors import AutogradError, ShapeError
from engine.graph.backward_pass import run_backward
from engine.graph.node import GradientEdge
from engine.modes import MODES
from engine.ops.movement.joining import stack
from engine.shape import format_shape


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Adds the gradients of the sum of `tensors` with respect to every leaf to the leaf's `.grad`.

    Args:
        tensors: a tensor or several, or gradient edges
        grad_tensors: the gradient of each; not needed for single numbers
        retain_graph: keep what the graph has saved, for a further pass; by default as `create_graph`
        create_graph: record the pass itself, for gradients of gradients
        inputs: the only tensors whose `.grad` changes
    """
    outs = _several(tensors)
    roots = list(zip(_edges(outs, "backward()"), _seeds(outs, grad_tensors, "backward()"), strict=True))
    keep = create_graph if retain_graph is None else retain_graph
    wanted = None
    if inputs is not None:
        ins = _several(inputs.values() if isinstance(inputs, Mapping) else inputs)
        if not ins:
            raise AutogradError("backward(): inputs is empty. Leave it out to reach every leaf.")
        wanted = _input_edges(ins, "backward()")
        for tensor in ins:
            if not isinstance(tensor, GradientEdge) and not tensor.is_leaf:
                tensor.retain_grad()
    run_backward(roots, retain_graph=keep, create_graph=create_graph, inputs=wanted, observer=_observer())


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of the sum of `outputs` with respect to `inputs`, one for each; no `.grad` changes.

    Args:
        outputs: a tensor or several, or gradient edges
        inputs: a tensor or several; a mapping gives a mapping
        grad_outputs: the gradient of each output; not needed for single numbers
        retain_graph: keep what the graph has saved, for a further pass; by default as `create_graph`
        create_graph: record the pass itself, for gradients of gradients
        only_inputs: only True, as in PyTorch
        allow_unused: give None for an input that the outputs do not depend on, instead of an error
        is_grads_batched: `grad_outputs` have a further first dimension, over which the passes are repeated
        materialize_grads: give zeros for an input that the outputs do not depend on
    """
    if isinstance(inputs, Mapping):
        found = grad(
            outputs, tuple(inputs.values()), grad_outputs, retain_graph, create_graph, only_inputs, allow_unused,
            is_grads_batched, materialize_grads,
        )  # fmt: skip
        return dict(zip(inputs, found, strict=True))
    if not only_inputs:
        raise NotImplementedError("grad(only_inputs=False): use backward() to add to the .grad of all leaves")
    if materialize_grads and allow_unused is False:
        raise ValueError("grad(): materialize_grads=True gives zeros for unused inputs, so allow_unused=False is wrong")
    outs, ins = _several(outputs), _several(inputs)
    if not ins:
        raise AutogradError("grad(): inputs is empty. Name the tensors whose gradients you want.")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(outs, ins, grad_outputs, keep, create_graph, bool(allow_unused), materialize_grads)
    roots = list(zip(_edges(outs, "grad()"), _seeds(outs, grad_outputs, "grad()"), strict=True))
    found = run_backward(
        roots, retain_graph=keep, create_graph=create_graph, inputs=_input_edges(ins, "grad()"), accumulate=False,
        observer=_observer(),
    )  # fmt: skip
    if materialize_grads:
        return tuple([ins[i].new_zeros(tuple(ins[i].shape)) if g is None else g for i, g in enumerate(found)])
    if not allow_unused and any(gradient is None for gradient in found):
        raise AutogradError(
            f"grad(): the outputs do not depend on input {found.index(None)}.",
            in_code="Pass allow_unused=True to get None for it, or materialize_grads=True for zeros.",
        )
    return tuple(found)


def _batched(outs: Any, ins: Any, seeds: Any, keep: bool, create: bool, unused: bool, zeros: bool) -> Any:
    """One pass for each row of `seeds`; the rows of the results belong to them."""
    seeds = _several(seeds)
    sizes = {int(seed.shape[0]) for seed in seeds if seed is not None and seed.ndim}
    if len(sizes) != 1:
        raise ShapeError("grad(is_grads_batched=True) needs grad_outputs with a first dimension of one size")
    size = sizes.pop()
    rows: list[Any] = []
    for number in range(size):
        row = tuple([None if seed is None else seed[number] for seed in seeds])
        last = number == size - 1
        rows.append(
            grad(outs, ins, row, keep or not last, create, allow_unused=unused or None, materialize_grads=zeros)
        )
    return tuple([None if column[0] is None else stack(column) for column in zip(*rows, strict=True)])


def _several(tensors: Any) -> tuple[Any, ...]:
    """A tensor, or several of them. Tensors themselves can be iterated over, so these are the types to name."""
    if isinstance(tensors, GradientEdge) or not isinstance(tensors, (Sequence, Iterator, ValuesView)):
        return (tensors,)
    return tuple(tensors)


def _edges(outs: Sequence[Any], call: str) -> list[Any]:
    edges = [out.edge for out in outs]
    if None in edges:
        which = f"output {edges.index(None)} does not require gradients" if len(edges) > 1 or call == "grad()" else ""
        raise AutogradError(
            f"{call}: {which or 'the tensor does not require gradients'}: it depends on nothing that is trained.",
            in_code="Set requires_grad=True on a leaf that leads to it.",
        )
    return edges


def _input_edges(ins: Sequence[Any], call: str) -> list[Any]:
    edges = [tensor.edge for tensor in ins]
    if None in edges:
        raise AutogradError(
            f"{call}: input {edges.index(None)} does not require gradients.",
            in_code="Call requires_grad_() on it first.",
        )
    return edges


def _seeds(outs: Sequence[Any], given: Any, call: str) -> list[Any]:
    """The gradients that a pass starts with."""
    seeds = (None,) * len(outs) if given is None else _several(given)
    if len(seeds) != len(outs):
        raise AutogradError(f"{call}: got {len(outs)} tensors but {len(seeds)} gradients. Give one for each, or None.")
    return [_seed(out, seed) for out, seed in zip(outs, seeds, strict=True)]


def _seed(out: Any, gradient: Any) -> Any:
    if isinstance(out, GradientEdge):
        if gradient is None:
            raise AutogradError("a gradient edge needs a gradient to start from: it has no value to make one of")
        return gradient
    if gradient is None:
        return out._unit_gradient()
    if tuple(gradient.shape) != tuple(out.shape):
        raise ShapeError(f"gradient is {format_shape(gradient.shape)}, but the tensor is {format_shape(out.shape)}")
    return gradient if gradient.dtype is out.dtype else gradient.to(out.dtype)


def _observer() -> Any:
    return None if MODES.observer is None else MODES.observer.gradient
