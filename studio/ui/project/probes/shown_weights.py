"""Which weights belong to the shown step: of the session, of a run folder, or the initial ones."""

from __future__ import annotations

from studio.training.probing.probe_weights import WeightsRequest
from studio.ui.project.shown_moment import ShownMoment
from studio.ui.project.training_runner import TrainingRunner


def shown_weights(runner: TrainingRunner, moment: ShownMoment) -> WeightsRequest:
    """The weights of the shown step of a run. Without runs, the initial ones."""
    run, session = moment.run, runner.session
    if run is None:
        return WeightsRequest()
    if run is runner.run and moment.is_live and session is not None:
        return WeightsRequest(run.name, session.document, session)
    document = run.document
    if document is None and run.folder is not None:
        try:
            document = run.read_document()
        except Exception:  # noqa: BLE001 - the Runs panel tells why the graph of a run cannot be read
            return WeightsRequest()
    is_last = moment.is_live or (not run.is_live and moment.step >= run.step)
    step = run.step if is_last else moment.step
    return WeightsRequest(run.name, document, None, run.folder, step, is_last)


def identity(request: WeightsRequest) -> tuple[object, ...]:
    """Equal for requests of the same weights. While a session trains, its last step changes."""
    return request.run, id(request.session), request.folder, request.is_last, 0 if request.is_last else request.step


__all__ = ["identity", "shown_weights"]
