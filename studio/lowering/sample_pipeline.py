"""The data nodes of a program, to find the node that raised an error while samples were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from engine.data.joint_loader import JointLoader
from engine.data.samples import MappedSamples, Samples
from engine.data.splits import Splits
from engine.data.transforms import Transform
from engine.errors import DataError
from studio.document.graph_walk import walk
from studio.lowering.analysis.node_graph import NodeGraph
from studio.nodes.types import Role


@dataclass(frozen=True, slots=True)
class SamplePipeline:
    """The data nodes from a source to its loader."""

    source: str
    transforms: tuple[str, ...]
    """In the order of application."""
    loader: str
    node_by_class: Mapping[Any, str]
    """Nodes of sources and splits, by class."""

    def responsible_node(self, error: BaseException) -> str | None:
        """The node whose samples or transform raised an error; the loader for errors of batches.

        Samples are read after the `data` method has returned, so its lines are not in the traceback. The nested
        Samples objects in the traceback identify the node. None for an error that is not about data.
        """
        found = self.loader if isinstance(error, DataError) else None
        seen_transforms: set[int] = set()
        for item in _objects(error.__traceback__):
            if isinstance(item, Splits):
                found = self.node_by_class.get(type(item), found)
            elif isinstance(item, Samples):
                found = self.source
                if isinstance(item, MappedSamples):
                    seen_transforms.add(id(item))
            elif isinstance(item, Transform) and 0 < len(seen_transforms) <= len(self.transforms):
                found = self.transforms[-len(seen_transforms)]
        return found


@dataclass(frozen=True, slots=True)
class SamplePipelines:
    """The data nodes of each loader of a program, in the order in which they are joined."""

    parts: tuple[SamplePipeline, ...]

    @property
    def loaders(self) -> tuple[str, ...]:
        return tuple(part.loader for part in self.parts)

    @property
    def source(self) -> str:
        """The first source."""
        return self.parts[0].source

    def responsible_node(self, error: BaseException) -> str | None:
        """The node whose samples or transform raised an error, as in `SamplePipeline.responsible_node`."""
        return self.parts[_joined_loader(error.__traceback__)].responsible_node(error)


def sample_pipelines_of(graph: NodeGraph) -> SamplePipelines:
    """The data nodes of a valid graph."""
    loaders = [name for name in graph.order if graph.types[name].role is Role.LOADER and name in graph.needed]
    return SamplePipelines(tuple(_pipeline_of(graph, loader) for loader in loaders))


def _pipeline_of(graph: NodeGraph, loader: str) -> SamplePipeline:
    chain = list(walk([loader], lambda name: [end.node for end in graph.sources(name).values()]))[::-1]
    transforms = tuple(name for name in chain if graph.types[name].role is Role.TRANSFORM)
    node_by_class = {
        graph.types[name].target: name for name in chain if graph.types[name].role in (Role.SOURCE, Role.DIVISION)
    }
    return SamplePipeline(chain[0], transforms, loader, node_by_class)


def _joined_loader(trace: TracebackType | None) -> int:
    """The position of the loader whose batch was made when an error was raised; 0 for a single one."""
    while trace is not None:
        if isinstance(trace.tb_frame.f_locals.get("self"), JointLoader):
            number = trace.tb_frame.f_locals.get("number")
            return number if isinstance(number, int) else 0
        trace = trace.tb_next
    return 0


def _objects(trace: TracebackType | None) -> Iterator[Any]:
    """The objects whose methods are in a traceback, outermost first."""
    while trace is not None:
        yield trace.tb_frame.f_locals.get("self")
        trace = trace.tb_next


__all__ = ["SamplePipeline", "SamplePipelines", "sample_pipelines_of"]
