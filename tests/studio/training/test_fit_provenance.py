"""Records of what fitted parameters were computed from: in the file, through edits, and in the check of samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from studio.document import edits
from studio.document.document_errors import FileError
from studio.document.files.project_format import dumps, loads
from studio.document.fit_records import applies
from studio.document.model import Document, Endpoint, FitRecord, Node, Wire
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes.data import arrays, network, points
from studio.training.data.data_inspector import DataInspector
from studio.training.data.transform_fitting import fit_arguments

ROWS = 240


def project(folder: Path, *transforms: Node, shift: float = 5.0, validation: float = 0.2) -> Document:
    """Points that are not centred, with a Normalize."""
    inputs, targets = points(rows=ROWS)
    source = arrays(folder, (inputs * 2 + shift).astype(np.float32), targets, validation=validation)
    return network(source, Node("transforms.Normalize"), *transforms, outputs=3)


def fitted(document: Document, base: Path | None = None) -> Document:
    return fit_arguments(document, catalogue(), "transform", base=base).applied(document)


def record(document: Document, name: str = "transform") -> FitRecord:
    found = document.nodes[name].fitted
    assert found is not None
    return found


def problems(document: Document, base: Path | None = None) -> list[Problem]:
    report = check(document, catalogue(), base)
    return list(DataInspector().inspect(report).joined(report).problems)


def codes(document: Document) -> list[tuple[str, str | None]]:
    return [(problem.code, problem.node) for problem in problems(document)]


def test_the_file_says_what_parameters_were_computed_from(tmp_path: Path) -> None:
    document = fitted(project(tmp_path))
    found = record(document)
    assert (found.source, found.part, found.samples, found.params) == ("source", "training", 192, ("mean", "std"))
    assert len(found.data) == len(found.nodes) == 16
    text = dumps(document)
    assert '"fitted": {"data": "' in text and loads(text) == document
    assert record(fitted(project(tmp_path, validation=0.0))).part == "all"
    assert "fitted" not in dumps(project(tmp_path)), "files without a record have the same text as before"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"part": "training"', '"part": "some"', "part: must be one of 'training', 'all'"),
        ('"samples": 192', '"samples": -1', "samples: must be a whole number ≥ 0"),
        ('"samples": 192', '"sample": 192', "sample: is not a known field. Did you mean samples?"),
        ('"samples": 192, ', "", 'has no field "samples"'),
    ],
)
def test_a_damaged_record_is_refused_with_its_location(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = dumps(fitted(project(tmp_path)))
    assert old in text
    with pytest.raises(FileError, match=r"nodes\.transform\.fitted") as caught:
        loads(text.replace(old, new))
    assert message in str(caught.value)


def test_values_that_are_changed_by_hand_have_no_record(tmp_path: Path) -> None:
    document = fitted(project(tmp_path))
    for other in (
        edits.set_param(document, "transform", "std", 3.0),
        edits.clear_param(document, "transform", "mean"),
        edits.retype(document, "transform", "transforms.MinMaxScale", {}),
    ):
        assert other.nodes["transform"].fitted is None
    kept = edits.set_param(document, "transform", "on", "inputs")
    assert record(kept) == record(document)
    assert record(edits.set_param(document, "transform", "std", document.nodes["transform"].params["std"]))
    params = {**document.nodes["transform"].params, "std": 2.0}
    in_the_file = replace(document.nodes["transform"], params=params)
    assert applies(document.nodes["transform"]) and not applies(in_the_file)


def test_edits_around_it_keep_the_record(tmp_path: Path) -> None:
    document = fitted(project(tmp_path))
    renamed = edits.rename(edits.rename(document, "source", "table"), "transform", "scale")
    assert record(renamed, "scale").source == "table"
    assert codes(renamed) == codes(document) == []
    moved = edits.set_note(edits.move(document, {"transform": (10, 20)}), "transform", "fitted")
    assert record(moved) == record(document)


def test_a_moved_project_keeps_the_record(tmp_path: Path) -> None:
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
        document = project(tmp_path / folder)
    document = edits.set_param(document, "source", "path", "arrays.npz")
    document = fitted(document, tmp_path / "before")
    assert problems(document, tmp_path / "after") == []


def test_replaced_data_are_found_and_the_fix_computes_again(tmp_path: Path) -> None:
    document = fitted(project(tmp_path))
    old = record(document)
    project(tmp_path, shift=50.0)
    [problem] = problems(document)
    assert (problem.code, problem.node) == ("stale-statistics", "transform")
    assert problem.message == (
        "mean and std of transform were computed from data, and the samples of source have changed since. "
        "Compute them again."
    )
    assert (
        problem.fix is not None and problem.fix.title == "Compute mean and std of transform from 192 training samples"
    )
    repaired = problem.fix.edit(document)
    assert codes(repaired) == [] and record(repaired) != old
    again = fitted(document)
    assert record(again).data == record(repaired).data and record(again).nodes == record(repaired).nodes
    first, second = (np.asarray(each.nodes["transform"].params["mean"]) for each in (again, repaired))
    np.testing.assert_allclose(first, second)


def test_changed_nodes_before_it_are_found(tmp_path: Path) -> None:
    document = fitted(project(tmp_path))
    other = edits.set_param(document, "source", "validation", 0.5)
    [problem] = problems(other)
    assert problem.code == "stale-statistics" and "source has changed since" in problem.message
    assert problem.fix is not None
    assert record(problem.fix.edit(other)).samples == 120
    assert codes(edits.set_param(document, "batches", "batch_size", 16)) == [], "nodes behind it do not matter"


def test_changes_that_leave_the_values_are_silent(tmp_path: Path) -> None:
    document = fitted(project(tmp_path))
    changed = replace(document.nodes["transform"], fitted=replace(record(document), nodes="other", data="other"))
    assert codes(replace(document, nodes={**document.nodes, "transform": changed})) == []


@pytest.mark.parametrize("key", ["transforms.Normalize", "transforms.MinMaxScale"])
def test_parameters_of_all_samples_before_a_split_are_found(tmp_path: Path, key: str) -> None:
    document = project(tmp_path, Node("data.HoldOut", {"validation": 0.3}), validation=0.0)
    document = fitted(edits.retype(document, "transform", key, {}))
    assert record(document).part == "all" and record(document).samples == ROWS
    [problem] = [each for each in problems(document) if each.node == "transform"]
    assert problem.code == "fitted-to-validation"
    assert "were computed from all 240 samples" in problem.message
    assert problem.fix is not None
    repaired = problem.fix.edit(document)
    assert record(repaired).part == "training" and record(repaired).samples == 168
    assert [code for code, node in codes(repaired) if node == "transform"] == []
    unsplit = project(tmp_path, validation=0.0)
    assert ("fitted-to-validation", "transform") not in codes(fitted(edits.retype(unsplit, "transform", key, {})))


def test_fixes_of_the_check_record_what_they_compute(tmp_path: Path) -> None:
    inputs, targets = points(rows=ROWS)
    document = network(arrays(tmp_path, (inputs * 900).astype(np.float32), targets), outputs=3)
    [problem] = problems(document)
    assert problem.code == "unscaled-inputs" and problem.fix is not None
    repaired = problem.fix.edit(document)
    [name] = set(repaired.nodes) - set(document.nodes)
    found = record(repaired, name)
    assert (found.source, found.part, found.samples) == ("source", "training", 192)
    assert applies(repaired.nodes[name]) and codes(repaired) == []


def test_labels_are_recorded_too(tmp_path: Path) -> None:
    inputs, targets = points(rows=ROWS)
    document = network(arrays(tmp_path, inputs, targets + 4), outputs=3)
    document = edits.add(document, "encode", Node("transforms.LabelEncode", {"on": "targets"}))
    document = edits.connect(document, Wire(Endpoint("source", "samples"), Endpoint("encode", "samples")))
    document = edits.connect(document, Wire(Endpoint("encode", "samples"), Endpoint("batches", "samples")))
    document = fit_arguments(document, catalogue(), "encode").applied(document)
    assert document.nodes["encode"].params["labels"] == [4, 5, 6] and record(document, "encode").params == ("labels",)
    arrays(tmp_path, inputs, np.minimum(targets + 4, 5))
    assert "stale-statistics" not in [code for code, _ in codes(document)], "a label that is rare now is no mistake"
