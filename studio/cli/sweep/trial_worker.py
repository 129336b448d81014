"""One trial of a sweep, in a process of its own. It tells what happens on standard output, in lines of JSON.

It ends after the batch under way, with a checkpoint, once its standard input is closed: by the sweep that is to stop,
or by the system when the sweep is no more.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine import fit
from studio.cli.error_output import InputError, print_json
from studio.cli.sweep.search_space import format_values
from studio.cli.sweep.sweep_file import read_plan, trial_folder
from studio.document.document_errors import DocumentError
from studio.nodes.catalogue import catalogue
from studio.training import Session
from studio.training.runs.event_json import event_to_json
from studio.training.runs.run_record import RUN_FILE
from studio.training.runs.run_resuming import load_run

_POLL_SECONDS = 0.05
_STEP_SECONDS = 0.5
"""From one batch that is told to the next."""


def run_trial(path: str, number: str, base: str, name: str) -> None:
    """Train a trial of the sweep in a file."""
    try:
        session = _make_session(Path(path), int(number), Path(base), name)
    except (InputError, DocumentError) as error:
        _send({"event": "failed", "message": str(error), "node": None})
        _send({"event": "ended", "state": "failed"})
        return
    session.start()
    threading.Thread(target=_stop_at_end_of_input, args=(session,), daemon=True).start()
    told = 0.0
    is_over = False
    while not is_over:
        is_over = session.join(_POLL_SECONDS)
        for event in session.events():
            if isinstance(event, fit.Step):
                if time.monotonic() - told < _STEP_SECONDS:
                    continue
                told = time.monotonic()
            content = event_to_json(event)
            if content is not None:
                _send(content)
    state = session.state
    if session.unwritten and state != "failed":
        message = f"these could not be written to {session.folder}: {', '.join(session.unwritten)}"
        _send({"event": "failed", "message": message, "node": None})
        state = "failed"
    _send({"event": "ended", "state": state})


def _make_session(path: Path, number: int, base: Path, name: str) -> Session:
    plan, folder = read_plan(path), trial_folder(path, number)
    if (folder / RUN_FILE).exists():
        going_on = load_run(folder)
        return Session(
            going_on.document,
            catalogue(),
            base=base,
            name=name,
            resume=going_on,
            epochs=plan.epochs,
            steps=plan.steps,
        )
    return Session(
        plan.document_of(number),
        catalogue(),
        base=base,
        out=folder,
        name=name,
        label=format_values(plan.trials[number - 1]),
        epochs=plan.epochs,
        steps=plan.steps,
        device=plan.device,
        compile=plan.compile,
    )


def _send(content: Mapping[str, Any]) -> None:
    with suppress(OSError):  # if nobody listens any more, the trial comes to its end all the same
        print_json(content)


def _stop_at_end_of_input(session: Session) -> None:
    # Not by `sys.stdin`: its lock would be held when the interpreter ends.
    while os.read(sys.stdin.fileno(), 1):
        pass
    session.stop()


__all__ = ["run_trial"]
