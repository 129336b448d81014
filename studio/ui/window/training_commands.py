"""Commands of the menu Run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from studio.document import edits
from studio.ui.command_registry import Command
from studio.ui.project.project import Project
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.project_actions import on_project, when

_DEVICES = {
    "auto": ("Choose the device automatically", ""),
    "cpu": ("Use the CPU", "processor"),
    "cuda": ("Use the GPU", "cuda nvidia graphics card accelerator"),
}
"""Title of the command of each device, and further words that find it."""


def training_commands(window: CommandWindow) -> Iterator[Command]:
    def is_in(*states: str) -> Callable[[], bool]:
        return when(window, lambda project: project.runner.state in states)

    def is_not(*states: str) -> Callable[[], bool]:
        return when(window, lambda project: project.runner.state not in states)

    yield Command(
        "run.start",
        "Run",
        window.start_run,
        ("Ctrl+Return", "F5"),
        "Run",
        "run",
        token="accent",
        help="Start training, or continue after a pause (Ctrl+Enter)",
        enabled=is_not("running"),
        reason="A run is in progress",
        words="train fit start play execute",
    )
    yield Command(
        "run.pause",
        "Pause",
        on_project(window, lambda project: project.runner.pause()),
        ("F6",),
        "Run",
        "pause",
        help="Pause after the current batch (F6)",
        enabled=is_in("running"),
        reason="No run is in progress",
        words="hold suspend",
    )
    yield Command(
        "run.step",
        "Run one batch",
        on_project(window, lambda project: project.runner.step()),
        ("F10",),
        "Run",
        "step",
        help="Train one batch, then pause (F10)",
        enabled=is_not("running"),
        reason="A run is in progress",
        words="single debug",
    )
    yield Command(
        "run.stop",
        "Stop",
        on_project(window, lambda project: project.runner.stop()),
        ("Ctrl+.",),
        "Run",
        "stop",
        help="Stop training; curves and weights are kept (Ctrl+.)",
        enabled=is_in("running", "paused"),
        reason="No run is active",
        words="cancel abort end halt",
    )
    for device, (title, words) in _DEVICES.items():
        yield Command(
            f"run.device-{device}",
            title,
            on_project(window, partial(_set_device, device=device)),
            (),
            "Run/Device",
            "chip",
            help="Device that trains this project, saved with it",
            enabled=when(window, lambda _: True),
            checked=when(window, lambda project, device=device: project.store.document.training.device == device),
            words=f"device {words}",
        )
    yield Command(
        "run.settings",
        "Training settings",
        window.show_training_settings,
        (),
        "Run",
        "settings",
        help="Show epochs, seed, device and the other training settings of the project in the inspector",
        enabled=when(window, lambda _: True),
        words="epochs seed precision clipping accumulation early stopping patience checkpoints hyperparameters",
    )
    yield Command(
        "run.look",
        "Show the autograd graph of one step",
        window.show_autograd_graph,
        (),
        "Run",
        "autograd",
        enabled=when(window, lambda _: True),
        separated=True,
        words="gradients backward",
    )
    yield Command(
        "run.explain",
        "Explain the compiled training step",
        window.explain_step,
        ("Ctrl+Shift+E",),
        "Run",
        "compile",
        help="Run a few steps on a copy of the model and show kernels, graph breaks and timings",
        enabled=when(window, lambda _: True),
        words="compiler fusion profile performance speed",
    )
    yield Command(
        "run.profile",
        "Profile training steps",
        window.profile_steps,
        ("Ctrl+Alt+P",),
        "Run",
        "clock",
        help="Measure where the time and memory of training steps go: of the run, or of a copy of the project",
        enabled=when(window, lambda _: True),
        words="profiler slow performance speed time memory flame graph roofline bottleneck trace",
    )
    yield Command(
        "run.mend-break",
        "Mend graph break…",
        window.mend_break,
        ("Ctrl+Shift+B",),
        "Run",
        "bridge",
        help="Show the next graph break on the canvas, with a rewrite of its code and what a step gains by it",
        enabled=when(window, lambda _: True),
        words="fix rewrite faster python compile where",
    )
    yield Command(
        "run.diagnose",
        "Diagnose the loss…",
        window.diagnose,
        ("Ctrl+Shift+L",),
        "Run",
        "search",
        help="Find out why the loss does not fall, with nine experiments on a copy of the project",
        enabled=when(window, lambda _: True),
        separated=True,
        words="why not falling learning flat debug experiments gradients labels wrong help",
    )
    yield Command(
        "run.find-rate",
        "Find a learning rate…",
        window.find_rate,
        (),
        "Run",
        "scheduler",
        help="Train a few batches with increasing learning rates and plot the loss",
        enabled=when(window, lambda _: True),
        words="lr finder range test",
    )
    yield Command(
        "run.overfit",
        "Overfit one batch…",
        window.overfit,
        (),
        "Run",
        "check",
        help="Train on a single batch to check that the network can learn",
        enabled=when(window, lambda _: True),
        words="sanity debug",
    )
    yield Command(
        "run.compile",
        "Compile training steps",
        on_project(window, _switch_compiling),
        (),
        "Run",
        help="Compile training steps into fused kernels. Results are identical. Saved with the project.",
        enabled=when(window, lambda _: True),
        checked=when(window, lambda project: project.store.document.training.compile),
        separated=True,
        words="speed fast kernels jit",
    )


def _switch_compiling(project: Project) -> None:
    on = not project.store.document.training.compile
    title = "Compile training steps" if on else "Do not compile training steps"
    project.store.edit(title, lambda document: edits.set_training(document, compile=on))


def _set_device(project: Project, device: str) -> None:
    project.store.edit(f"Set device to {device}", lambda document: edits.set_training(document, device=device))
