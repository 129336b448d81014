"""`gradwire run --break-on`: a run stops before the step at which a condition holds."""

from __future__ import annotations

import json
from pathlib import Path

from engine.io import load_file
from studio.document.breakpoints.breakpoint_edits import set_breakpoint
from studio.document.files import project_files
from studio.training.breakpoints.breakpoint_hit import hits_of


def test_a_condition_stops_the_run(gradwire, project: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = gradwire(
        "run",
        project,
        "--steps",
        20,
        "--out",
        out,
        "--no-compile",
        "--break-on",
        "step == 6",
        "--break-on",
        "loss is NaN",
    )
    assert result.code == 4
    folder = out / "breakpoints" / "step-6-step-equal-6"
    assert "Stopped before step 6: step is 6, equal to 6." in result.err
    assert f"The batch and the state before the step are in {folder}" in result.err.replace("\n", "")
    assert json.loads((folder / "hit.json").read_text())["step"] == 6
    [hit] = hits_of(out)
    assert hit.record.condition == "step == 6"
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line["event"] == "step"] == [1, 2, 3, 4, 5]


def test_the_run_resumes_before_the_step(gradwire, project: Path, tmp_path: Path) -> None:
    whole = gradwire("run", project, "--steps", 9, "--out", tmp_path / "whole")
    assert whole.code == 0
    gradwire("run", project, "--steps", 9, "--break-on", "step == 5")
    assert gradwire("run", project, "--resume").code == 0
    [run] = project.with_suffix(".runs").iterdir()
    expected = load_file(tmp_path / "whole" / "weights.safetensors")
    for name, value in load_file(run / "weights.safetensors").items():
        assert value.numpy().tobytes() == expected[name].numpy().tobytes()


def test_the_origin_of_nan_is_printed(gradwire, project: Path) -> None:
    result = gradwire("run", project, "--json", "--set", "adam.lr=1e30", "--break-on", "NaN anywhere", "--no-compile")
    assert result.code == 4
    [line] = [line for line in result.lines if line["event"] == "breakpoint"]
    [hit] = line["hits"]
    assert hit["origin"]["summary"] in line["message"]
    assert Path(hit["folder"]).is_dir()


def test_breakpoints_of_the_project_stop_the_run(gradwire, project: Path) -> None:
    document = project_files.load(project)
    project_files.save(set_breakpoint(document, "step > 2"), project)
    assert gradwire("run", project, "--steps", 5, "--quiet").code == 4
    project_files.save(set_breakpoint(document, "step > 2", enabled=False), project)
    assert gradwire("run", project, "--steps", 5, "--quiet").code == 0


def test_a_mistake_in_a_condition_names_its_position(gradwire, project: Path) -> None:
    result = gradwire("run", project, "--break-on", "los > 2")
    assert result.code == 2
    assert "los > 2: 'los' is no quantity of a step. Did you mean loss?" in result.err
    assert "(character 1)" in result.err
