"""Autograd panel: the backward graph of the last training step, linked to canvas nodes."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QStackedLayout, QVBoxLayout, QWidget

from studio.training.autograd.autograd_snapshot import AutogradSnapshot
from studio.training.autograd.graph_outline import Key
from studio.ui import number_format
from studio.ui.panels.autograd.details_pane import DetailsPane
from studio.ui.panels.autograd.graph_layouter import GraphLayouter, ShownGraph
from studio.ui.panels.autograd.graph_painter import Highlights
from studio.ui.panels.autograd.graph_toolbar import GraphToolbar
from studio.ui.panels.autograd.graph_view import GraphView
from studio.ui.panels.autograd.norm_scale import NormScale
from studio.ui.panels.autograd.snapshot_refresher import SnapshotRefresher
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner
from studio.ui.widgets.empty_state import EmptyState

_NARROW = 640
"""Width below which either the graph or the details are shown."""
_MAX_UNFOLDED = 400
"""Nodes of the canvas selection up to which their groups are expanded."""


class AutogradPanel(QWidget):
    def __init__(self, store: ProjectStore, runner: TrainingRunner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store, self._runner = store, runner
        self._snapshot: AutogradSnapshot | None = None
        self._shown: ShownGraph | None = None
        self._scale = NormScale(())
        self._selected: Key | None = None
        self._current: int | None = None
        """Node that the steps through the backward pass have reached."""
        self._matches: list[int] = []
        self._anchor: Key | None = None
        self._to_reveal: list[Key] = []
        self._is_selecting = False
        self._layouter = GraphLayouter(self)
        self._layouter.arranged.connect(self._show)
        self.refresher = SnapshotRefresher(runner, self)
        self._empty = EmptyState(
            "autograd",
            "No backward graph yet",
            "Run one forward and backward pass to see its graph with the gradient norms.",
            action="Run one step",
            run=runner.request_snapshot,
        )
        self.view = GraphView()
        self.details = DetailsPane()
        self.toolbar = GraphToolbar(
            expand_all=self.expand_all,
            collapse_all=self.collapse_all,
            fit=self.view.fit,
            take_step=self._take_step,
        )
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.addWidget(self.view)
        self._splitter.addWidget(self.details)
        self._splitter.setStretchFactor(0, 1)
        self._splitter.setSizes([700, 280])
        self._splitter.setChildrenCollapsible(False)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.toolbar)
        column.addWidget(self._splitter, 1)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(page)
        self._connect()

    def _connect(self) -> None:
        self._runner.snapshot_ready.connect(self.show_snapshot)
        self._store.selection_changed.connect(self._follow_canvas)
        self.view.chosen.connect(self._choose)
        self.view.toggled.connect(self.toggle)
        self.view.step_requested.connect(self.step)
        self.view.search_requested.connect(self._focus_search)
        self.view.left.connect(self._leave)
        self.details.node_requested.connect(self.go_to)
        self.details.canvas_requested.connect(self._select_on_canvas)
        bar = self.toolbar
        bar.step_requested.connect(self.step)
        bar.search_changed.connect(self._search)
        bar.match_requested.connect(self._go_to_match)
        bar.search_left.connect(self.view.setFocus)
        bar.details.toggled.connect(self._fit_panes)

    @property
    def snapshot(self) -> AutogradSnapshot | None:
        return self._snapshot

    @property
    def shown(self) -> ShownGraph | None:
        """What is drawn; None before the first layout."""
        return self._shown

    @property
    def current(self) -> int | None:
        """Node that the steps through the backward pass have reached."""
        return self._current

    def show_snapshot(self, snapshot: AutogradSnapshot) -> None:
        """Draw the graph of this step. Folding and selection stay if it has the same nodes."""
        self._snapshot = snapshot
        self._layouter.request(snapshot, self._shown)

    def set_in_sight(self, in_sight: bool) -> None:
        """Set whether the user sees the panel. Qt reports a dock widget behind another tab as visible, too."""
        self.refresher.set_in_sight(in_sight)

    def close_view(self) -> None:
        """Stop the threads. The panel must not be used afterwards."""
        self.refresher.close()
        self._layouter.close()

    # -- folding

    def toggle(self, path: str) -> None:
        """Fold or unfold a group."""
        if self._shown is not None:
            self._expand(self._shown.expanded ^ {path}, anchor=path)
            self._select(path)

    def expand_all(self) -> None:
        if self._shown is not None:
            self._expand(frozenset(self._shown.outline.groups))

    def collapse_all(self) -> None:
        if self._shown is not None:
            self._expand(frozenset())

    def _expand(self, expanded: frozenset[str], *, anchor: Key | None = None, reveal: Iterable[Key] = ()) -> None:
        """Lay out the graph with these groups expanded. `reveal` is scrolled to afterwards."""
        self._anchor, self._to_reveal = anchor, list(reveal)
        if self._shown is not None and self._snapshot is not None:
            self._layouter.request(self._snapshot, self._shown, expanded)

    # -- selection

    def go_to(self, id: int) -> None:
        """Select a graph node and its canvas node; unfold the groups around it."""
        shown = self._shown
        if shown is None:
            return
        self._select(id)
        if shown.outline.visible(id, shown.expanded) == id:
            self.view.reveal([id])
        else:
            self._expand(shown.expanded | shown.outline.around([id]), reveal=[id])

    def _choose(self, key: Key | None) -> None:
        """Select a clicked item, and end the steps."""
        self.view.setFocus(Qt.FocusReason.MouseFocusReason)
        self._end_steps()
        self._select(key)
        if key is None:
            self._store.select([])

    def _select(self, key: Key | None) -> None:
        self._selected = key
        path = (
            key
            if isinstance(key, str)
            else None
            if key is None or self._snapshot is None
            else self._snapshot.nodes.get(key)
        )
        if path:
            self._select_on_canvas(path)
        self._update_marks()

    def _select_on_canvas(self, path: str) -> None:
        """Select a canvas node without moving the graph. The canvas goes to its instance."""
        name = path.rpartition(".")
        self._is_selecting = True
        try:
            self._store.select([name[0] if name[2].isdecimal() else path])  # of a copy, the instance
        finally:
            self._is_selecting = False
        self._update_marks()

    def _follow_canvas(self, *_: object) -> None:
        """Show the nodes of what was selected on the canvas."""
        shown = self._shown
        if self._is_selecting or shown is None:
            return
        self._end_steps()
        ids = self._marked_ids()
        selection = self._store.selection
        path = next(iter(selection)) if len(selection) == 1 else None
        self._selected = path if path in shown.outline.groups else min(ids) if ids and path else None
        expanded = shown.expanded
        if 0 < len(ids) <= _MAX_UNFOLDED:
            expanded = expanded | shown.outline.around(ids)
        keys: list[Key] = [path] if path is not None and path in expanded else []
        keys += sorted({shown.outline.visible(id, expanded) for id in ids}, key=str)
        if expanded != shown.expanded:
            self._expand(expanded, reveal=keys)
        elif keys:
            self.view.reveal(keys)
        self._update_marks()

    def _marked_ids(self) -> frozenset[int]:
        snapshot = None if self._shown is None else self._shown.snapshot
        ids = (snapshot.ids(path) for path in self._store.selection) if snapshot is not None else ()
        return frozenset().union(*ids)

    def _update_marks(self) -> None:
        shown = self._shown
        if shown is None:
            return
        marked = {shown.outline.visible(id, shown.expanded) for id in self._marked_ids()}
        marked |= {path for path in self._store.selection if path in shown.outline.groups}
        matches = {shown.outline.visible(id, shown.expanded) for id in self._matches}
        self.view.highlight(Highlights(self._selected, frozenset(marked), frozenset(matches), self._current))
        self.details.show_details(shown, self._selected if self._current is None else self._current)
        self.toolbar.position.setText(self._position_text(shown))

    # -- steps through the backward pass

    def step(self, which: str) -> None:
        """Go to the first, previous, next or last node of the backward pass, or to the previous or next layer."""
        shown = self._shown
        if shown is None or not shown.snapshot.graph.nodes:
            return
        last = len(shown.snapshot.graph.nodes) - 1
        at = -1 if self._current is None else self._current
        found = {"first": 0, "previous": at - 1, "next": at + 1, "last": last}.get(which)
        if found is None:
            found = self._other_layer(shown, at, 1 if which == "next layer" else -1)
        self._current = min(max(found, 0), last)
        self.refresher.is_held = True
        key = shown.outline.visible(self._current, shown.expanded)
        self._selected = key
        if owner := shown.snapshot.nodes.get(self._current):
            self._select_on_canvas(owner)
        else:
            self._update_marks()
        self.view.reveal([key])

    def _other_layer(self, shown: ShownGraph, at: int, direction: int) -> int:
        """The next node of another layer."""
        owners, count = shown.snapshot.nodes, len(shown.snapshot.graph.nodes)
        found = at + direction
        while 0 <= at < count and 0 <= found < count and owners.get(found) == owners.get(at):
            found += direction
        return found

    def _leave(self) -> None:
        """End the steps; without steps, select nothing."""
        if self._current is None:
            self._selected = None
        self._end_steps()
        self._update_marks()

    def _end_steps(self) -> None:
        self._current = None
        self.refresher.is_held = False

    def _position_text(self, shown: ShownGraph) -> str:
        nodes = shown.snapshot.graph.nodes
        if self._current is not None:
            node = nodes[self._current]
            done = sum(1 for each in nodes[: self._current + 1] if each.leaf is not None)
            norm = "" if node.gradient_norm is None else f" · norm {number_format.norm(node.gradient_norm)}"
            leaves = sum(1 for each in nodes if each.leaf is not None)
            return f"{node.id + 1:,} of {len(nodes):,} · {node.leaf or node.name}{norm} · {done} of {leaves} leaves"
        if self.toolbar.search.text():
            at = self._matches.index(self._selected) + 1 if self._selected in self._matches else 0
            found = number_format.count(len(self._matches), "results")
            return f"{at} of {found}" if at else found
        return ""

    # -- search

    def _search(self, text: str) -> None:
        shown = self._shown
        self._matches = [] if shown is None else shown.outline.search(text, shown.snapshot.nodes)
        self._update_marks()

    def _focus_search(self) -> None:
        self.toolbar.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.toolbar.search.selectAll()

    def _go_to_match(self, direction: int) -> None:
        if not self._matches:
            return
        at = self._matches.index(self._selected) if self._selected in self._matches else -1 if direction > 0 else 0
        self._end_steps()
        self.go_to(self._matches[(at + direction) % len(self._matches)])

    # -- drawing

    def _take_step(self) -> None:
        self._leave()
        self._runner.request_snapshot()

    def _show(self, shown: ShownGraph) -> None:
        before, self._shown = self._shown, shown
        if not shown.continues:
            self._selected, self._matches = None, []
            self._end_steps()
            self._matches = shown.outline.search(self.toolbar.search.text(), shown.snapshot.nodes)
        self._scale = NormScale(node.gradient_norm for node in shown.snapshot.graph.nodes)
        self.toolbar.legend.show_scale(self._scale)
        self.toolbar.summary.setText(self._summary(shown))
        self._stack.setCurrentIndex(1)
        self.view.show_graph(shown, self._scale, anchor=self._anchor)
        self._anchor = None
        self._update_marks()
        if self._to_reveal:
            self.view.reveal(self._to_reveal)
            self._to_reveal = []
        elif before is None and self._store.selection:
            self._follow_canvas()

    def _summary(self, shown: ShownGraph) -> str:
        snapshot, nodes = shown.snapshot, shown.snapshot.graph.nodes
        run = self._runner.snapshot_run
        source = f"{run.name}, step {snapshot.step:,}" if run is not None and snapshot.step else "Initial weights"
        parts = [
            source,
            f"loss {number_format.measured(snapshot.loss)}",
            number_format.count(len(nodes), "nodes"),
            f"{number_format.size(snapshot.graph.saved_bytes)} saved",
        ]
        if shown.largest:
            largest = nodes[shown.largest[0]]
            owner = snapshot.nodes.get(largest.id, largest.name)
            parts.append(f"largest {owner} {number_format.size(largest.saved_bytes)}")
        if shown.changed:
            parts.append(f"{number_format.count(shown.changed, 'saved tensors')} changed in place")
        if cuts := len({cut.where for cut in snapshot.graph.cuts}):
            parts.append(f"history cut at {number_format.count(cuts, 'lines')}")
        return " · ".join(parts)

    # -- Qt events

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_panes()

    def _fit_panes(self, *_: object) -> None:
        is_narrow = self.width() < _NARROW
        button = self.toolbar.details
        button.setVisible(is_narrow)
        self.view.setVisible(not is_narrow or not button.isChecked())
        self.details.setVisible(not is_narrow or button.isChecked())
