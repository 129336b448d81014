"""Each template, exported for PyTorch, trains to the numbers of the canvas."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from studio.document.files import project_files
from tests.studio.export.exported import assert_same, export, imported, train_canvas, train_package

TEMPLATES = sorted((Path(__file__).resolve().parents[3] / "assets" / "templates").glob("*.gradwire"))

CHAOTIC = {"digits-denoising", "digits-resnet18"}
"""Compared in float64. Adam divides by the root of tiny squared gradients, so rounding differences grow to 1 % within
20 steps in float32."""

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_trains_alike(template: Path, tmp_path: Path) -> None:
    document = project_files.load(template)
    folder = export(document, tmp_path / "package", base=template.parent)
    canvas, _, batches, validation = train_canvas(document, 5, 4, template.parent, double=template.stem in CHAOTIC)
    assert len(canvas.losses) == 20
    with imported(folder) as train:
        package = train_package(train, folder, batches, validation, 4)
    assert_same(canvas, package)
