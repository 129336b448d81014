"""Warnings of the engine during training become events of the session."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from engine.errors import DataWarning
from studio.document.model import Document, Node
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession, Warned
from studio.training.warning_capture import capture_warnings
from tests.studio.lowering.test_bad_data import trained


@pytest.fixture
def damaged(tmp_path: Path) -> Document:
    """Images read by two workers; one cannot be decoded and is skipped."""
    for name in ("cats", "dogs"):
        (tmp_path / name).mkdir()
        for number in range(8):
            Image.new("RGB", (8, 8), (number, 80, 90)).save(tmp_path / name / f"{number}.png")
    (tmp_path / "dogs" / "3.png").write_bytes(b"no image")
    source = Node("data.ImageFolder", {"folder": ".", "on_error": "skip", "validation": 0})
    resized = Node("transforms.Resize", {"size": [8, 8]})
    batches = Node("data.Batches", {"batch_size": 4, "workers": 2})
    return trained(source, resized, "transforms.ToFloat", batches=batches)


def test_each_run_names_the_image_that_it_skips(tmp_path: Path, damaged: Document) -> None:
    for _ in range(2):
        run = TrainingSession(damaged, catalogue(), base=tmp_path, epochs=2)
        run.start()
        assert run.join(600)
        events = run.events()
        assert run.state == "done"
        [warned] = [event for event in events if isinstance(event, Warned) and event.problem.code != "constant"]
        assert f"{Path('dogs', '3.png')}: is not a readable image" in warned.message
        assert warned.message.endswith("The next image replaces it.")


def test_what_is_not_for_users_goes_where_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    told: list[str] = []

    def show(message: Any, *arguments: Any, **more: Any) -> None:
        shown.append(str(message))

    monkeypatch.setattr(warnings, "showwarning", show)
    warnings.simplefilter("always")
    with capture_warnings(told.append):
        warnings.warn("for users", DataWarning, stacklevel=1)
        warnings.warn("for users", DataWarning, stacklevel=1)
        warnings.warn("of a library", DeprecationWarning, stacklevel=1)
    warnings.warn("afterwards", DataWarning, stacklevel=1)
    assert (told, shown) == (["for users"], ["of a library", "afterwards"])
    assert warnings.showwarning is show
