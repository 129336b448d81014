"""Runs, trials, compiled steps, gradients and the log."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtTest import QTest

from screenshots import open_template, until
from studio.document import edits
from studio.training.probing.probe_list import Probe
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from window_states.registry import ARABIC, EMOJI, LATIN, state


def _train(window: MainWindow, epochs: int = 3, template: str = "digits-mlp") -> Project:
    project = open_template(window, template)
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=epochs))
    until(lambda: project.store.is_checked)
    window.start_run()
    return project


def _finish(project: Project) -> None:
    until(lambda: bool(project.runner.runs) and not project.runner.is_active)


@state("runs")
def runs_starting(window: MainWindow, folder: Path) -> None:
    _train(window, 100, "digits-cnn")


@state("runs")
def runs_paused(window: MainWindow, folder: Path) -> None:
    project = _train(window, 100)
    until(lambda: bool(project.runner.runs) and project.runner.runs[-1].progress.epoch >= 3)
    project.runner.pause()
    until(lambda: project.runner.state == "paused")


@state("runs")
def runs_three(window: MainWindow, folder: Path) -> None:
    project = _train(window)
    _finish(project)
    for name in (LATIN, EMOJI):
        window.start_run()
        _finish(project)
        window.run_actions.rename(project.runner.runs[-1], name)  # type: ignore[union-attr]
    panel = window.project_views[project].runs
    panel.list.select(project.runner.runs)
    panel.draw()


@state("runs")
def runs_details(window: MainWindow, folder: Path) -> None:
    project = _train(window)
    _finish(project)
    panel = window.project_views[project].runs
    panel.bar.details.setChecked(True)
    panel.list.select(project.runner.runs)
    panel.draw()


@state("runs")
def runs_failed(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set", lambda document: edits.set_param(document, "adam", "lr", 1e30))
    until(lambda: project.store.is_checked)
    window.start_run()
    _finish(project)
    window.project_views[project].runs.draw()


@state("log")
def log_of_runs(window: MainWindow, folder: Path) -> None:
    runs_failed(window, folder)
    window.docks["log"].reveal()
    log = window.project_views[window.project].log  # type: ignore[index]
    log.add(f"{EMOJI} {ARABIC} {LATIN * 4}", "warning")
    log.add("Traceback (most recent call last):\n" + '  File "model.py", line 3, in forward\n' * 20, "error")


@state("stepping")
def step_through(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-residual")
    until(lambda: project.store.is_checked)
    recordings = window.project_views[project].step_recordings
    window.docks["stepping"].reveal()
    recordings.record()
    until(lambda: recordings.state == "ready")
    recordings.show_step(8)


@state("autograd")
def autograd_graph(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.show_autograd_graph()
    until(lambda: window.project_views[project].autograd.shown is not None)


@state("compile")
def compile_running(window: MainWindow, folder: Path) -> None:
    open_template(window, "digits-cnn")
    window.explain_step()


@state("compile")
def compile_explained(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.explain_step()
    until(lambda: project.explainer.explanation is not None)


def _profiled(window: MainWindow, view: int, template: str = "digits-mlp", *, eager: bool = False) -> None:
    project = open_template(window, template)
    panel = window.project_views[project].profiler
    panel.header.eager.setChecked(eager)
    window.profile_steps()
    until(lambda: project.profiler.state in ("ready", "failed"))
    panel.header.show_view(view)


@state("profiler")
def profiler_empty(window: MainWindow, folder: Path) -> None:
    open_template(window)
    window.docks["profiler"].reveal()


@state("profiler")
def profiler_working(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    panel = window.project_views[project].profiler
    panel.header.steps.setValue(1000)
    panel.header.eager.setChecked(True)
    window.profile_steps()
    until(lambda: project.profiler.stage is not None and project.profiler.stage.done > 5)


@state("profiler")
def profiler_failed(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    until(lambda: bool(project.store.report.errors))
    window.profile_steps()


@state("profiler")
def profiler_flame_graph(window: MainWindow, folder: Path) -> None:
    _profiled(window, 0, "digits-vit", eager=True)
    assert window.project is not None
    window.project.store.select(["encoder"])


@state("profiler")
def profiler_table(window: MainWindow, folder: Path) -> None:
    _profiled(window, 1)


@state("profiler")
def profiler_memory(window: MainWindow, folder: Path) -> None:
    _profiled(window, 2, "digits-vit", eager=True)


@state("profiler")
def profiler_roofline(window: MainWindow, folder: Path) -> None:
    _profiled(window, 3)


@state("profiler")
def profiler_outdated(window: MainWindow, folder: Path) -> None:
    _profiled(window, 0)
    assert window.project is not None
    window.project.store.edit("Set", lambda document: edits.set_param(document, "dropout", "p", 0.25))
    QTest.qWait(500)


@state()
def trial_learning_rate(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.find_rate()
    trial = window.project_views[project].trial
    assert trial is not None
    until(lambda: not trial.is_running)


@state()
def trial_overfit_running(window: MainWindow, folder: Path) -> None:
    open_template(window, "digits-cnn")
    window.overfit()


@state()
def diagnosis(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set lr", lambda document: edits.set_param(document, "adam", "lr", 1e-7))
    until(lambda: project.store.is_checked)
    window.diagnose()
    trial = window.project_views[project].trial
    assert trial is not None
    until(lambda: not trial.is_running)


@state()
def running(window: MainWindow, folder: Path) -> None:
    """The whole window while a run is in progress."""
    project = _train(window, 1000)
    until(lambda: bool(project.runner.runs) and project.runner.runs[-1].progress.epoch >= 2)
    project.scope.select(["hidden"])


@state("runs")
def runs_filter_without_match(window: MainWindow, folder: Path) -> None:
    runs_three(window, folder)
    panel = window.project_views[window.project].runs  # type: ignore[index]
    panel.list.search.setText("zzzz")


@state("runs")
def runs_deleted(window: MainWindow, folder: Path) -> None:
    runs_three(window, folder)
    panel = window.project_views[window.project].runs  # type: ignore[index]
    panel.list.select(window.project.runner.runs[:1])  # type: ignore[union-attr]
    window.run_actions.delete()  # type: ignore[union-attr]
    QTest.qWait(1500)


@state("compile")
def compile_outdated(window: MainWindow, folder: Path) -> None:
    compile_explained(window, folder)
    assert window.project is not None
    window.project.store.edit("Set", lambda document: edits.set_param(document, "dropout", "p", 0.25))
    QTest.qWait(500)


@state("compile")
def compile_with_errors(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    until(lambda: bool(project.store.report.errors))
    window.docks["compile"].reveal()
    project.explainer.explain()
    QTest.qWait(1000)


@state("autograd")
def autograd_with_errors(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    until(lambda: bool(project.store.report.errors))
    window.docks["autograd"].reveal()
    project.runner.request_snapshot()
    QTest.qWait(1000)


@state("autograd")
def autograd_selected(window: MainWindow, folder: Path) -> None:
    autograd_graph(window, folder)
    assert window.project is not None
    window.project.scope.select(["hidden"])


@state()
def trial_learning_rate_running(window: MainWindow, folder: Path) -> None:
    open_template(window, "digits-cnn")
    window.find_rate()


@state("probes")
def probes_of_a_network(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-cnn")
    window.docks["probes"].reveal()
    view = window.project_views[project]
    view.probe_store.add(
        [
            Probe("conv1", "output", view="images"),
            Probe("logits", "output", view="projection"),
            Probe("relu2", "output", view="histogram"),
        ]
    )
    view.probe_store.add([Probe("conv2", "weight", "parameter", is_gradient=True), Probe("accuracy", "missing")])
    until(lambda: all(tile.result.view or tile.result.problem for tile in view.probes.tiles.values()))
    view.probe_computer.verify()
    until(lambda: not view.probe_computer.is_busy)
