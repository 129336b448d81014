"""README and requirements of an exported package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from studio.export.stored_samples import StoredSamples

DESCRIPTIONS = {
    "model.py": "the model as a class, with a class for each block",
    "layers.py": "layers that PyTorch does not have",
    "data.py": "data sets, transforms and batches",
    "metrics.py": "metrics",
    "train.py": "losses, optimizers, schedules and the training loop",
    "weights.safetensors": "the weights that the training starts from",
    "requirements.txt": "the libraries that the package needs",
}
RANDOM_NUMBERS = (
    "PyTorch draws other random numbers than Gradwire. The initial weights are in `weights.safetensors`, but the order "
    "of samples, dropout and augmentations differ."
)
STORED_ACTIVATIONS = (
    "Activations are stored, not recomputed, because layers of the model count forward passes. Results are the same."
)
TORCH_REQUIREMENTS = "numpy>=1.26\nsafetensors>=0.4\ntorch>=2.4\n"
ENGINE_REQUIREMENTS = "gradwire\n"


@dataclass(frozen=True, slots=True)
class PackageFacts:
    """What a README says about a package."""

    title: str
    library: str
    """ "PyTorch" or "Gradwire's engine"."""
    weights: str
    """Where the weights are from."""
    epochs: int
    notes: tuple[str, ...]


def readme(facts: PackageFacts, files: Iterable[str]) -> str:
    """The text of README.md."""
    rows = [f"| `{name}` | {_description(name)} |" for name in sorted(files)]
    notes = [f"- {note}" for note in facts.notes]
    return "\n".join(
        [
            f"# {facts.title}",
            "",
            f"A project of Gradwire as a program for {facts.library}.",
            "",
            "```sh",
            "pip install -r requirements.txt",
            f"python train.py --epochs {facts.epochs} --device cpu",
            "```",
            "",
            "| file | content |",
            "|---|---|",
            *rows,
            "",
            f"The weights are {facts.weights}. After a training, `checkpoints/` has the best and the last weights and",
            "the losses and metrics of each epoch.",
            *(["", "## Notes", "", *notes] if notes else []),
            "",
        ]
    )


def _description(name: str) -> str:
    if name in DESCRIPTIONS:
        return DESCRIPTIONS[name]
    return "the license of the data" if name.endswith(".md") else "samples, as arrays of NumPy"


def torch_notes(samples: Sequence[StoredSamples], *, recomputes: bool, has_recomputed: bool) -> tuple[str, ...]:
    """What differs from the project in a PyTorch package."""
    notes = [RANDOM_NUMBERS]
    for each in samples:
        if each.stored:
            nodes = ", ".join(step.node for step in each.stored)
            notes.append(f"`{each.file}` has the samples after {nodes}.")
    if has_recomputed and not recomputes:
        notes.append(STORED_ACTIVATIONS)
    return tuple(notes)


__all__ = ["ENGINE_REQUIREMENTS", "TORCH_REQUIREMENTS", "PackageFacts", "readme", "torch_notes"]
