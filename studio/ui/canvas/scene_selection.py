"""The selected wires and reroute points of the canvas. The store holds the selected nodes, `FrameItems` the frames."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from PySide6.QtCore import QObject, Signal

from studio.document.model import Wire
from studio.ui.canvas.frames.frame_items import FrameItems
from studio.ui.canvas.layers.overview_layer import OverviewLayer
from studio.ui.canvas.wires.wire_item import WireItem


class SceneSelection(QObject):
    """Selects wires, frames and reroute points, which are independent of the selected nodes.

    Args:
        items: the items of the wires with reroute points
    """

    changed = Signal()
    """Other wires, frames or reroute points were selected."""

    def __init__(
        self,
        wires: Mapping[Wire, WireItem],
        frames: FrameItems,
        overview_layer: OverviewLayer,
        *,
        items: Callable[[], Iterable[WireItem]],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._wires, self._frames, self._overview_layer, self._items = wires, frames, overview_layer, items
        self._selected: dict[Wire, None] = {}

    @property
    def wires(self) -> tuple[Wire, ...]:
        """The selected wires."""
        return tuple(self._selected)

    @property
    def points(self) -> tuple[tuple[Wire, int], ...]:
        """The selected reroute points: wire and index."""
        return tuple((item.wire, index) for item in self._items() for index in sorted(item.selected_points))

    def select(
        self, wires: Iterable[Wire], *, frames: Iterable[str] = (), points: Iterable[tuple[Wire, int]] = ()
    ) -> None:
        """Select these wires, frames and reroute points, and no others."""
        chosen, by_wire = set(wires), defaultdict[Wire, set[int]](set)
        for wire, index in points:
            by_wire[wire].add(index)
        self._frames.select(frames)
        for wire in {*self._selected, *chosen} & self._wires.keys():
            self._wires[wire].set_state(selected=wire in chosen)
        self._selected = {wire: None for wire in self._wires if wire in chosen} if chosen else {}
        for item in self._items():
            item.set_point_state(selected=frozenset(by_wire[item.wire]))
        self._overview_layer.refresh_marks()
        self.changed.emit()

    def forget(self, wire: Wire) -> None:
        """Take a wire that was removed out of the selection."""
        self._selected.pop(wire, None)
