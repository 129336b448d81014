"""Files, commands and the end of a run."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

COMMANDS = (
    Diagnosis(
        "bad-usage",
        "Invalid argument",
        "An argument of the command does not exist or has a value that is not allowed.",
    ),
    Diagnosis(
        "bad-file",
        "Invalid file",
        "A file is missing, damaged, of another kind, or cannot be read or written.",
    ),
    Diagnosis(
        "bad-input",
        "Invalid input",
        "The arguments are valid but cannot be combined or used here.",
    ),
    Diagnosis(
        "not-exported",
        "Not exported",
        "The project cannot be written as a Python package or as an artifact, or its folder cannot be written.",
    ),
    Diagnosis(
        "onnx-unsupported",
        "No ONNX form",
        "ONNX cannot express an op of the network, or the code of a node depends on values of tensors.",
    ),
    Diagnosis(
        "onnx-differs",
        "ONNX file differs",
        "The outputs of the exported file in onnxruntime differ from those of the network.",
    ),
    Diagnosis(
        "run-failed",
        "Run failed",
        "The run ended with an error.",
    ),
    Diagnosis(
        "check-failed",
        "Check failed",
        "The check itself failed, so the graph was not checked.",
    ),
    Diagnosis(
        "computing",
        "Warning of the engine",
        "The engine gave a warning while it read data or computed.",
    ),
    Diagnosis(
        "disk",
        "Run files not written",
        "Writing the run's files failed, or works again.",
    ),
    Diagnosis(
        "start-from",
        "Initial weights",
        "Weights that match by name and shape are loaded; the others keep their initial values.",
    ),
    Diagnosis(
        "resume",
        "Resumed run",
        "A resumed run continues from its last checkpoint.",
    ),
    Diagnosis(
        "no-lock",
        "Run not locked",
        "A lock keeps a second process from writing the same run.",
    ),
    Diagnosis(
        "breakpoint",
        "Breakpoint without effect",
        "A breakpoint names a node, output or parameter that the graph does not have.",
    ),
    Diagnosis(
        "not-measured",
        "Step not measured",
        "The statistics of a step could not be computed; the run itself goes on.",
    ),
    Diagnosis(
        "not-reproduced",
        "Failure not reproduced",
        "The failure of the project or run did not occur again, so there is nothing to reduce.",
    ),
    Diagnosis(
        "no-autograd-graph",
        "No autograd graph",
        "The autograd graph is recorded from one step; the run itself goes on.",
    ),
    Diagnosis(
        "answers",
        "Unchanged predictions",
        "Predictions are written without changes.",
    ),
)

__all__ = ["COMMANDS"]
