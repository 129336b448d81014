"""Wires of the shipped templates, as stored and after automatic layout."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from pytestqt.qtbot import QtBot

from studio.document.blocks import block_nodes
from studio.document.files.project_templates import Template, templates
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.level_of_detail import NAMES_SCALE
from studio.ui.canvas.wires.wire_curve import WireCurve
from tests.ui.canvas.conftest import FakeChecker, MakeView
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard

CANVAS = (907, 475)
"""Size of the canvas in a new window of 1440×900."""
STEP = 1.0
"""Distance between sampled points of a wire."""
MIN_GAP = 2.5
"""Distance below which two wires, 2 pixels wide each, look like one."""
MAX_SHARED_LENGTH = 24
"""Maximum length over which two wires may be that close, as where they cross at a sharp angle."""


def sampled(curve: WireCurve) -> np.ndarray:
    """Equidistant points of a curve."""
    fine = []
    for piece in curve.pieces:
        t = np.linspace(0, 1, 2000)[:, None]
        a, b, c, d = (np.array(point) for point in piece)
        fine.append((1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d)
    line = np.concatenate(fine)
    along = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))))
    steps = np.arange(0, along[-1], STEP)
    return np.stack([np.interp(steps, along, line[:, axis]) for axis in (0, 1)], axis=1)


def shared_length(one: np.ndarray, other: np.ndarray) -> float:
    """Length of the longest part of one wire that is within MIN_GAP of another."""
    low, high = other.min(axis=0) - MIN_GAP, other.max(axis=0) + MIN_GAP
    inside = np.flatnonzero(((one >= low) & (one <= high)).all(axis=1))
    close = np.zeros(len(one) + 1, dtype=bool)
    for part in np.array_split(inside, len(inside) // 256 + 1):
        near = np.hypot(*(one[part, None] - other[None]).transpose(2, 0, 1)).min(axis=1, initial=np.inf)
        close[part] = near < MIN_GAP
    ends = np.flatnonzero(~close)
    return STEP * float(np.diff(np.concatenate(([-1], ends))).max() - 1)


def wires_over_nodes(view: CanvasView, lines: dict[object, np.ndarray]) -> list[str]:
    """Return wires that cross a node, or their end nodes except at the ports."""
    messages: list[str] = []
    for wire, item in view.canvas_scene.wires.items():
        for name, node in view.canvas_scene.nodes.items():
            box = node.box
            inside = (lines[wire] > (box.left + 1, box.top + 1)) & (lines[wire] < (box.right - 1, box.bottom - 1))
            if inside.all(axis=1).any():
                messages.append(f"{item.wire} through {name}")
    return messages


def overlapping_wires(view: CanvasView, lines: dict[object, np.ndarray]) -> list[str]:
    """Pairs of wires from different outputs that look like one."""
    messages: list[str] = []
    for one, other in combinations(view.canvas_scene.wires, 2):
        if one.source != other.source and (length := shared_length(lines[one], lines[other])) > MAX_SHARED_LENGTH:
            messages.append(f"{one} and {other} for {length:.0f} pixels")
    return messages


def routing_faults(view: CanvasView) -> list[str]:
    lines: dict[object, np.ndarray] = {wire: sampled(item.curve) for wire, item in view.canvas_scene.wires.items()}
    return wires_over_nodes(view, lines) + overlapping_wires(view, lines)


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.key)
def test_wires_of_a_template_cross_no_node_and_do_not_merge(
    template: Template, make_view: MakeView, checker: FakeChecker, qtbot: QtBot
) -> None:
    checker.report = check(template.document, catalogue())
    view = make_view(template.document)  # nodes are as wide as their values, such as the means of all columns
    assert overlapping_nodes(view) == []
    assert routing_faults(view) == []
    MouseAndKeyboard(view).key(Qt.Key.Key_L)
    qtbot.waitUntil(lambda: not view.auto_layout.is_busy)
    view.canvas_scene.wire_router.finish()
    assert routing_faults(view) == []
    boxes = view.canvas_scene.boxes()
    for wire, item in view.canvas_scene.wires.items():
        source, target = boxes[wire.source.node], boxes[wire.target.node]
        if source.top < target.bottom and target.top < source.bottom:  # in the same row
            assert item.curve.end.x - item.curve.start.x >= 64, f"{wire} leads backwards"


def overlapping_nodes(view: CanvasView) -> list[tuple[str, str]]:
    boxes = view.canvas_scene.boxes()
    return [(a, b) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.key)
def test_a_template_opens_with_all_nodes_in_view(template: Template, make_view: MakeView, checker: FakeChecker) -> None:
    """Also inside its blocks. Nodes do not overlap and wires cross no node."""
    checker.report = check(template.document, catalogue())
    view = make_view(template.document)
    view.window().resize(*CANVAS)
    view.canvas_actions.open_at_readable_zoom()
    instances = {block_nodes.name_of(node): name for name, node in template.document.nodes.items()}
    for block, instance in instances.items():
        view.store.go(())
        if block is not None:
            view.store.enter(instance)
        view.canvas_scene.wire_router.finish()
        assert view.camera.scale >= NAMES_SCALE
        assert overlapping_nodes(view) == []
        wires = view.canvas_scene.wires
        assert wires_over_nodes(view, {wire: sampled(item.curve) for wire, item in wires.items()}) == []
        visible = view.camera.visible
        for name, box in view.canvas_scene.boxes().items():
            assert visible.contains(QRectF(box.left, box.top, box.width, box.height)), name
