"""Random events: no exception, no inconsistency, and a history that leads back and forth.

`CANVAS_EVENTS=10000 CANVAS_SEEDS=5 pytest tests/ui/canvas/test_fuzzing.py` runs many.
"""

from __future__ import annotations

import os

import pytest
from pytestqt.qtbot import QtBot

from studio.document.blocks.block_grouping import group
from studio.document.edits import set_param
from tests.ui.canvas.conftest import MakeView, network
from tests.ui.canvas.fuzzing import Monkey

EVENTS = int(os.environ.get("CANVAS_EVENTS", "250"))
SEEDS = range(int(os.environ.get("CANVAS_SEEDS", "2")))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_events_on_the_canvas(make_view: MakeView, seed: int) -> None:
    Monkey(make_view(network()), seed).play(EVENTS)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_events_inside_a_block(make_view: MakeView, qtbot: QtBot, seed: int) -> None:
    document, instance = group(network(), ["hidden", "relu"], "trunk")
    view = make_view(set_param(document, instance, "repeat", 2))
    view.store.enter(instance)
    Monkey(view, seed).play(EVENTS)
