"""Artifacts: traced models with weights in one file, which `load` runs without the code that made them."""

from engine import lazy

__getattr__, __dir__ = lazy.attach(
    __name__,
    {
        "engine.export.artifact": "Artifact, Sample, TensorSignature, Verification",
        "engine.export.artifact_reading": "load",
        "engine.export.artifact_writing": "export, save",
        "engine.export.errors": "ArtifactError",
    },
)
