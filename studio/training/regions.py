"""Maps an explanation to a canvas: compiled regions, kernels, and graph breaks between regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.compiler import Explanation
from engine.compiler.break_reasons import REASONS
from engine.compiler.explanation import GraphBreak, KernelInfo, SegmentInfo, SourceLine
from studio.document.model import Wire


@dataclass(frozen=True, slots=True)
class KernelNodes:
    """Nodes that one generated kernel computes, completely or in part."""

    segment: int
    number: int
    """Number of the kernel in its segment, from 1."""
    ops: tuple[str, ...]
    nodes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Region:
    """Nodes whose forward ops start in one segment."""

    segment: int
    nodes: frozenset[str]
    kernels: int
    """Generated kernels of the segment."""
    groups: tuple[KernelNodes, ...]
    """Kernels. A node belongs to the first kernel that computes a part of it, or to none."""


@dataclass(frozen=True, slots=True)
class RegionBreak:
    """A graph break between two regions."""

    index: int
    """Index of the break in the explanation."""
    title: str
    node: str | None
    """Canvas node of the line, if it belongs to one."""
    wires: frozenset[Wire]
    """Wires between the two regions that this break separates."""
    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RegionMap:
    regions: tuple[Region, ...] = ()
    breaks: tuple[RegionBreak, ...] = ()


def map_to_canvas(
    found: Explanation,
    nodes: Iterable[str],
    wires: Iterable[Wire],
    inside: str = "",
    shared: Mapping[str, str] | None = None,
) -> RegionMap:
    """Maps an explanation to the nodes and wires of a canvas. Parts without a node are left out.

    Args:
        inside: beginning of the paths of the nodes in the first instance of a block: "encoder."; empty for the project
        shared: for instances, the prefix of the first instance of the same block, which the lines of all of them name
    """
    names = frozenset(nodes)
    segment_of = _segment_of_node(found.segments, names, inside)
    segment_of |= _segment_of_instance(found.segments, {k: v for k, v in (shared or {}).items() if k not in segment_of})
    regions = tuple(
        Region(one.number, members, len(_generated(one)), _kernel_nodes(one, members, inside))
        for one in found.segments
        if (members := frozenset(name for name, number in segment_of.items() if number == one.number))
    )
    crossing = _wires_between_regions(wires, segment_of)
    ends = [one.number for one in found.segments if one.ended_by is not None]
    breaks = tuple(_region_break(found, index, names, inside, crossing, ends) for index in range(len(found.breaks)))
    return RegionMap(regions, breaks)


def nodes_of(line: SourceLine | None, inside: str = "") -> tuple[str, ...]:
    """The canvas nodes of a line: for one in a block, the instance. The update step belongs to all optimizers."""
    names = line.node.split(", ") if line is not None and line.node else []
    return tuple(name[len(inside) :].partition(".")[0] for name in names if name.startswith(inside))


def nodes_of_kernel(kernel: KernelInfo, inside: str = "") -> tuple[str, ...]:
    """The canvas nodes of a kernel in the order of its ops."""
    return tuple(dict.fromkeys(name for line in kernel.lines for name in nodes_of(line, inside)))


def nodes_of_segment(segment: SegmentInfo) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for one in segment.operations for name in nodes_of(one.line)))


def _segment_of_node(segments: Iterable[SegmentInfo], names: frozenset[str], inside: str) -> dict[str, int]:
    """Node → number of the segment in which its forward ops start, or its other ops if it has no forward ops."""
    forward: dict[str, int] = {}
    other: dict[str, int] = {}
    for segment in segments:
        for operation in segment.operations:
            for name in nodes_of(operation.line, inside):
                (other if operation.backward else forward).setdefault(name, segment.number)
    return {name: number for name, number in {**other, **forward}.items() if name in names}


def _segment_of_instance(segments: Iterable[SegmentInfo], shared: Mapping[str, str]) -> dict[str, int]:
    """Instance → the segment in which all instances of its block are. Unknown if they are in several segments."""
    found: dict[str, set[int]] = {prefix: set() for prefix in shared.values()}
    for segment in segments:
        lines = {one.line.node or "" for one in segment.operations if one.line is not None}
        for prefix, numbers in found.items():
            if any(name.startswith(prefix) for name in lines):
                numbers.add(segment.number)
    return {name: min(found[prefix]) for name, prefix in shared.items() if len(found[prefix]) == 1}


def _generated(segment: SegmentInfo) -> list[KernelInfo]:
    return [kernel for kernel in segment.kernels if kernel.kind == "kernel"]


def _kernel_nodes(segment: SegmentInfo, members: frozenset[str], inside: str) -> tuple[KernelNodes, ...]:
    """Kernels with their nodes. Nodes prefer kernels whose results are not scalars."""
    assigned: set[str] = set()
    groups: list[KernelNodes] = []
    numbered = list(enumerate(_generated(segment), start=1))
    backward = _nodes_with_gradients(segment, inside)
    last_forward = _last_forward_kernel(segment, backward, inside)
    for number, kernel in sorted(numbered, key=lambda one: (_is_scalar(one[1]), one[0])):
        nodes = frozenset(nodes_of_kernel(kernel, inside)) & members - assigned
        if last_forward is not None and number > last_forward:
            nodes -= backward  # this kernel computes their gradients
        assigned |= nodes
        if nodes:
            groups.append(KernelNodes(segment.number, number, kernel.ops, nodes))
    return tuple(sorted(groups, key=lambda group: group.number))


def _nodes_with_gradients(segment: SegmentInfo, inside: str) -> frozenset[str]:
    """Nodes with ops of the backward pass in a segment."""
    return frozenset(name for one in segment.operations if one.backward for name in nodes_of(one.line, inside))


def _last_forward_kernel(segment: SegmentInfo, backward: frozenset[str], inside: str) -> int | None:
    """The number of the kernel in which the forward pass ends; None if there is none."""
    forward = [name for one in segment.operations if not one.backward for name in nodes_of(one.line, inside)]
    last = next((name for name in reversed(forward) if name in backward), None)
    kernels = enumerate(_generated(segment), start=1)
    return next((number for number, kernel in kernels if last in nodes_of_kernel(kernel, inside)), None)


def _is_scalar(kernel: KernelInfo) -> bool:
    return all(text.startswith("scalar ") for text in kernel.makes)


def _wires_between_regions(wires: Iterable[Wire], segment_of: Mapping[str, int]) -> dict[Wire, tuple[int, int]]:
    """Wires between regions, with the segments at both ends, the earlier one first.

    Nodes without a region, such as those with code in a file of the user, count as part of the wire.
    """
    all_wires = tuple(wires)
    before = _propagate(segment_of, [(wire.source.node, wire.target.node) for wire in all_wires], max)
    after = _propagate(segment_of, [(wire.target.node, wire.source.node) for wire in all_wires], min)
    ends = ((wire, before.get(wire.source.node), after.get(wire.target.node)) for wire in all_wires)
    return {wire: (a, b) if a < b else (b, a) for wire, a, b in ends if a is not None and b is not None and a != b}


def _propagate(
    segment_of: Mapping[str, int], links: Sequence[tuple[str, str]], choose: Callable[[int, int], int]
) -> dict[str, int]:
    """Propagates segment numbers along links to nodes without a segment."""
    found = dict(segment_of)
    for _ in range(len(links)):
        changed = False
        for source, target in links:
            if source in found and target not in segment_of:
                number = choose(found.get(target, found[source]), found[source])
                changed |= found.get(target) != number
                found[target] = number
        if not changed:
            break
    return found


def _region_break(
    found: Explanation,
    index: int,
    names: frozenset[str],
    inside: str,
    crossing: Mapping[Wire, tuple[int, int]],
    ends: list[int],
) -> RegionBreak:
    graph_break = found.breaks[index]
    node = next((name for name in nodes_of(graph_break.line, inside) if name in names), None)
    segments = [number for number in ends if _ended_by(found.segments[number - 1], graph_break, found.breaks)]
    separated = frozenset(wire for wire, (a, b) in crossing.items() if any(a <= number < b for number in segments))
    return RegionBreak(
        index, REASONS[graph_break.reason].title, node, separated, graph_break.count, graph_break.seconds
    )


def _ended_by(segment: SegmentInfo, graph_break: GraphBreak, breaks: tuple[GraphBreak, ...]) -> bool:
    """Whether a break ended a segment. Among breaks of one reason, the location of the last op decides."""
    if segment.ended_by != graph_break.reason:
        return False
    same_reason = [other for other in breaks if other.reason == graph_break.reason]
    if len(same_reason) == 1:
        return True
    last = nodes_of(segment.operations[-1].line) if segment.operations else ()
    at_last_op = [other for other in same_reason if set(nodes_of(other.line)) & set(last)]
    return graph_break in at_last_op if at_last_op else graph_break is same_reason[0]


__all__ = [
    "RegionBreak",
    "KernelNodes",
    "RegionMap",
    "Region",
    "nodes_of",
    "nodes_of_kernel",
    "nodes_of_segment",
    "map_to_canvas",
]
