"""Event files that TensorBoard's own reader reads back, where it is installed."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import engine

WITHOUT = """
import sys
sys.modules["tensorboard"] = None
try:
    import engine.utils.tensorboard
except ImportError as error:
    print(error)
"""


def test_missing_tensorboard_is_explained() -> None:
    command = [sys.executable, "-c", WITHOUT]
    result = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout
    assert 'pip install "gradwire[tensorboard]"' in result


def read(folder: Path) -> Any:
    accumulator: Any = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    result = accumulator.EventAccumulator(
        str(folder), size_guidance=dict.fromkeys(accumulator.DEFAULT_SIZE_GUIDANCE, 0)
    )
    return result.Reload()


def test_written_events_are_read_back(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    numbers = engine.arange(10.0).reshape(2, 5)
    with importlib.import_module("engine.utils.tensorboard").SummaryWriter(tmp_path) as writer:
        assert writer.get_logdir() == str(tmp_path)
        for step in range(3):
            writer.add_scalar("loss", engine.tensor(1.5 + step), step, walltime=100.0 + step)
        writer.add_scalars("both", {"a": 1.0, "b": engine.tensor(2)}, 7)
        writer.add_histogram("weights", numbers, 4)
        writer.add_image("picture", engine.arange(24).reshape(2, 3, 4).to(engine.uint8), 1, dataformats="HWC")
        writer.add_image("plane", engine.full((2, 3), 0.5), dataformats="HW")
        writer.add_images("row", engine.ones(3, 1, 2, 2), 2)
        writer.add_text("note", "a **text**", 5)
        writer.flush()
        with pytest.raises(ValueError, match="not finite"):
            writer.add_histogram("nan", engine.tensor([float("nan")]))
        with pytest.raises(ValueError, match="do not match"):
            writer.add_image("flat", engine.ones(3))
        with pytest.raises(AttributeError, match=r"add_graph is left out.*add_scalar, "):
            writer.add_graph(None)
    result = read(tmp_path)
    assert [(one.step, one.value, one.wall_time) for one in result.Scalars("loss")] == [
        (0, 1.5, 100.0), (1, 2.5, 101.0), (2, 3.5, 102.0)
    ]  # fmt: skip
    assert read(tmp_path / "both_b").Scalars("both")[0].value == 2
    histogram = result.Histograms("weights")[0].histogram_value
    assert (histogram.num, histogram.min, histogram.max, histogram.sum, sum(histogram.bucket)) == (10, 0, 9, 45, 10)
    coded = [result.Images(tag)[0].encoded_image_string for tag in ("picture", "plane", "row")]
    picture, plane, row = (np.asarray(Image.open(io.BytesIO(one))) for one in coded)
    assert picture.tolist() == np.arange(24).reshape(2, 3, 4).tolist()
    assert (plane.shape, plane.max(), row.shape, row.min()) == ((2, 3, 3), 127, (2, 6, 3), 255)
    assert result.Tensors("note/text_summary")[0].tensor_proto.string_val == [b"a **text**"]
