"""Traces a model in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from engine.errors import DeviceError, EngineError
from engine.graph import SourceLocation
from engine.modes import no_grad
from engine.nn.module import Module
from engine.nn.utils import reset_states
from engine.random import fork_rng, manual_seed
from engine.shape import Spec
from engine.tensors import Tensor
from engine.tracing.errors import TraceError
from engine.tracing.traced_graph import TracedGraph
from engine.tracing.tracer import LayerMatcher, NodeNamer, Tracer

LocationText = Callable[[str, SourceLocation], str]
"""Describes the node and line of an op in errors."""


def trace_model(
    model: Callable[..., Any],
    module: Module | None,
    inputs: Mapping[str, Spec],
    *,
    node_name: NodeNamer,
    describe: LocationText,
    match_layer: LayerMatcher = lambda layer, args, kwargs: None,
    error_type: type[TraceError] = TraceError,
) -> TracedGraph:
    """Run a model without values and record its ops.

    Args:
        model: a module, or a function of tensors
        module: the module whose parameters and buffers are the weights
        inputs: shapes, with symbolic sizes, and dtypes of the inputs by name
        node_name: names the node of each op
        describe: text for the node and line of an op in errors
        match_layer: chooses the module calls that are recorded as one op
        error_type: error to raise

    Raises:
        TraceError: the Python code of the model depends on values of tensors.
    """
    tracer = Tracer(module, node_name, match_layer)
    with restored_tensors(module), evaluation_mode(module), no_grad(), tracer:
        tensors = [tracer.input(name, spec) for name, spec in inputs.items()]
        values = tuple(tracer.value_of(tensor) for tensor in tensors)
        try:
            result = model(*tensors)
        except EngineError as error:
            raise _tracing_error(error, tracer, describe, error_type) from error
        outputs = tuple(tracer.value_of(each) for each in tensors_of(result))
    return TracedGraph(values, outputs, tuple(tracer.ops), tuple(tracer.random_inputs))


def _tracing_error(
    error: EngineError, tracer: Tracer, describe: LocationText, error_type: type[TraceError]
) -> TraceError:
    """The error for a model whose Python code cannot run without values."""
    if isinstance(error, error_type):
        return error
    node, where = tracer.origin_of(error)
    if isinstance(error, DeviceError):
        reason = "the code depends on values of tensors, which are unknown while a model is exported"
        remedy = "Use engine.where() and other ops in place of if, int() and .item()."
    else:
        reason, remedy = str(error).rstrip("."), "Compute sizes from shapes of the inputs only."
    return error_type(f"{describe(node, where)}: {reason}. {remedy}", node=node, reason=reason, location=where)


def default_location(node: str, where: SourceLocation) -> str:
    """The module of an op, and its line."""
    line = "" if where is None else f" ({where[0]}:{where[1]})"
    return f"{node or 'The model'}{line}"


def model_outputs(
    model: Callable[..., Any], module: Module | None, inputs: Sequence[Tensor], seed: int
) -> list[NDArray[Any]]:
    """The tensors that a model returns in evaluation mode, without a lasting effect on it.

    Args:
        module: the module whose states and mode are restored
        seed: of the random numbers that the model draws; the random state is restored
    """
    with restored_tensors(module), evaluation_mode(module), no_grad(), fork_rng():
        manual_seed(seed)
        if module is not None:
            reset_states(module)
        found = [each.numpy(force=True) for each in tensors_of(model(*inputs))]
        if module is not None:
            reset_states(module)
    return found


@contextmanager
def evaluation_mode(module: Module | None) -> Iterator[None]:
    """Context in which a module and its submodules are in evaluation mode."""
    before = [] if module is None else [(each, each.training) for each in module.modules()]
    try:
        if module is not None:
            module.eval()
        yield
    finally:
        for each, training in before:
            each.training = training


@contextmanager
def restored_tensors(module: Module | None) -> Iterator[None]:
    """Context after which parameters and buffers are those from before, with their numbers, though a model wrote them.

    Arrays keep their identity, so that the arrays of a trace have the numbers from before as well.
    """
    modules = [] if module is None else list(module.modules())
    registered = [(each, dict(each._parameters), dict(each._buffers)) for each in modules]
    tensors = [tensor for _, *held in registered for each in held for tensor in each.values() if tensor is not None]
    unique = {id(each): each for each in tensors if not each.is_meta}
    copies = [(each, each._numbers(), each._storage, each._storage.version) for each in unique.values()]
    numbers = [array.copy() for _, array, _, _ in copies]
    try:
        yield
    finally:
        for each, parameters, buffers in registered:
            each._parameters.update(parameters)
            each._buffers.update(buffers)
        for (_, array, storage, version), before in zip(copies, numbers, strict=True):
            if storage.version != version:
                array[...] = before


def tensors_of(result: Any) -> Iterator[Tensor]:
    """The tensors in a result, in order; also in nested tuples, lists and dicts."""
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, Mapping):
        for each in result.values():
            yield from tensors_of(each)
    elif isinstance(result, (tuple, list)):
        for each in result:
            yield from tensors_of(each)


__all__ = [
    "LocationText",
    "default_location",
    "evaluation_mode",
    "model_outputs",
    "restored_tensors",
    "tensors_of",
    "trace_model",
]
