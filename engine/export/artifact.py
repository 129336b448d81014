"""A network in a file that runs without the program that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from engine.backend import CPU, Device, resolve
from engine.export.artifact_records import Manifest
from engine.export.errors import ArtifactError
from engine.export.graph_runner import GraphRunner
from engine.io.byte_source import ByteSource
from engine.random import fork_rng, manual_seed
from engine.shape import Spec
from engine.tensors import Tensor
from engine.tracing.differences import TOLERANCE, difference
from engine.tracing.traced_graph import TracedGraph, TracedValue


@dataclass(frozen=True, slots=True)
class TensorSignature:
    """Name, shape and dtype of an input or output. Sizes are numbers or symbols such as ``N``."""

    name: str
    spec: Spec

    def __str__(self) -> str:
        return f"{self.name} {self.spec}"


@dataclass(frozen=True, slots=True)
class Verification:
    """How outputs of an artifact differ from those that it should have."""

    samples: int
    absolute: float
    """Largest difference of an element."""
    relative: float
    """Largest difference relative to the largest number of the output; infinite for NaN in one of them."""
    output: str
    """Name of the output with the largest relative difference."""

    @property
    def agrees(self) -> bool:
        """Whether the relative difference is at most 0.0001."""
        return self.relative <= TOLERANCE

    @property
    def is_identical(self) -> bool:
        return self.absolute == 0


@dataclass(frozen=True)
class Sample:
    """Inputs and the outputs that the exported model gave for them."""

    inputs: tuple[NDArray[Any], ...]
    outputs: tuple[NDArray[Any], ...]
    raw: NDArray[Any] | None = None
    """The first input before the preprocessing."""


@dataclass(frozen=True)
class ArtifactContent:
    """The decoded and checked members of an artifact."""

    manifest: Manifest
    sha256: str
    network: TracedGraph
    output_names: tuple[str, ...]
    preprocessing: TracedGraph | None
    sample: Sample


class Artifact:
    """A traced model with weights, called like the model. `engine.export.load` and `engine.export.export` make one.

    Args:
        source: the archive
        content: its decoded members
        device: device of the weights and the computation
    """

    def __init__(self, source: ByteSource, content: ArtifactContent, device: Device = CPU) -> None:
        self.source, self.device = source, device
        self._content = content
        self._network = GraphRunner(content.network, source.name, device)
        graph = content.preprocessing
        self._preprocessing = None if graph is None else GraphRunner(graph, f"{source.name}: preprocessing", device)

    def __call__(self, *inputs: Any) -> Any:
        """The outputs of the network: a tensor, or a tuple of several.

        Args:
            inputs: tensors or arrays of the shapes and dtypes of `inputs`

        Raises:
            ArtifactError: the inputs do not fit.
        """
        found = self._network(inputs)
        return found[0] if len(found) == 1 else found

    def preprocess(self, raw: Any) -> Tensor:
        """Apply the validation transforms to raw samples, such as unscaled images.

        Args:
            raw: tensor or array of the shape and dtype of `raw_input`

        Returns:
            the input of the network.

        Raises:
            ArtifactError: the samples do not fit, or the artifact has no preprocessing.
        """
        if self._preprocessing is None:
            raise ArtifactError(
                f"{self.name} has no preprocessing. Pass samples as in {self.inputs[0]} to the artifact itself."
            )
        [found] = self._preprocessing([raw])
        return found

    def to(self, device: Device | str) -> Artifact:
        """The artifact on another device."""
        return Artifact(self.source, self._content, resolve(device))

    def verify(self) -> Verification:
        """Compute the sample of the artifact again, and compare the outputs with the stored ones."""
        sample = self._content.sample
        with fork_rng():
            manual_seed(self._content.manifest.seed)
            found = self._network(sample.inputs)
        pairs = [*zip(self._content.output_names, found, sample.outputs, strict=True)]
        if self._preprocessing is not None and sample.raw is not None:
            pairs.append(("the preprocessing", self.preprocess(sample.raw), sample.inputs[0]))
        return compare_outputs(pairs, len(sample.inputs[0]) if sample.inputs and sample.inputs[0].ndim else 1)

    # -- description

    @property
    def name(self) -> str:
        return self._content.manifest.name

    @property
    def inputs(self) -> tuple[TensorSignature, ...]:
        return tuple(TensorSignature(each.name, each.spec) for each in self._content.network.inputs)

    @property
    def outputs(self) -> tuple[TensorSignature, ...]:
        pairs = zip(self._content.output_names, self._content.network.outputs, strict=True)
        return tuple(TensorSignature(name, value.spec) for name, value in pairs)

    @property
    def raw_input(self) -> TensorSignature | None:
        """The input of the preprocessing; None if there is none."""
        graph = self._content.preprocessing
        return None if graph is None else TensorSignature(graph.inputs[0].name, graph.inputs[0].spec)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes of the first output; empty if it has none."""
        return tuple(self._content.manifest.labels)

    @property
    def libraries(self) -> Mapping[str, str]:
        """Versions of the libraries that wrote the artifact."""
        return dict(self._content.manifest.libraries)

    @property
    def sha256(self) -> str:
        """Hash of all members: equal for equal artifacts."""
        return self._content.sha256

    @property
    def sample(self) -> Sample:
        return self._content.sample

    @property
    def op_count(self) -> int:
        return len(self._content.network.ops)

    @property
    def weights(self) -> Mapping[str, NDArray[Any]]:
        """Weights by their name in the model, without constants."""
        found = {value.name: value for op in self._content.network.ops for value in op.operands if _is_weight(value)}
        return {name: value.array for name, value in found.items() if value.array is not None}

    def __repr__(self) -> str:
        described = ", ".join(map(str, self.inputs)), ", ".join(map(str, self.outputs))
        return f"Artifact({self.name!r}: {described[0]} → {described[1]})"


def _is_weight(value: TracedValue) -> bool:
    return value.array is not None and ":" not in value.name


def compare_outputs(pairs: Sequence[tuple[str, Tensor, Any]], samples: int) -> Verification:
    """Compare outputs with expected ones.

    Args:
        pairs: name, found and expected output
        samples: number of samples
    """
    absolute = relative = 0.0
    worst = pairs[0][0] if pairs else ""
    for name, found, expected in pairs:
        differences = difference(found.numpy(force=True), expected)
        absolute = max(absolute, differences[0])
        if differences[1] > relative:
            relative, worst = differences[1], name
    return Verification(samples, absolute, relative, worst)


__all__ = ["Artifact", "ArtifactContent", "Sample", "TensorSignature", "Verification", "compare_outputs"]
