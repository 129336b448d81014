"""Exports the network of a project as an artifact, and compares it with the network on the project's data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import Tensor, fit, no_grad
from engine.export import Artifact, Verification, save
from engine.export.artifact import compare_outputs
from engine.export.artifact_writing import Preprocessing, build_artifact
from engine.export.errors import ArtifactError
from engine.nn.utils import reset_states
from engine.random import fork_rng, manual_seed
from engine.tracing.model_trace import evaluation_mode, tensors_of
from studio.export.export_error import ExportError
from studio.export.model_call import ModelCall, evaluation_batches, first_call, input_names, model_call, output_names
from studio.export.network_trace import apply_transforms, describe_node, node_namer, open_spec, traceable_samples
from studio.export.raw_samples import RawSamples, UnsupportedSamplesError
from studio.lowering.program import Program, lower
from studio.lowering.report import Report
from studio.training.prediction import all_splits, load_task_weights

COMPARED_SAMPLES = 1000
"""Maximum number of samples that an artifact is compared on."""
ARTIFACT_STAGES = ("Load the weights", "Trace the network", "Compare the outputs", "Write the file")
"""Stages of an export, in their order."""
_SAMPLE_SIZE = 4
"""Samples in the file."""
_BATCH_SIZE = 64


@dataclass(frozen=True, slots=True)
class ArtifactExport:
    """A written artifact, and how its outputs differ from those of the network."""

    path: Path
    artifact: Artifact
    verification: Verification
    without_preprocessing: str
    """Why the file has no preprocessing although the inputs are transformed; empty if it needs none or has one."""


def export_artifact(
    report: Report, path: Path, *, name: str, base: Path | None = None, weights: Path | None = None
) -> ArtifactExport:
    """Write the network of a checked project as an artifact. Arguments and errors are those of `artifact_steps`."""
    steps = artifact_steps(report, path, name=name, base=base, weights=weights)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def artifact_steps(
    report: Report, path: Path, *, name: str, base: Path | None = None, weights: Path | None = None
) -> Iterator[str]:
    """Export, and yield each stage before it begins.

    Args:
        report: result of the check, without errors
        path: output file
        name: name of the project
        base: folder of the project file
        weights: run, checkpoint or weights file; default: those that trainings of the project start from

    Returns:
        the written artifact, as an `ArtifactExport`.

    Raises:
        ExportError: a node cannot be stored, or the outputs differ; nothing is written then.
        LoweringError: the report has errors.
        FileError: the weights belong to another graph.
        OSError: the file cannot be written.
    """
    yield ARTIFACT_STAGES[0]
    program = lower(report, name)
    task = program.build(seed=report.document.training.seed)
    task.setup()
    load_task_weights(task, report.document, base, weights)
    yield ARTIFACT_STAGES[1]
    call = first_call(task)
    samples, reason = _samples(task, call)
    try:
        artifact = _build(program, task, call, samples, name)
    except ArtifactError as error:
        raise ExportError(str(error), error.node or None) from error
    yield ARTIFACT_STAGES[2]
    found = _compared(artifact, task, samples)
    if not found.agrees:
        raise ExportError(
            f"The artifact differs from the network: {found.output} by {found.absolute:.2g}, relative "
            f"{found.relative:.2g}. Nothing was written. Report this with the project."
        )
    yield ARTIFACT_STAGES[3]
    save(artifact, path)
    return ArtifactExport(path, artifact, found, reason)


def _samples(task: fit.Task, call: ModelCall) -> tuple[RawSamples | None, str]:
    """Samples with transforms that the artifact contains; or why it does not contain them."""
    try:
        found = traceable_samples(task, call, "recorded")
    except UnsupportedSamplesError as error:
        return None, str(error)
    return (found if found.transforms else None), ""


def _build(program: Program, task: fit.Task, call: ModelCall, samples: RawSamples | None, name: str) -> Artifact:
    names = input_names(task)[: len(call.arguments)]
    inputs = [each[:_SAMPLE_SIZE] if each.ndim else each for each in call.arguments]
    preprocessing = None
    if samples is not None:
        raw, transformed = next(samples.batches(_SAMPLE_SIZE, _SAMPLE_SIZE))
        inputs = [transformed]
        preprocessing = Preprocessing(lambda batch: apply_transforms(samples, batch), open_spec(raw), raw)
    return build_artifact(
        task.model,
        {each: open_spec(tensor) for each, tensor in zip(names, call.arguments, strict=True)},
        inputs,
        output_names=output_names(program),
        labels=_labels(task, inputs),
        name=name,
        preprocessing=preprocessing,
        node_name=node_namer(program),
        describe_location=describe_node,
    )


def _labels(task: fit.Task, inputs: Sequence[Tensor]) -> tuple[str, ...]:
    """Names of the classes, if the first output is one score for each."""
    splits = all_splits(task)[0]
    names = splits.class_names or tuple(map(str, range(splits.classes or 0)))
    with evaluation_mode(task.model), no_grad(), fork_rng():
        first = next(tensors_of(task.model(*inputs)), None)
        reset_states(task.model)
    has_scores = first is not None and first.ndim == 2 and first.shape[1] == len(names) > 1
    return names if has_scores else ()


def _compared(artifact: Artifact, task: fit.Task, samples: RawSamples | None) -> Verification:
    """Compare an artifact with the network on the validation data, and its preprocessing with the transforms."""
    worst = Verification(0, 0.0, 0.0, artifact.outputs[0].name)
    for number, batch in enumerate(evaluation_batches(task, COMPARED_SAMPLES)):
        worst = _worse(worst, _compared_batch(artifact, task, model_call(task, batch).arguments, number))
    if samples is not None:
        for raw, transformed in samples.batches(COMPARED_SAMPLES, _BATCH_SIZE):
            found = compare_outputs([("the preprocessing", artifact.preprocess(raw), transformed.numpy())], 0)
            worst = _worse(worst, found)
    return worst


def _compared_batch(artifact: Artifact, task: fit.Task, inputs: tuple[Tensor, ...], seed: int) -> Verification:
    with fork_rng():
        manual_seed(seed)
        given = artifact(*inputs)
        manual_seed(seed)
        with evaluation_mode(task.model), no_grad():
            reset_states(task.model)
            expected = [each.numpy(force=True) for each in tensors_of(task.model(*inputs))]
    outputs = given if isinstance(given, tuple) else (given,)
    names = [each.name for each in artifact.outputs]
    return compare_outputs([*zip(names, outputs, expected, strict=True)], len(inputs[0]) if inputs[0].ndim else 1)


def _worse(first: Verification, second: Verification) -> Verification:
    """Both comparisons in one."""
    larger = second if second.relative > first.relative else first
    samples, absolute = first.samples + second.samples, max(first.absolute, second.absolute)
    return Verification(samples, absolute, larger.relative, larger.output)


__all__ = ["ARTIFACT_STAGES", "COMPARED_SAMPLES", "ArtifactExport", "artifact_steps", "export_artifact"]
