"""The JSON members of an artifact.

An artifact is a zip archive of uncompressed members:

| member | content |
|---|---|
| `manifest.json` | format, version, names, labels, versions of libraries, SHA-256 of the other members |
| `network.json` | inputs, weights, ops and outputs of the network |
| `preprocessing.json` | the same for the transforms of the input; optional |
| `weights.safetensors` | weights by their names, and constants of the graphs |
| `sample.safetensors` | inputs and outputs to verify the network with |

Values of a graph are numbered: inputs, random numbers, weights, then the results of the ops. An op reads earlier values
only, so a graph has no cycles.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

FORMAT = "gradwire-artifact"
VERSION = 1
ARTIFACT_SUFFIX = ".gwx"

MANIFEST = "manifest.json"
NETWORK = "network.json"
PREPROCESSING = "preprocessing.json"
WEIGHTS = "weights.safetensors"
SAMPLE = "sample.safetensors"

SizeRecord = Any
"""A number, or a symbolic size as `argument_encoding` writes it."""


class Record(Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON object with known fields."""


class SpecRecord(Record, frozen=True):
    """Dtype and shape of a value."""

    dtype: str
    shape: list[SizeRecord]


class InputRecord(Record, frozen=True):
    """A named input of a graph. Sizes are numbers or names of symbols."""

    name: str
    dtype: str
    shape: list[int | str]


class RandomRecord(Record, frozen=True):
    """Random numbers that a graph draws at each call."""

    distribution: str
    first: Any
    second: Any
    """Parameters of the distribution, as in `engine.random`."""
    value: SpecRecord
    node: str = ""


class OpRecord(Record, frozen=True):
    """A call of a registered op."""

    op: str
    inputs: list[Any]
    """References to values, ``{"value": 3}``, or numbers."""
    arguments: dict[str, Any]
    outputs: list[SpecRecord]
    node: str = ""


class OutputRecord(Record, frozen=True):
    """A named output of a graph."""

    name: str
    value: int


class GraphRecord(Record, frozen=True):
    """A traced graph."""

    inputs: list[InputRecord]
    random: list[RandomRecord]
    weights: list[str]
    """Names in `weights.safetensors`."""
    ops: list[OpRecord]
    outputs: list[OutputRecord]


class Manifest(Record, frozen=True):
    """What an artifact contains, and who wrote it."""

    format: Literal["gradwire-artifact"]
    version: int
    name: str
    labels: list[str]
    """Names of the classes of the first output; empty if it has none."""
    libraries: dict[str, str]
    """Versions of the libraries that wrote the artifact."""
    seed: int
    """Seed of the random numbers of the sample."""
    sha256: dict[str, str]
    """SHA-256 of the other members by name."""


class ManifestHeader(Struct, frozen=True):
    """The fields of every version of the format."""

    format: str
    version: int


__all__ = [
    "FORMAT",
    "MANIFEST",
    "NETWORK",
    "PREPROCESSING",
    "SAMPLE",
    "ARTIFACT_SUFFIX",
    "VERSION",
    "WEIGHTS",
    "GraphRecord",
    "InputRecord",
    "Manifest",
    "ManifestHeader",
    "OpRecord",
    "OutputRecord",
    "RandomRecord",
    "SpecRecord",
]
