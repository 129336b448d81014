"""Exports models as artifacts, and writes them to files."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.backend import CPU
from engine.export.archive import pack, sha256
from engine.export.artifact import Artifact
from engine.export.artifact_reading import read_artifact
from engine.export.artifact_records import (
    FORMAT,
    MANIFEST,
    NETWORK,
    PREPROCESSING,
    SAMPLE,
    VERSION,
    WEIGHTS,
    GraphRecord,
    Manifest,
)
from engine.export.errors import ArtifactError
from engine.export.graph_encoding import encode_graph
from engine.graph import RemovableHandle
from engine.io import atomic_file
from engine.io.byte_source import MemorySource
from engine.io.safetensors_files import encode
from engine.nn.module import Module
from engine.nn.module_hooks import GLOBAL_HOOKS, Hook
from engine.random import fork_rng, manual_seed
from engine.shape import Spec
from engine.tensors import Tensor
from engine.tensors.creation import from_array
from engine.tracing.example_inputs import DynamicShapes, input_specs, numbered_output_names
from engine.tracing.model_trace import (
    LocationText,
    default_location,
    model_outputs,
    tensors_of,
    trace_model,
)
from engine.tracing.size_comparison import compare_small_sizes
from engine.tracing.tracer import NodeNamer, innermost_module
from engine.version import __version__

_SEED = 0
"""Seed of the random numbers of the sample."""


@dataclass(frozen=True)
class Preprocessing:
    """Transforms of the input, to be recorded.

    Args:
        function: turns a raw batch into the input of the network
        spec: shape, with symbolic batch size, and dtype of a raw batch
        raw: raw batch of the sample
    """

    function: Callable[[Tensor], Tensor]
    spec: Spec
    raw: Tensor


def export(
    mod: Module | Callable[..., Any],
    args: Any,
    *,
    dynamic_shapes: DynamicShapes = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    labels: Sequence[str] = (),
    name: str = "model",
) -> Artifact:
    """Trace a model in evaluation mode, with its weights, as an artifact. The mode of the model is restored.

    Args:
        mod: a module, or a function of tensors
        args: example inputs: a tensor or a tuple of tensors. They become the sample that `verify` computes again
        dynamic_shapes: for each input, its open dimensions: ``{"x": {0: "N"}}`` or ``({0: "N"},)``
        input_names: names of the inputs; default: the argument names of the forward method
        output_names: names of the outputs; default: output, or output_0, output_1, …
        labels: names of the classes of the first output
        name: name of the artifact

    Returns:
        the artifact; `save` writes it to a file.

    Raises:
        ArtifactError: the Python code of the model depends on values of tensors, an op cannot be stored, or the
            outputs of the artifact differ, on the sample or for one or two of its rows.
        ValueError: an input has no such open dimension.
    """
    tensors = (args,) if isinstance(args, Tensor) else tuple(args)
    specs = input_specs(mod, tensors, input_names, dynamic_shapes)
    return build_artifact(mod, specs, tensors, output_names=output_names, labels=labels, name=name)


def save(ep: Artifact, f: str | os.PathLike[str] | BinaryIO) -> None:
    """Write an artifact to a file, which is replaced atomically. Raises OSError."""
    with ep.source.open() as file:
        content = file.read()
    if isinstance(f, (str, os.PathLike)):
        atomic_file.write(Path(f), content)
    else:
        f.write(content)


def build_artifact(
    model: Module | Callable[..., Any],
    inputs: Mapping[str, Spec],
    sample: Sequence[Tensor],
    *,
    output_names: Sequence[str] | None = None,
    labels: Sequence[str] = (),
    name: str = "model",
    weights: Module | None = None,
    preprocessing: Preprocessing | None = None,
    node_name: NodeNamer = innermost_module,
    describe_location: LocationText = default_location,
) -> Artifact:
    """Trace a model as an artifact.

    Args:
        model: a module, or a function of tensors
        inputs: shapes, with symbolic sizes, and dtypes of the inputs by name
        sample: inputs of the sample
        output_names: names of the outputs
        labels: names of the classes of the first output
        name: name of the artifact
        weights: the module that a function calls, whose weights keep their names; default: the model
        preprocessing: transforms of the only input
        node_name: names the node of each op; default: the path of its module
        describe_location: text for the node and line of an op in errors

    Raises:
        ArtifactError: see `export`.
    """
    module = model if isinstance(model, Module) else weights
    trace = _Tracing(node_name, describe_location)
    with _training_refused() if module is None else nullcontext():
        outputs = _computed(model, module, sample)
        names = numbered_output_names(output_names, len(outputs))
        members: dict[str, bytes | bytearray] = {}
        arrays: dict[str, NDArray[Any]] = {}
        members[NETWORK] = trace.encoded(model, module, inputs, names, arrays, "constant")
    stored = {f"input:{key}": each.numpy(force=True) for key, each in zip(inputs, sample, strict=True)}
    stored |= dict(zip((f"output:{each}" for each in names), outputs, strict=True))
    if preprocessing is not None:
        [input_name] = inputs
        members[PREPROCESSING] = trace.encoded(
            preprocessing.function, None, {input_name: preprocessing.spec}, [input_name], arrays, "preprocessing"
        )
        stored["raw"] = preprocessing.raw.numpy(force=True)
    members[WEIGHTS], members[SAMPLE] = _encoded_arrays(arrays), _encoded_arrays(stored)
    hashes = {key: sha256(content) for key, content in sorted(members.items())}
    manifest = Manifest(FORMAT, VERSION, name, list(labels), _libraries(), _SEED, hashes)
    members[MANIFEST] = _encoded(manifest)
    found = read_artifact(MemorySource(pack(members), name), CPU)
    _check(found, model, module, list(inputs.values()), sample, preprocessing)
    return found


def _check(
    found: Artifact,
    model: Callable[..., Any],
    module: Module | None,
    specs: Sequence[Spec],
    sample: Sequence[Tensor],
    preprocessing: Preprocessing | None,
) -> None:
    """Raise ArtifactError if an artifact differs from its model on the sample, or for one or two rows of it."""
    verification = found.verify()
    if not verification.agrees:
        raise ArtifactError(
            f"The artifact differs from the model on the sample: {verification.output} by "
            f"{verification.absolute:.2g}, relative {verification.relative:.2g}. Random numbers of a fixed size "
            "are drawn once while a model is traced: use randn_like(). Otherwise report this with the model."
        )

    def outputs(inputs: Sequence[Tensor]) -> Sequence[NDArray[Any]]:
        with fork_rng():
            manual_seed(_SEED)
            return [each.numpy(force=True) for each in tensors_of(found(*inputs))]

    names = [each.name for each in found.outputs]
    compare_small_sizes(outputs, lambda inputs: _computed(model, module, inputs), specs, sample, names, ArtifactError)
    if preprocessing is not None:
        function = preprocessing.function
        compare_small_sizes(
            lambda raw: [found.preprocess(raw[0]).numpy(force=True)],
            lambda raw: [function(raw[0]).numpy(force=True)],
            [preprocessing.spec], [preprocessing.raw], ["the preprocessing"], ArtifactError,
        )  # fmt: skip


@contextmanager
def _training_refused() -> Iterator[None]:
    """Context in which calls of modules in training mode raise ArtifactError."""

    def refuse(module: Module, args: Any) -> None:
        if module.training:
            raise ArtifactError(
                f"The function calls {type(module).__name__}, which is in training mode. Call eval() on it first, or "
                "export the module itself."
            )

    handle = RemovableHandle.add(GLOBAL_HOOKS.forward_pre, Hook(refuse))
    try:
        yield
    finally:
        handle.remove()


@dataclass(frozen=True)
class _Tracing:
    """Traces models and encodes the graphs."""

    node_name: NodeNamer
    describe: LocationText

    def encoded(
        self,
        model: Callable[..., Any],
        module: Module | None,
        inputs: Mapping[str, Spec],
        output_names: Sequence[str],
        arrays: dict[str, NDArray[Any]],
        constants: str,
    ) -> bytes:
        graph = trace_model(
            model, module, inputs, node_name=self.node_name, describe=self.describe, error_type=ArtifactError
        )
        return _encoded(encode_graph(graph, output_names, arrays, constants=constants, describe=self.describe))


def _computed(model: Any, module: Module | None, sample: Sequence[Tensor]) -> list[NDArray[Any]]:
    """The outputs of a model for the sample."""
    found = model_outputs(model, module, sample, _SEED)
    if not found:
        raise ArtifactError("The model returns no tensor, so there is nothing to export. Return its result.")
    return found


def _encoded(record: GraphRecord | Manifest) -> bytes:
    return msgspec.json.encode(record)


def _encoded_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytearray:
    return encode({name: from_array(np.asarray(array)) for name, array in arrays.items()}, None, "artifact")


def _libraries() -> dict[str, str]:
    return {"gradwire": __version__, "numpy": np.__version__, "python": platform.python_version()}


__all__ = ["Preprocessing", "build_artifact", "export", "save"]
