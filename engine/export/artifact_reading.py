"""Reads artifacts. Everything in a file is checked before it is used, and nothing in it is executed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, BinaryIO, TypeVar

import msgspec
import psutil
from numpy.typing import NDArray

from engine.backend import Device, resolve
from engine.errors import WeightsError
from engine.export.archive import read_members, sha256
from engine.export.artifact import Artifact, ArtifactContent, Sample
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
    ManifestHeader,
)
from engine.export.errors import ArtifactError, printable
from engine.export.graph_check import check_graph
from engine.export.graph_decoding import decode_graph
from engine.io.byte_source import ByteSource, FileSource, MemorySource
from engine.io.safetensors_files import decode
from engine.shape import format_shape
from engine.tracing.op_evaluation import named_sizes, with_sizes
from engine.tracing.traced_graph import TracedGraph

T = TypeVar("T")


def load(f: str | os.PathLike[str] | BinaryIO, device: Device | str = "cpu") -> Artifact:
    """Load an artifact: a traced model with its weights, called like the model.

    The file is data: no code of it is executed, and the program that made it is not needed.

    Args:
        f: path of the file, or a binary file
        device: device of the weights and the computation

    Raises:
        ArtifactError: the file is no artifact, damaged, of a newer version, or larger than the free memory.
        OSError: the file is missing or cannot be read.
    """
    target = resolve(device)
    if isinstance(f, (str, os.PathLike)):
        return read_artifact(FileSource.of(os.fspath(f)), target)
    return read_artifact(MemorySource(f.read(), "the file"), target)


def read_artifact(source: ByteSource, device: Device) -> Artifact:
    """The artifact of an archive. Raises ArtifactError."""
    members = read_members(source)
    manifest = _manifest(members, source.name)
    for name, content in members.items():
        if name != MANIFEST and sha256(content) != manifest.sha256.get(name):
            raise ArtifactError(
                f"{source.name}: {name} differs from its hash in the manifest: the file is damaged or was changed. "
                "Copy or export it again."
            )
    arrays = _arrays(members[WEIGHTS], f"{source.name}: {WEIGHTS}")
    network, output_names = _graph(members, NETWORK, arrays, source.name)
    preprocessing = _preprocessing(members, arrays, network, source.name)
    sample = _sample(members, network, output_names, preprocessing, source.name)
    content = ArtifactContent(manifest, sha256(members[MANIFEST]), network, output_names, preprocessing, sample)
    return Artifact(source, content, device)


def _manifest(members: Mapping[str, bytes], source: str) -> Manifest:
    location = f"{source}: {MANIFEST}"
    header = _decoded(members[MANIFEST], ManifestHeader, location)
    if header.format != FORMAT:
        raise ArtifactError(
            f"{location}: the format is {header.format[:40]!r}, not {FORMAT}. Export the artifact again."
        )
    if header.version != VERSION:
        raise ArtifactError(
            f"{location}: the artifact has version {header.version} of the format; this version of Gradwire reads "
            f"version {VERSION}. Update Gradwire, or export the artifact again."
        )
    manifest = _decoded(members[MANIFEST], Manifest, location)
    if set(manifest.sha256) != set(members) - {MANIFEST}:
        raise ArtifactError(f"{location}: the hashes are not those of the members. Export the artifact again.")
    return manifest


def _decoded(content: bytes, kind: type[T], location: str) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ArtifactError(
            f"{location}: {printable(str(error), 300)}. The file is damaged: copy or export it again."
        ) from None


def _arrays(content: bytes, location: str) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors member."""
    if 2 * len(content) > psutil.virtual_memory().available:
        raise ArtifactError(f"{location}: needs {len(content):,} more bytes of memory. Close other programs.")
    try:
        return {name: tensor.numpy() for name, tensor in decode(content, location).items()}
    except WeightsError as error:
        raise ArtifactError(str(error)) from None


def _graph(
    members: Mapping[str, bytes], name: str, arrays: Mapping[str, NDArray[Any]], source: str
) -> tuple[TracedGraph, tuple[str, ...]]:
    location = f"{source}: {name}"
    record = _decoded(members[name], GraphRecord, location)
    graph = decode_graph(record, arrays, location)
    check_graph(graph, location)
    return graph, tuple(each.name for each in record.outputs)


def _preprocessing(
    members: Mapping[str, bytes], arrays: Mapping[str, NDArray[Any]], network: TracedGraph, source: str
) -> TracedGraph | None:
    if PREPROCESSING not in members:
        return None
    graph, _ = _graph(members, PREPROCESSING, arrays, source)
    specs = [each.spec for each in graph.outputs]
    if len(graph.inputs) != 1 or graph.random_inputs or specs != [each.spec for each in network.inputs]:
        raise ArtifactError(
            f"{source}: {PREPROCESSING}: it does not turn one input into the input of the network. "
            "Export the artifact again."
        )
    return graph


def _sample(
    members: Mapping[str, bytes],
    network: TracedGraph,
    output_names: tuple[str, ...],
    preprocessing: TracedGraph | None,
    source: str,
) -> Sample:
    """The stored inputs and outputs, with the shapes and dtypes of the network."""
    location = f"{source}: {SAMPLE}"
    arrays = _arrays(members[SAMPLE], location)
    expected = {f"input:{each.name}": each.spec for each in network.inputs}
    expected |= {f"output:{name}": each.spec for name, each in zip(output_names, network.outputs, strict=True)}
    if preprocessing is not None:
        expected["raw"] = preprocessing.inputs[0].spec
    if set(arrays) != set(expected):
        raise ArtifactError(
            f"{location}: its arrays are not those of the inputs and outputs. Export the artifact again."
        )
    symbols = [(spec, arrays[name].shape) for name, spec in expected.items() if not name.startswith("output:")]
    sizes = named_sizes(pair for pair in symbols if len(pair[1]) == pair[0].ndim)
    for name, spec in expected.items():
        array = arrays[name]
        try:
            shape = with_sizes(spec.shape, sizes)
        except (KeyError, ArithmeticError):  # an input has other dimensions, or a size is divided by zero
            shape = None
        if array.dtype != spec.dtype.numpy or array.shape != shape:
            raise ArtifactError(
                f"{location}: {printable(name)} is {format_shape(array.shape)} {array.dtype}, but the network has "
                f"{spec}. Export the artifact again."
            )
    inputs = tuple(arrays[f"input:{each.name}"] for each in network.inputs)
    return Sample(inputs, tuple(arrays[f"output:{name}"] for name in output_names), arrays.get("raw"))


__all__ = ["load", "read_artifact"]
