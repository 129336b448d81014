"""The menu of a probe: its views with the reasons for missing ones, checking, pinning, closing."""

from __future__ import annotations

from functools import partial

from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from studio.training.probing.probe_list import Probe
from studio.training.probing.probe_views import ProbeResult
from studio.training.probing.views.view_kinds import TITLES, VIEW_KINDS
from studio.ui.project.probes.probe_computer import ProbeComputer
from studio.ui.project.probes.probe_store import ProbeStore

CHECK = "Check by recomputation"


def probe_menu(
    probe: Probe, result: ProbeResult, probes: ProbeStore, computer: ProbeComputer, parent: QWidget
) -> QMenu:
    """The menu of a probe on a card or in the panel."""
    menu = QMenu(parent)
    menu.setToolTipsVisible(True)
    group = QActionGroup(menu)
    view = result.view
    for kind in VIEW_KINDS:
        action = menu.addAction(TITLES[kind], partial(probes.change, probe.key, view=kind, index=0))
        action.setCheckable(True)
        action.setChecked(view is not None and view.kind == kind)
        reason = "" if view is None else view.unavailable.get(kind, "")
        action.setEnabled(view is not None and not reason)
        action.setToolTip(reason or TITLES[kind])
        group.addAction(action)
    menu.addSeparator()
    check = menu.addAction(CHECK, computer.verify)
    check.setToolTip("Compute the shown values again with the training program, and show the largest difference")
    check.setEnabled(view is not None)
    menu.addAction("Compute again", computer.refresh)
    menu.addSeparator()
    pin = menu.addAction("Pin to the canvas", partial(probes.change, probe.key, is_pinned=not probe.is_pinned))
    pin.setCheckable(True)
    pin.setChecked(probe.is_pinned)
    menu.addAction("Close probe", partial(probes.remove, [probe.key]))
    return menu


__all__ = ["CHECK", "probe_menu"]
