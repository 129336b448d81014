"""Worker process of a sweep: trains one trial and writes events as JSON Lines on standard output.

When its standard input is closed, by the sweep or because the sweep's process ended, the worker stops after the current
batch and writes a checkpoint.
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
from studio.lowering.user_code.document_code import allow_code
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.training.runs.event_json import event_to_json
from studio.training.runs.run_record import RUN_FILE
from studio.training.runs.run_resuming import load_run

_POLL_SECONDS = 0.05
_STEP_SECONDS = 0.5
"""Minimum time between two step events."""


def run_trial(path: str, number: str, base: str, name: str, trust: str = "") -> None:
    """Train trial `number` of the sweep file at `path`.

    Args:
        trust: not empty to run the Python code of the project
    """
    try:
        session = _make_session(Path(path), int(number), Path(base), name, trust=bool(trust))
    except (InputError, DocumentError) as error:
        _send({"event": "failed", "message": str(error), "node": None})
        _send({"event": "ended", "state": "failed"})
        return
    session.start()
    threading.Thread(target=_stop_at_end_of_input, args=(session,), daemon=True).start()
    last_sent = 0.0
    is_over = False
    while not is_over:
        is_over = session.join(_POLL_SECONDS)
        for event in session.events():
            if isinstance(event, fit.Step):
                if time.monotonic() - last_sent < _STEP_SECONDS:
                    continue
                last_sent = time.monotonic()
            content = event_to_json(event)
            if content is not None:
                _send(content)
    state = session.state
    if session.unwritten and state != "failed":
        message = f"cannot write {', '.join(session.unwritten)} to {session.folder}"
        _send({"event": "failed", "message": message, "node": None})
        state = "failed"
    _send({"event": "ended", "state": state})


def _make_session(path: Path, number: int, base: Path, name: str, *, trust: bool) -> TrainingSession:
    plan, folder = read_plan(path), trial_folder(path, number)
    if trust:
        allow_code(plan.document_of(number))
    if (folder / RUN_FILE).exists():
        resumed = load_run(folder)
        if trust:
            allow_code(resumed.document)
        return TrainingSession(
            resumed.document,
            catalogue(),
            base=base,
            name=name,
            resume=resumed,
            epochs=plan.epochs,
            steps=plan.steps,
            inspects_data=False,
            breakpoints={},
        )
    return TrainingSession(
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
        inspects_data=False,
        breakpoints={},
    )


def _send(content: Mapping[str, Any]) -> None:
    with suppress(OSError):  # the trial finishes even if the sweep is gone
        print_json(content)


def _stop_at_end_of_input(session: TrainingSession) -> None:
    # sys.stdin would hold its lock at interpreter exit.
    while os.read(sys.stdin.fileno(), 1):
        pass
    session.stop()


__all__ = ["run_trial"]
