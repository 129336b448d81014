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
        "unsafe-code",
        "Unsafe code",
        "Generated code is verified before it runs; this code contains something that no node generates.",
    ),
)

__all__ = ["CODE"]
