"""Export a project as a Python package for PyTorch or for the engine."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from engine import fit
from engine.data.batches import JointBatches, Loaders
from engine.data.loader import DataLoader
from engine.io.safetensors_files import encode
from studio.document.model import Document
from studio.export import engine_files as engine_package
from studio.export.data_plan import DataPlan, data_plan
from studio.export.export_error import ExportError
from studio.export.import_lines import RESERVED
from studio.export.package_files import reject_target, write_package
from studio.export.package_text import ENGINE_REQUIREMENTS, TORCH_REQUIREMENTS, PackageFacts, readme, torch_notes
from studio.export.project_program import ProjectProgram, project_program
from studio.export.shipped_source import shipped
from studio.export.stored_samples import StoredSamples, stored_samples
from studio.export.torch_data import data_file
from studio.export.torch_model import model_files
from studio.export.torch_training import features, metrics_file, train_file
from studio.lowering.report import Report
from studio.training.prediction import load_task_weights

Target: TypeAlias = Literal["pytorch", "engine"]
TARGETS: tuple[Target, ...] = ("pytorch", "engine")
LIBRARIES: dict[Target, str] = {"pytorch": "PyTorch", "engine": "Gradwire's engine"}
STAGES = ("Generating code", "Reading data", "Writing files")


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What to export.

    Args:
        report: result of the check of the document
        name: name of the project
        target: library that the package is written for
        base: folder of the project file, from which relative paths of data start
        weights: run folder, checkpoint or weights file; those that trainings of the project start from if None
    """

    document: Document
    report: Report
    name: str
    target: Target = "pytorch"
    base: Path | None = None
    weights: Path | None = None


def export_package(request: ExportRequest, folder: Path, *, force: bool = False) -> tuple[str, ...]:
    """Write a project as a package to a folder, completely or not at all. Returns the paths of its files.

    Args:
        force: replace an earlier package

    Raises:
        ExportError: the project cannot be exported, or the folder cannot be written.
        LoweringError: the document has errors, or code that is not trusted.
        FileError: the weights cannot be read, or are those of another graph.
    """
    steps = export_steps(request, folder, force=force)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def export_steps(request: ExportRequest, folder: Path, *, force: bool = False) -> Generator[str, None, tuple[str, ...]]:
    """Like `export_package`, but yields the name of each stage before it. Closed, it writes nothing."""
    reject_target(folder, force=force)
    files = yield from package_files(request, folder)
    yield STAGES[2]
    write_package(files, folder, force=force)
    return tuple(sorted(files))


def package_files(request: ExportRequest, folder: Path) -> Generator[str, None, dict[str, bytes]]:
    """The files of a package by path, as `export_package` writes them; yields the name of each stage before it."""
    yield STAGES[0]
    project = project_program(request.document, request.report, request.name, request.base, _reserved(request.target))
    plan = data_plan(project)
    task = project.program.build(seed=project.training.seed)
    yield STAGES[1]
    loaders = task.setup()
    load_task_weights(task, request.document, request.base, request.weights)
    weights = bytes(encode(task.model.state_dict(), None, "weights"))
    if request.target == "pytorch":
        files, notes = _torch_files(project, plan, task, loaders)
        requirements = TORCH_REQUIREMENTS
    else:
        files = {name: text.encode() for name, text in engine_package.engine_files(project, plan, folder).items()}
        notes, requirements = (), ENGINE_REQUIREMENTS
    files |= {"weights.safetensors": weights, "requirements.txt": requirements.encode()}
    origin = _origin(request)
    facts = PackageFacts(project.program.model_class, LIBRARIES[request.target], origin, project.training.epochs, notes)
    return files | {"README.md": readme(facts, files).encode()}


def _origin(request: ExportRequest) -> str:
    """Where the weights of a package come from."""
    if request.weights is not None:
        return f"those of {request.weights.name}"
    imported = request.document.weights
    return f"initial ones, of seed {request.document.training.seed}" + (f" and {imported.file}" if imported else "")


def _reserved(target: Target) -> frozenset[str]:
    if target == "engine":
        return engine_package.reserved_names()
    return RESERVED | shipped("pytorch/trainer.py").definitions.keys()


def _torch_files(
    project: ProjectProgram, plan: DataPlan, task: fit.Task, loaders: Loaders
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The files of a PyTorch package that depend on its graph, and notes for its README."""
    samples = _samples(plan, loaders)
    train = train_file(project, task)
    extra = ["carried_states"] if features(project.training, task)["HAS_STATES"] else []
    model = model_files(project, extra)
    texts = {
        "model.py": model.model,
        "layers.py": model.layers,
        "data.py": data_file(plan, samples),
        "metrics.py": metrics_file(project),
        "train.py": train,
    }
    files = {name: text.encode() for name, text in texts.items() if text is not None}
    for each in samples:
        files[each.file] = each.encoded()
        if (license := each.license()) is not None:
            files[f"data/{each.plan.source}-LICENSE.md"] = license
    has_recomputed = any(node.recomputed for node in project.document.nodes.values())
    return files, torch_notes(samples, recomputes=model.recomputes, has_recomputed=has_recomputed)


def _samples(plan: DataPlan, loaders: Loaders) -> list[StoredSamples]:
    parts = loaders.loaders if isinstance(loaders, JointBatches) else (loaders,)
    found: list[StoredSamples] = []
    for each, own in zip(plan.loaders, parts, strict=True):
        assert isinstance(own.train, DataLoader)
        validation = own.validation if isinstance(own.validation, DataLoader) else None
        found.append(stored_samples(each, own.train, validation))
    return found


__all__ = [
    "LIBRARIES",
    "STAGES",
    "TARGETS",
    "ExportError",
    "ExportRequest",
    "Target",
    "export_package",
    "package_files",
]
