"""Code of a project."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

CODE = (
    Diagnosis(
        "untrusted-code",
        "Untrusted code",
        "Code of a project can do everything that you can do, so it only runs once you trust it.",
    ),
    Diagnosis(
        "code-failed",
        "Code of a Python node failed",
        "The code of a Python node is run without training data to find the shapes of its outputs.",
    ),
    Diagnosis(
        "code-forward",
        "Direct call of forward",
        "A layer is called itself: module(x) runs the hooks that statistics and inspection use, module.forward(x) does "
        "not.",
    ),
    Diagnosis(
        "code-training-step",
        "Training step in a Python node",
        "Gradients are added up until they are cleared. The optimizer node computes, applies and clears them.",
    ),
    Diagnosis(
        "code-kept-values",
        "Tensors kept with their history",
        "A tensor that is kept over steps keeps all tensors that it was computed from, so memory grows in each step.",
    ),
    Diagnosis(
        "code-training-mode",
        "Training mode set by code",
        "Dropout and batch normalization act differently in training and in validation. A run sets the mode.",
    ),
    Diagnosis(
        "code-unregistered",
        "Unregistered layers",
        "A module trains, saves and moves only the layers and parameters that are its attributes or in a ModuleList.",
    ),
    Diagnosis(
        "code-initialization",
        "Initial weights set by code",
        "Units with equal weights get equal gradients and stay equal; too large weights saturate what follows.",
    ),
    Diagnosis(
        "code-no-gradient",
        "Result without a gradient",
        "A layer learns only if all that is computed from its output, up to the loss, passes gradients back.",
    ),
    Diagnosis(
        "code-device",
        "Fixed device",
        "Tensors that are combined have to be on one device, which the user chooses for each run.",
    ),
    Diagnosis(
        "code-read-back",
        "Value read in each step",
        "item(), numpy() and float() wait for the device, split the compiled step and have no gradient.",
    ),
    Diagnosis(
        "unsafe-code",
        "Unsafe code",
        "Generated code is verified before it runs; this code contains something that no node generates.",
    ),
)

__all__ = ["CODE"]
