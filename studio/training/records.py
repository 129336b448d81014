"""The folder that a run leaves behind.

graph.gradwire        the document as it was trained
run.json              settings, versions, machine, data; at the end also what came out
metrics.jsonl         one object a line, as `studio.training.lines` makes them
weights.safetensors   at the end, however it came
best.safetensors      of the epoch with the lowest validation loss
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from engine import Tensor, fit
from engine.io import atomic, save_file
from studio.document.errors import FileError
from studio.document.format import dumps
from studio.document.model import Document
from studio.training.lines import line, results

RUN, METRICS, GRAPH = "run.json", "metrics.jsonl", "graph.gradwire"
WEIGHTS, BEST = "weights.safetensors", "best.safetensors"

_LINES_PER_EPOCH = 1000
"""Steps are thinned out to this many."""
_SECONDS = 2.0
"""How long results wait in memory before they are written."""


def fresh_folder(runs: Path) -> Path:
    """Make a new folder for a run, named after the time, in the folder of a project's runs. Raises FileError."""
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d_%H-%M-%S")
    number = 1
    while True:
        folder = runs / f"{stamp}-{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if not runs.is_dir():
                raise FileError(str(runs), "", "is a file, not a folder", "Choose another output folder.") from None
            number += 1
        except OSError as error:
            raise FileError.from_os_error(folder, "cannot be made", error) from None
        else:
            return folder


class Record:
    """Writes a run's folder.

    Making one writes the graph and the settings. All methods raise FileError if the disk does not take it.

    Args:
        folder: made if it is not there; must not hold another run
        document: what is trained
        settings: as they will be used
    """

    def __init__(self, folder: Path, document: Document, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self._lines: TextIO | None = None
        self._written = time.monotonic()
        self._best: tuple[dict[str, Tensor], dict[str, str]] | None = None
        """Weights that wait to be written, and what goes with them: short epochs do not write each time."""
        self._is_muted = False
        self._every = 1
        self._lowest = math.inf
        self._about: dict[str, Any] = {"started": _now(), "state": "running", "settings": dict(settings)}
        if (folder / RUN).exists():
            raise FileError(str(folder), "", "already holds a run", "Choose another output folder, or delete that run.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / GRAPH).write_text(dumps(document), encoding="utf-8")
            self._lines = (folder / METRICS).open("w", encoding="utf-8", newline="\n")
        except FileExistsError:
            raise FileError(str(folder), "", "is a file, not a folder", "Choose another output folder.") from None
        except OSError as error:
            raise FileError.from_os_error(folder, "cannot be written", error) from None
        self._write_about()

    def describe(self, **about: Any) -> None:
        """Add to run.json."""
        self._about.update(about)
        self._write_about()

    def take(self, event: fit.Event, weights: Callable[[], Mapping[str, Tensor]]) -> None:
        """Put down an event. `weights` gives those after it, where they are needed."""
        if self._is_muted:
            return
        match event:
            case fit.Started():
                self._every = -(-event.batches // _LINES_PER_EPOCH)
                self._append(event)
            case fit.Step():
                if event.batch % self._every == 0:
                    self._append(event)
            case fit.Epoch():
                self._append(event)
                self._take_results(event, weights)
            case fit.Done():
                self._append(event)
            case fit.ValidationStep():
                pass
            case fit.CompileState():
                self._about["compile"] = {name: getattr(event, name) for name in fit.CompileState.__slots__}

    def finish(self, state: str, weights: Mapping[str, Tensor], message: str | None = None) -> None:
        """Write the weights and how the run ended."""
        try:
            if weights:
                self._save(WEIGHTS, weights, _place(self._about.get("last", {})))
        finally:
            self.close()
            self._about.update(state=state, ended=_now(), **({"message": message} if message else {}))
            self._checkpoint()

    def mute(self) -> None:
        """Take no more events, after one could not be written; `finish` is tried all the same."""
        self._is_muted = True
        with suppress(FileError):
            self.close()

    def close(self) -> None:
        """Close the files."""
        lines, self._lines = self._lines, None
        if lines is not None:
            self._guarded(METRICS, lines.close)

    def _append(self, event: fit.Event) -> None:
        if self._lines is not None:
            lines, text = self._lines, json.dumps(line(event), ensure_ascii=False) + "\n"
            self._guarded(METRICS, lambda: lines.write(text))
            if time.monotonic() - self._written > _SECONDS:
                self._checkpoint()

    def _take_results(self, event: fit.Epoch, weights: Callable[[], Mapping[str, Tensor]]) -> None:
        last = {"epoch": event.epoch, "step": event.step, **results(event)}
        self._about["last"] = last
        if event.val_loss is not None and event.val_loss < self._lowest:
            self._lowest = event.val_loss
            self._about["best"] = last
            self._best = {name: tensor.clone() for name, tensor in weights().items()}, _place(last)
        if self._lines is not None:
            self._guarded(METRICS, self._lines.flush)

    def _checkpoint(self) -> None:
        """Write what waits in memory."""
        self._written = time.monotonic()
        if self._lines is not None:
            self._guarded(METRICS, self._lines.flush)
        if self._best is not None:
            (weights, place), self._best = self._best, None
            self._save(BEST, weights, place)
        self._write_about()

    def _write_about(self) -> None:
        text = json.dumps(self._about, indent=2, ensure_ascii=False) + "\n"
        self._guarded(RUN, lambda: atomic.write(self.folder / RUN, text.encode()))

    def _save(self, name: str, weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
        self._guarded(name, lambda: save_file(weights, self.folder / name, {"producer": "gradwire", **metadata}))

    def _guarded(self, name: str, write: Any) -> None:
        try:
            write()
        except OSError as error:
            raise FileError.from_os_error(self.folder / name, "cannot be written", error) from None


def _place(last: Mapping[str, Any]) -> dict[str, str]:
    """Where in the training weights are from, as texts."""
    return {name: str(last[name]) for name in ("epoch", "step") if name in last}


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
