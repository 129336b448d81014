"""Names and shapes of a model's inputs and outputs, from example inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from engine.nn.module import Module
from engine.shape import Dim, Spec, format_shape
from engine.tensors import Tensor

DynamicShapes: TypeAlias = Mapping[str, Any] | Sequence[Any] | None


def input_specs(
    model: Any,
    tensors: Sequence[Tensor],
    names: Sequence[str] | None,
    dynamic_shapes: DynamicShapes,
    dynamic_axes: Mapping[str, Any] | None = None,
) -> dict[str, Spec]:
    """Shapes, with symbolic sizes, and dtypes of the inputs by name.

    Args:
        model: a module, or a function of tensors
        tensors: example inputs
        names: names of the inputs; default: the argument names of the forward method
        dynamic_shapes: for each input, its open dimensions: ``{"x": {0: "N"}}`` or ``({0: "N"},)``
        dynamic_axes: the same by input name: ``{"x": {0: "N"}}`` or ``{"x": [0]}``

    Raises:
        ValueError: `dynamic_shapes` has an unknown input or dimension, or the number of names differs from that of the
            inputs.
    """
    found = _input_names(model, len(tensors), names)
    shapes = _open_dimensions(found, dynamic_shapes, dynamic_axes)
    return {name: _open_spec(name, each, shapes.get(name, {})) for name, each in zip(found, tensors, strict=True)}


def numbered_output_names(given: Sequence[str] | None, number: int) -> list[str]:
    """The given names; default: output, or output_0, output_1, …"""
    if given is None:
        return ["output"] if number == 1 else [f"output_{index}" for index in range(number)]
    if len(given) != number:
        raise ValueError(f"export: the model has {number} outputs, but output_names has {len(given)}")
    return list(given)


def _input_names(model: Any, number: int, given: Sequence[str] | None) -> list[str]:
    if given is not None:
        if len(given) != number:
            raise ValueError(f"export: {number} inputs need {number} input_names, not {len(given)}")
        return list(given)
    function = model.forward if isinstance(model, Module) else model
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    found = [] if code is None else [name for name in code.co_varnames[: code.co_argcount] if name != "self"]
    return found[:number] if len(found) >= number else [f"input_{index}" for index in range(number)]


def _open_dimensions(
    names: Sequence[str], shapes: DynamicShapes, axes: Mapping[str, Any] | None
) -> dict[str, dict[int, str]]:
    """The names of open dimensions by input and dimension."""
    if shapes is not None and axes is not None:
        raise ValueError("export: pass dynamic_shapes or dynamic_axes, not both")
    given = shapes if shapes is not None else axes
    if given is None:
        return {}
    if shapes is not None:
        _check_names(names, shapes)
    pairs = given.items() if isinstance(given, Mapping) else zip(names, given, strict=False)
    found: dict[str, dict[int, str]] = {}
    for name, dims in pairs:
        if isinstance(dims, Mapping):
            found[name] = {int(axis): str(size) for axis, size in dims.items() if size is not None}
        elif dims is not None:
            is_axes = axes is not None
            listed = ((axis, f"{name}_dim_{axis}") for axis in dims) if is_axes else enumerate(dims)
            found[name] = {int(axis): str(size) for axis, size in listed if isinstance(size, (str, Dim))}
    return found


def _check_names(names: Sequence[str], shapes: Mapping[str, Any] | Sequence[Any]) -> None:
    unknown = [name for name in shapes if name not in names] if isinstance(shapes, Mapping) else shapes[len(names) :]
    if unknown:
        shown = f"no input {unknown[0]!r}" if isinstance(shapes, Mapping) else f"{len(names)} inputs, not {len(shapes)}"
        raise ValueError(f"export: dynamic_shapes: the model has {shown}. Its inputs are {', '.join(names)}.")


def _open_spec(name: str, tensor: Tensor, dims: Mapping[int, str]) -> Spec:
    shape: list[Any] = list(tensor.shape)
    for axis, size in dims.items():
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"export: input {name} ({format_shape(shape)}) has no dimension {axis}")
        shape[axis] = Dim(size)
    return Spec(tuple(shape), tensor.dtype)


__all__ = ["DynamicShapes", "input_specs", "numbered_output_names"]
