"""Colors the nodes and wires of a canvas by a figure of the graph, of measured times, or of a step of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QTimer, Signal
from PySide6.QtGui import QAction

from studio.training.probing.node_times import NodeTime
from studio.training.statistics.canvas_figures import FIGURES, CanvasFigure
from studio.training.statistics.canvas_values import CanvasValues, change_scale, changes, step_values
from studio.training.statistics.color_scale import BROKEN, ColorScale, Shade, fitted_scale
from studio.training.statistics.step_statistics import StepStatistics
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.coloring.color_chooser import ColorChooser
from studio.ui.canvas.coloring.color_legend import ColorLegend
from studio.ui.canvas.coloring.compile_overlay import CompileOverlay
from studio.ui.canvas.coloring.figure_text import change_text, end_texts, node_text, range_text, value_text
from studio.ui.canvas.coloring.graph_figures import GraphFigures
from studio.ui.canvas.coloring.moment_text import GRADIENTS, gradients_of, has_same_gradients, why_nothing
from studio.ui.canvas.hit_testing import Hit
from studio.ui.project.shown_moment import Moment, ShownMoment
from studio.ui.project.time_measurer import TimeMeasurer

_EDGE = 12
_LIVE_MS = 200
"""Minimum interval between updates while a run is measured; each repaints the canvas."""
_SAMPLED = 4
"""Steps of a run that the scale is fitted to, so that colors can be compared over time."""
_REGIONS = "regions"
_TIMES: Mapping[str, Callable[[NodeTime], float]] = {
    "time": lambda time: time.total,
    "forward": lambda time: time.forward,
    "backward": lambda time: time.backward,
}


class _Shown(NamedTuple):
    """What is drawn now."""

    figure: CanvasFigure
    values: CanvasValues
    scale: ColorScale | None = None
    classes: Mapping[str, int] = {}
    """Numbers of the classes by their names."""


class ColorBy(QObject):
    """Colors nodes and wires, shows the figures on nodes, and explains the colors in a legend."""

    changed = Signal(str)
    """The key of the shown figure; empty for none."""

    def __init__(self, view: CanvasView, overlay: CompileOverlay, measurer: TimeMeasurer, moment: ShownMoment) -> None:
        super().__init__(view)
        self._view, self._overlay, self._measurer, self._moment = view, overlay, measurer, moment
        self._figures = GraphFigures(view.store)
        self._key = ""
        self._shown: _Shown | None = None
        self._scales: dict[object, ColorScale] = {}
        """Scales by run, figure and graph."""
        self.legend = ColorLegend(
            ColorChooser(self._find_action),
            hide=lambda: self.show_figure(""),
            describe=self._describe,
            highlight=self._highlight,
            parent=view.viewport(),
        )
        self._live = QTimer(self)
        self._live.setSingleShot(True)
        self._live.setInterval(_LIVE_MS)
        self._live.timeout.connect(self._catch_up)
        self._is_behind = False
        """Whether a step was measured after the one whose figures are shown."""
        overlay.legend.add_chooser(ColorChooser(self._find_action))
        overlay.toggled.connect(self._on_regions_toggled)
        view.tooltip_sources.append(self._tooltip)
        measurer.changed.connect(self._on_times_changed)
        moment.changed.connect(self._on_moment_changed)
        view.store.report_changed.connect(self._refresh)
        view.store.location_changed.connect(self._refresh)
        view.canvas_scene.moved.connect(self._place_legend)
        view.camera.changed.connect(self._place_legend)  # a pan moves the children of the viewport, too
        view.viewport().installEventFilter(self)
        self._refresh()

    @property
    def key(self) -> str:
        """Key of the shown figure; empty for none."""
        return self._key

    @property
    def values(self) -> CanvasValues:
        """The figures of nodes and wires, or how they have changed since the step that they are compared with."""
        return self._shown.values if self._shown is not None else CanvasValues()

    @property
    def scale(self) -> ColorScale | None:
        """The scale of the shown figure; None for classes and without figures."""
        return self._shown.scale if self._shown is not None else None

    def show_figure(self, key: str) -> None:
        """Color by a figure; an empty or unknown key removes the colors."""
        key = key if key in FIGURES else ""
        if key == self._key:
            return
        self._key = key
        if key not in _TIMES:
            self._measurer.cancel()
        self._overlay.show_overlay(key == _REGIONS)
        self._refresh()
        self.changed.emit(key)

    def toggle(self, key: str) -> None:
        """Color by a figure, or remove the colors if they show it. Measures times that are not known."""
        self.show_figure("" if key == self._key else key)
        if self._key in _TIMES and (self._measurer.times is None or self._measurer.is_stale):
            self._measurer.measure()

    def measure(self) -> None:
        """Measure the time of the nodes now, and color them by it."""
        if self._key not in _TIMES:
            self.show_figure("time")
        self._measurer.measure()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            QTimer.singleShot(0, self, self._place_legend)
        return False

    # -- what changes

    def _on_regions_toggled(self, on: bool) -> None:
        """Follow the Compile panel, which can show and hide the regions."""
        if on != (self._key == _REGIONS):
            self.show_figure(_REGIONS if on else "")

    def _on_times_changed(self) -> None:
        if self._key in _TIMES:
            self._refresh()

    def _on_moment_changed(self) -> None:
        figure = FIGURES.get(self._key)
        if figure is None or figure.source not in ("step", "device"):
            return
        run = self._moment.run
        if self._moment.is_live and run is not None and run.is_live and self._live.isActive():
            self._is_behind = True
        else:
            self._refresh()
            self._live.start()

    def _catch_up(self) -> None:
        if self._is_behind:
            self._refresh()
            self._live.start()

    def _refresh(self, *_: object) -> None:
        figure = FIGURES.get(self._key)
        self._shown = None
        self._is_behind = False
        match figure.source if figure is not None else "":
            case "graph":
                assert figure is not None
                self._show_amounts(figure, self._figures.values(figure.key))
            case "time":
                assert figure is not None
                self._show_times(figure)
            case "step":
                assert figure is not None
                self._show_step(figure)
            case "device":
                assert figure is not None
                self._show_devices(figure)
            case _:
                self._view.canvas_scene.marks.color(None)
                self.legend.show_nothing()
        self._place_legend()

    # -- figures by source

    def _show_amounts(self, figure: CanvasFigure, values: CanvasValues, note: str = "") -> None:
        scale = fitted_scale("amount", values.nodes.values())
        self._draw(_Shown(figure, values, scale))
        total = sum(values.nodes.values())
        parts = (f"Total {value_text(figure, total)}" if total else "", note)
        self.legend.show_source(", ".join(part for part in parts if part))

    def _show_times(self, figure: CanvasFigure) -> None:
        measurer, times = self._measurer, self._measurer.times
        part, prefix = _TIMES[figure.key], self._view.store.prefix
        values = {
            name: seconds
            for name in self._view.canvas_scene.nodes
            if times is not None and (found := times.times.get(prefix + name)) is not None and (seconds := part(found))
        }
        self._show_amounts(figure, CanvasValues(values), "before the last edit" if measurer.is_stale else "")
        if measurer.state != "ready":
            self.legend.show_message(figure.title, figure.help, self._progress())
        run = None if measurer.state == "measuring" else self.measure
        self.legend.show_source(self.legend.source.text(), "Measure", run)

    def _progress(self) -> str:
        match self._measurer.state:
            case "measuring":
                return f"Measuring, {self._measurer.share:.0%}"
            case "failed":
                return self._measurer.problem
            case _:
                return "Not measured yet"

    def _show_step(self, figure: CanvasFigure) -> None:
        moment, base = self._moment.moment, self._moment.base
        follow = None if self._moment.is_live else self._moment.follow
        action = "" if follow is None else "Follow the run"
        if moment is None or moment.statistics is None:
            self._show_plain(figure, why_nothing(moment))
            self.legend.show_source(why_nothing(moment), action, follow)
            return
        values, text = self._values(figure, moment.statistics), moment.label + gradients_of(figure, moment.statistics)
        if base is not None and base.statistics is not None:
            if figure.key in GRADIENTS and has_same_gradients(moment, base):
                step = moment.statistics.gradient_step
                self._show_plain(figure, f"Both steps have the gradients of step {step:,}. Choose steps further apart")
                self.legend.show_source(self.legend.source.text(), "Stop comparing", self._stop_comparing)
                return
            values = changes(figure, values, self._values(figure, base.statistics))
            now = f"{moment.title}{gradients_of(figure, moment.statistics)}"
            then = f"{base.title_after(moment)}{gradients_of(figure, base.statistics)}"
            text = f"{now} compared with {then}"
            action, follow = "Stop comparing", self._stop_comparing
        scale = self._stable_scale(figure, moment, values, base)
        self._draw(_Shown(figure, values, scale))
        if not values.nodes and not values.wires:
            self.legend.show_message(figure.title, figure.help, "")
            text = f"No node has this figure in {moment.title}"
        self.legend.show_source(text, action, follow)

    def _show_plain(self, figure: CanvasFigure, reason: str) -> None:
        """Show nodes in the colors of their types, and why they have no figures."""
        self._shown = _Shown(figure, CanvasValues())
        self._view.canvas_scene.marks.color(None)
        self.legend.show_message(figure.title, figure.help, reason)
        self.legend.show()

    def _stop_comparing(self) -> None:
        self._moment.compare(None)

    def _values(self, figure: CanvasFigure, statistics: StepStatistics) -> CanvasValues:
        store = self._view.store
        return step_values(figure.key, statistics, store.prefix, store.document.nodes.keys(), self._figures.ends)

    def _stable_scale(
        self, figure: CanvasFigure, moment: Moment, values: CanvasValues, base: Moment | None
    ) -> ColorScale:
        """The scale of the figures of all steps that were shown of a run, and of some that were not."""
        if base is not None and base.statistics is None:
            base = None
        kind = figure.scale if base is None else change_scale(figure)
        based_on = None if base is None else (base.run.number, base.step)
        key = (moment.run.folder or moment.run.number, figure.key, self._view.store.location, based_on)
        around = self._scales.get(key)
        if around is None and base is None and moment.run.folder is not None:
            steps = self._moment.measured_steps(moment.run)
            for number in range(_SAMPLED if len(steps) else 0):
                step = int(steps[(len(steps) - 1) * number // (_SAMPLED - 1)])
                if (found := self._moment.at(moment.run, step).statistics) is not None:
                    around = fitted_scale(kind, self._values(figure, found).all, around)
        scale = self._scales[key] = fitted_scale(kind, values.all, around)
        return scale

    def _show_devices(self, figure: CanvasFigure) -> None:
        nodes, wires = self._figures.devices(self._moment.run)
        names = sorted({*nodes.values(), *wires.values()})
        classes = {name: number for number, name in enumerate(names)}
        values = CanvasValues(
            {node: float(classes[name]) for node, name in nodes.items()},
            {wire: float(classes[name]) for wire, name in wires.items()},
        )
        self._draw(_Shown(figure, values, None, classes))

    # -- drawing

    def _draw(self, shown: _Shown) -> None:
        """Color nodes and wires, and show the colors in the legend."""
        self._shown = shown
        figure, values, scale, classes = shown
        scene = self._view.canvas_scene
        nodes = {name: self._shade(value) for name, value in values.nodes.items()}
        wires = {wire: self._shade(value) for wire, value in values.wires.items()}
        total = sum(values.nodes.values())
        texts = {name: self._text(value, total) for name, value in values.nodes.items() if not classes}
        scene.marks.color(nodes, wires if figure.has_wires else None, texts)
        has_none = len(nodes) < len(scene.nodes) or (figure.has_wires and len(wires) < len(scene.wires))
        if classes:
            rows = [(Shade("class", number), name) for name, number in classes.items()]
            self.legend.show_classes(figure.title, figure.help, rows, has_none=has_none)
            self.legend.show_source("")
        elif scale is not None:
            has_broken = BROKEN in (*nodes.values(), *wires.values())
            low, high = end_texts(figure, scale)
            self.legend.show_scale(
                figure.title, figure.help, scale.levels, low, high, has_none=has_none, has_broken=has_broken
            )
        self.legend.show()

    def _shade(self, value: float) -> Shade:
        assert self._shown is not None
        return Shade("class", int(value)) if self._shown.scale is None else self._shown.scale.shade(value)

    def _text(self, value: float, total: float) -> str:
        assert self._shown is not None
        figure, scale = self._shown.figure, self._shown.scale
        if scale is not None and scale.is_change:
            return change_text(figure, scale, value)
        return node_text(figure, value, total)

    # -- explaining

    def _describe(self, shade: Shade) -> str:
        """What a color of the legend stands for, and how many nodes have it."""
        if self._shown is None:
            return ""
        figure, _, scale, classes = self._shown
        names = self._nodes_with(shade)
        count = f"{len(names)} node" if len(names) == 1 else f"{len(names)} nodes"
        match shade.kind:
            case "none":
                return f"Without {figure.phrase}: {count}"
            case "broken":
                return f"NaN or infinite: {count}"
            case "class":
                return f"{list(classes)[shade.level]}: {count}"
            case _:
                return "" if scale is None else f"{range_text(figure, scale, *scale.range_of(shade))}: {count}"

    def _highlight(self, shade: Shade | None) -> None:
        self._view.canvas_scene.marks.highlight_nodes(() if shade is None else self._nodes_with(shade))

    def _nodes_with(self, shade: Shade) -> list[str]:
        return [name for name, item in self._view.canvas_scene.nodes.items() if item.state.shade == shade]

    def _tooltip(self, hit: Hit, _: QPointF) -> str:
        """The figure of the node or wire at the pointer."""
        shown = self._shown
        if shown is None or hit.port is not None:
            return ""
        figure, values, classes = shown.figure, shown.values, shown.classes
        value = values.nodes.get(hit.node or "") if hit.wire is None else values.wires.get(hit.wire)
        if value is None:
            return ""
        if figure.source == "time" and hit.node is not None:
            found = self._measurer.times and self._measurer.times.times.get(self._view.store.prefix + hit.node)
            if found:
                forward, backward = (value_text(figure, seconds) for seconds in (found.forward, found.backward))
                return f"Forward {forward}, backward {backward} for a batch"
        if classes:
            return f"{figure.title}: {list(classes)[int(value)]}"
        return f"{figure.title}: {self._text(value, 0.0)}"

    # -- the legend

    def _find_action(self, command: str) -> QAction | None:
        return self._view.find_action(command)

    def _place_legend(self, *_: object) -> None:
        """Place the legend in the lower left corner, and keep the minimap away from it."""
        view, placement = self._view, self._view.overlays.minimap_placement
        has_legend = self._key != _REGIONS and not view.canvas_scene.is_empty
        self.legend.setVisible(has_legend)
        if not has_legend:
            placement.set_reserved_area(QRect(), "colors")
            return
        size = self.legend.size_within(view.viewport().width() - 2 * _EDGE)
        self.legend.setGeometry(QRect(QPoint(_EDGE, view.viewport().height() - _EDGE - size.height()), size))
        placement.set_reserved_area(self.legend.geometry(), "colors")


__all__ = ["ColorBy"]
