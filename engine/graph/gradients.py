"""Entry points of differentiation: `backward` accumulates into `.grad` of leaves, `grad` returns gradients."""

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
    """Compute the gradients of `tensors` with respect to the leaves and add them to their `.grad`.

    Args:
        tensors: one tensor or several, or gradient edges
        grad_tensors: gradient of each tensor; not needed for tensors with one element
        retain_graph: keep saved tensors for another backward pass; default: `create_graph`
        create_graph: record the backward pass, for higher-order gradients
        inputs: accumulate only into these tensors; default: all leaves
    """
    outs = _as_tuple(tensors)
    roots = list(zip(_edges(outs, "backward()"), _seeds(outs, grad_tensors, "backward()"), strict=True))
    keep = create_graph if retain_graph is None else retain_graph
    input_edges = None
    if inputs is not None:
        ins = _as_tuple(inputs.values() if isinstance(inputs, Mapping) else inputs)
        if not ins:
            raise AutogradError("backward(): inputs is empty. Omit it to accumulate into all leaves.")
        input_edges = _input_edges(ins, "backward()")
        for tensor in ins:
            if not isinstance(tensor, GradientEdge) and not tensor.is_leaf:
                tensor.retain_grad()
    run_backward(roots, retain_graph=keep, create_graph=create_graph, inputs=input_edges, observer=_observer())


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
    """Return the gradients of the sum of `outputs` with respect to each input. `.grad` does not change.

    Args:
        outputs: one tensor or several, or gradient edges
        inputs: one tensor or several; a mapping returns a mapping
        grad_outputs: gradient of each output; not needed for outputs with one element
        retain_graph: keep saved tensors for another backward pass; default: `create_graph`
        create_graph: record the backward pass, for higher-order gradients
        only_inputs: only True is supported, as in PyTorch
        allow_unused: return None for unused inputs instead of raising an error
        is_grads_batched: `grad_outputs` have an additional first dimension; one pass runs for each of its elements
        materialize_grads: return zeros for unused inputs
    """
    if isinstance(inputs, Mapping):
        grads = grad(
            outputs, tuple(inputs.values()), grad_outputs, retain_graph, create_graph, only_inputs, allow_unused,
            is_grads_batched, materialize_grads,
        )  # fmt: skip
        return dict(zip(inputs, grads, strict=True))
    if not only_inputs:
        raise NotImplementedError("grad(): only_inputs=False is not supported. Use backward() for .grad of all leaves.")
    if materialize_grads and allow_unused is False:
        raise ValueError("grad(): materialize_grads=True allows unused inputs, so allow_unused cannot be False")
    outs, ins = _as_tuple(outputs), _as_tuple(inputs)
    if not ins:
        raise AutogradError("grad(): inputs is empty. Pass the tensors to differentiate with respect to.")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _grad_batched(outs, ins, grad_outputs, keep, create_graph, bool(allow_unused), materialize_grads)
    roots = list(zip(_edges(outs, "grad()"), _seeds(outs, grad_outputs, "grad()"), strict=True))
    grads = run_backward(
        roots, retain_graph=keep, create_graph=create_graph, inputs=_input_edges(ins, "grad()"), accumulate=False,
        observer=_observer(),
    )  # fmt: skip
    if materialize_grads:
        return tuple([ins[i].new_zeros(tuple(ins[i].shape)) if g is None else g for i, g in enumerate(grads)])
    if not allow_unused and any(gradient is None for gradient in grads):
        raise AutogradError(
            f"grad(): the outputs do not depend on input {grads.index(None)}.",
            in_code="Pass allow_unused=True to get None for it, or materialize_grads=True for zeros.",
        )
    return tuple(grads)


def _grad_batched(outs: Any, ins: Any, seeds: Any, keep: bool, create: bool, unused: bool, zeros: bool) -> Any:
    """Run one pass per row of `seeds` and stack the results."""
    seeds = _as_tuple(seeds)
    sizes = {int(seed.shape[0]) for seed in seeds if seed is not None and seed.ndim}
    if len(sizes) != 1:
        raise ShapeError("grad(is_grads_batched=True) needs grad_outputs with first dimensions of equal size")
    size = sizes.pop()
    rows: list[Any] = []
    for number in range(size):
        row = tuple([None if seed is None else seed[number] for seed in seeds])
        last = number == size - 1
        rows.append(
            grad(outs, ins, row, keep or not last, create, allow_unused=unused or None, materialize_grads=zeros)
        )
    return tuple([None if column[0] is None else stack(column) for column in zip(*rows, strict=True)])


def _as_tuple(tensors: Any) -> tuple[Any, ...]:
    """Return one or several tensors as a tuple. Checks for containers, since tensors are iterable too."""
    if isinstance(tensors, GradientEdge) or not isinstance(tensors, (Sequence, Iterator, ValuesView)):
        return (tensors,)
    return tuple(tensors)


def _edges(outs: Sequence[Any], call: str) -> list[Any]:
    edges = [out.edge for out in outs]
    if None in edges:
        which = f"output {edges.index(None)} does not require gradients" if len(edges) > 1 or call == "grad()" else ""
        raise AutogradError(
            f"{call}: {which or 'the tensor does not require gradients'}, since no leaf it depends on does.",
            in_code="Call requires_grad_() on a leaf before the computation.",
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


def _seeds(outs: Sequence[Any], gradients: Any, call: str) -> list[Any]:
    """Return the initial gradients of a pass."""
    seeds = (None,) * len(outs) if gradients is None else _as_tuple(gradients)
    if len(seeds) != len(outs):
        raise AutogradError(
            f"{call}: got {len(outs)} tensors but {len(seeds)} gradients. Pass one per tensor, or None."
        )
    return [_seed(out, seed) for out, seed in zip(outs, seeds, strict=True)]


def _seed(out: Any, gradient: Any) -> Any:
    if isinstance(out, GradientEdge):
        if gradient is None:
            raise AutogradError("backward from a gradient edge needs an explicit gradient")
        return gradient
    if gradient is None:
        return out._unit_gradient()
    if tuple(gradient.shape) != tuple(out.shape):
        raise ShapeError(f"gradient is {format_shape(gradient.shape)}, but the tensor is {format_shape(out.shape)}")
    return gradient if gradient.dtype is out.dtype else gradient.to(out.dtype)


def _observer() -> Any:
    return None if MODES.observer is None else MODES.observer.gradient
