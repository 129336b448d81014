"""Actions on blocks: group nodes into a block, unpack it, enter and leave it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from itertools import takewhile

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import (
    edit_graph,
    free_block_name,
    instance_of,
    make_unique,
    remove_unused_blocks,
    rename_block,
    unused_blocks,
    view,
)
from studio.document.blocks.block_grouping import group, unpack
from studio.document.document_errors import EditError
from studio.document.model import Document
from studio.lowering.analysis.block_types import INSIDE, known_type
from studio.lowering.analysis.open_ends import open_ends
from studio.ui.canvas import composite_edits
from studio.ui.canvas.canvas_context import CanvasContext
from studio.ui.canvas.geometry import GRID, Box, bounds, snap
from studio.ui.canvas.layout.push_nodes import WIRE_LENGTH, push_right, shifted_clear_of

_MIN_PREFIX = 3
"""Letters that names must begin with in common to name a block."""
_ROWS = 256
"""Positions that are tried above and below."""

Positions = dict[str, tuple[float, float]]


class BlockActions:
    """Each change is one edit of the store."""

    def __init__(self, context: CanvasContext) -> None:
        self._store = context.store
        self._scene = context.scene

    # -- making and unpacking blocks

    def group(self) -> str | None:
        """Replace the selected nodes by an instance of a new block. Returns its name; None if refused."""
        store, names = self._store, self._store.selection
        if not names:
            return None
        inside = store.block
        block = free_block_name(store.project.document, _common_name(names))
        boxes = self._scene.boxes()
        ends = open_ends(store.document, store.catalogue, names)
        made: list[str] = []

        def change(document: Document) -> Document:
            document, instance = group(
                document, names, block, inside=inside or None, open_inputs=ends.inputs, open_outputs=ends.outputs
            )
            self._check_types(names)
            made.append(instance)
            graph = view(document, inside) if inside else document
            others = [box for name, box in boxes.items() if name not in names]
            at = _room_near(self._new_box(graph, instance), others)
            return edit_graph(document, inside, partial(composite_edits.move_nodes, positions={instance: at}))

        title = f"Group {next(iter(names))}" if len(names) == 1 else f"Group {len(names)} nodes"
        if not store.project.edit(f"{title} into the block {block}", change):
            return None
        self._scene.selection.select(())
        store.select(made)
        return made[0]

    def _check_types(self, names: Collection[str]) -> None:
        """Raise EditError if a node cannot be inside a block, such as a loader or a loss."""
        document, catalogue = self._store.document, self._store.catalogue
        outside = [
            name
            for name in document.nodes
            if name in names and (kind := known_type(document, catalogue, name)) and kind.role not in INSIDE
        ]
        if outside:
            more = f" (and {len(outside) - 1} more)" if len(outside) > 1 else ""
            raise EditError(
                f"{outside[0]}{more} cannot be inside a block, which holds layers, operations and other blocks. "
                "Select only these."
            )

    def name_block(self, instance: str, name: str) -> None:
        """Name a new instance and its block."""
        inside = self._store.block

        def change(document: Document) -> Document:
            graph = view(document, inside) if inside else document
            _, block, _ = instance_of(graph, instance)
            document = edit_graph(document, inside, partial(edits.rename, old=instance, new=name))
            return rename_block(document, block, block if block == name else free_block_name(document, name))

        if self._store.project.edit(f"Name the block {name}", change):
            self._store.select([name])

    def unpack(self) -> None:
        """Replace the selected instances by the nodes of their blocks, and make room for them."""
        store = self._store
        names = [name for name in store.document.nodes if self._is_selected_instance(name)]
        inside = store.block
        made: list[str] = []

        def change(document: Document) -> Document:
            boxes = self._scene.boxes()
            for name in names:
                document, inner = unpack(document, name, inside=inside or None)
                graph = view(document, inside) if inside else document
                positions = self._unpacked_positions(graph, inner, boxes, name)
                document = edit_graph(document, inside, partial(composite_edits.move_nodes, positions=positions))
                boxes = self._moved(boxes, graph, positions, name)
                made.extend(inner)
            return document

        title = f"Unpack {names[0]}" if len(names) == 1 else f"Unpack {len(names)} blocks"
        if names and store.project.edit(title, change):
            self._scene.selection.select(())
            store.select(made)

    def _unpacked_positions(
        self, graph: Document, inner: Iterable[str], boxes: Mapping[str, Box], instance: str
    ) -> Positions:
        """Positions of the nodes of a former instance in its place, and of the nodes that they push to the right."""
        new = {name: self._new_box(graph, name) for name in inner}
        frame = bounds(new.values())
        if frame is None:
            return {}
        others = {name: box for name, box in boxes.items() if name != instance}
        place = boxes[instance]
        top = snap(place.center.y - frame.height / 2)
        goal = frame.moved(place.left - frame.left, top - frame.top)
        goal = shifted_clear_of(goal, others.values())
        dx, dy = snap(goal.left - frame.left), snap(goal.top - frame.top)
        inside = {name: (box.left + dx, box.top + dy) for name, box in new.items()}
        readers = {wire.target.node for wire in graph.wires if wire.source.node in new} - new.keys()
        row = (goal.top, goal.bottom)
        in_row = {name for name in readers if others[name].top < row[1] and row[0] < others[name].bottom}
        ahead = {name: WIRE_LENGTH for name in in_row if others[name].left >= place.right}
        return {**inside, **push_right(others, goal, ahead=ahead, wires=composite_edits.node_pairs(graph))}

    def _moved(self, boxes: Mapping[str, Box], graph: Document, positions: Positions, instance: str) -> dict[str, Box]:
        """The boxes after an instance was unpacked."""
        kept = {name: box for name, box in boxes.items() if name != instance}
        for name, (x, y) in positions.items():
            box = kept[name] if name in kept else self._new_box(graph, name)
            kept[name] = box.moved(x - box.left, y - box.top)
        return kept

    def _new_box(self, graph: Document, name: str) -> Box:
        node = graph.nodes[name]
        kind = known_type(graph, self._store.catalogue, name)
        if kind is None:
            return Box(node.at[0], node.at[1], node.at[0] + 15 * GRID, node.at[1] + 6 * GRID)
        return self._scene.new_box(name, kind, node.at)

    def make_unique(self) -> None:
        """Copy the blocks of the selected instances, so that edits of the copies change no other instance."""
        names = [name for name in self._store.document.nodes if self._is_selected_instance(name)]

        def change(document: Document) -> Document:
            for name in names:
                document = make_unique(document, name)
            return document

        title = f"Make {names[0]} unique" if len(names) == 1 else f"Make {len(names)} blocks unique"
        if names:
            self._store.edit(title, change)

    def remove_unused(self) -> None:
        """Remove the definitions that the project does not use."""
        names = unused_blocks(self._store.project.document)
        title = f"Remove the block {names[0]}" if len(names) == 1 else f"Remove {len(names)} unused blocks"
        if names:
            self._store.project.edit(title, remove_unused_blocks)

    # -- going into blocks

    def enter(self) -> None:
        """Show the graph of the selected instance."""
        if len(self._store.selection) == 1:
            self._store.enter(next(iter(self._store.selection)))

    def leave(self) -> None:
        """Show the graph around the shown one."""
        self._store.leave()

    def step_copy(self, step: int) -> None:
        """Show the next or the previous copy of a repeated instance."""
        if self._store.location:
            self._store.show_copy((self._store.location[-1].copy + step) % self._store.copies)

    # -- when they are available

    def has_unused(self) -> bool:
        return bool(unused_blocks(self._store.project.document))

    def has_instance(self) -> bool:
        return any(self._is_instance(name) for name in self._store.selection)

    def can_enter(self) -> bool:
        selection = self._store.selection
        return len(selection) == 1 and self._is_instance(next(iter(selection)))

    def _is_selected_instance(self, name: str) -> bool:
        return name in self._store.selection and self._is_instance(name)

    def _is_instance(self, name: str) -> bool:
        document = self._store.document
        node = document.nodes.get(name)
        return node is not None and block_nodes.name_of(node) in document.blocks


def _common_name(names: Iterable[str]) -> str:
    """A name for a block of nodes: the words that all of their names begin with, or "block"."""
    split = [name.split("_") for name in names]
    same = takewhile(lambda words: len(set(words)) == 1, zip(*split, strict=False))
    text = "_".join(words[0] for words in same) if len(split) > 1 else ""
    return text if len(text) >= _MIN_PREFIX else "block"


def _room_near(box: Box, others: Iterable[Box]) -> tuple[float, float]:
    """The position of a box, or the nearest one above or below where it overlaps no other."""
    others = [other for other in others if other.left < box.right and box.left < other.right]
    for row in range(_ROWS):
        for dy in (row * GRID, -row * GRID):
            moved = box.moved(0, dy)
            if not any(moved.overlaps(other) for other in others):
                return moved.left, moved.top
    return box.left, box.top
