"""The hierarchy of a profile: step, phases, nodes by their blocks, kernels."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from studio.training.profiling.profile_data import PHASE_TITLES, PHASES, Phase, Profile


@dataclass(eq=False, slots=True)
class TimeItem:
    """A part of the step with the parts that it consists of."""

    title: str
    phase: Phase | None = None
    """None for the step."""
    path: str = ""
    """Path of the node, or of the block instance; empty for time that belongs to no node."""
    kernel: int | None = None
    seconds: float = 0.0
    start: float = 0.0
    """Seconds of the parts before it, from the start of the step."""
    depth: int = 0
    parent: TimeItem | None = field(default=None, repr=False)
    children: list[TimeItem] = field(default_factory=list, repr=False)

    @property
    def is_node(self) -> bool:
        """Whether it is a node or a block instance, with all its kernels."""
        return bool(self.path) and (self.parent is None or self.parent.path != self.path)

    def walk(self) -> Iterator[TimeItem]:
        """This item and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


def time_tree(profile: Profile) -> TimeItem:
    """The step of a profile with its parts. Those of a phase are in the order of the step."""
    root = TimeItem("Step")
    for phase in PHASES:
        top = TimeItem(PHASE_TITLES[phase], phase, depth=1, parent=root)
        groups: dict[str, TimeItem] = {"": top}
        leaves: dict[tuple[str, str, int | None], TimeItem] = {}
        for part in profile.parts:
            if part.phase != phase or not part.seconds:
                continue
            group = _group(groups, part.node, phase)
            key = part.node, part.title, part.kernel
            if key not in leaves:
                leaves[key] = TimeItem(part.title, phase, part.node, part.kernel, depth=group.depth + 1, parent=group)
                group.children.append(leaves[key])
            leaves[key].seconds += part.seconds
        if top.children:
            root.children.append(top)
    _sum_up(root, 0.0)
    return root


def _group(groups: dict[str, TimeItem], path: str, phase: Phase) -> TimeItem:
    """The item of a node within a phase. Optimizers that share a part are one node."""
    if path in groups:
        return groups[path]
    outer, _, name = ("", "", path) if ", " in path else path.rpartition(".")
    parent = _group(groups, outer, phase)
    found = groups[path] = TimeItem(name, phase, path, depth=parent.depth + 1, parent=parent)
    parent.children.append(found)
    return found


def _sum_up(item: TimeItem, start: float) -> float:
    """Set starts and sums. Returns the end."""
    item.start, end = start, start + (0.0 if item.children else item.seconds)
    for child in item.children:
        end = _sum_up(child, end)
    item.seconds = end - start
    return end


def items_of(root: TimeItem, paths: Collection[str]) -> set[TimeItem]:
    """The items of nodes and block instances, without what is inside them."""
    return {item for item in root.walk() if item.is_node and not {*item.path.split(", ")}.isdisjoint(paths)}


__all__ = ["TimeItem", "items_of", "time_tree"]
