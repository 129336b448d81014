"""Write event files for TensorBoard with the tensorboard package."""

from __future__ import annotations

import importlib
import io
import os
import platform
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import numpy as np
from PIL import Image

from engine.errors import ShapeError
from engine.tensors import Tensor

try:
    _EVENT: Any = importlib.import_module("tensorboard.compat.proto.event_pb2")
    _SUMMARY: Any = importlib.import_module("tensorboard.compat.proto.summary_pb2")
    _TENSOR: Any = importlib.import_module("tensorboard.compat.proto.tensor_pb2")
    _WRITER: Any = importlib.import_module("tensorboard.summary.writer.event_file_writer")
except ImportError as error:
    raise ImportError(
        f'engine.utils.tensorboard needs TensorBoard ({error}). Install it: pip install "gradwire[tensorboard]"'
    ) from None

BINS = 64
STRING = 7
"""TensorFlow's DataType code of strings."""


class SummaryWriter:
    """Write an event file to a folder, for `tensorboard --logdir FOLDER`.

    Args:
        log_dir: output folder; default: runs/DATE_COMPUTER
        comment: appended to the default folder
        purge_step: TensorBoard hides earlier events from this step on; for resumed runs
        max_queue: number of events buffered before a write
        flush_secs: maximum time between writes, in seconds
        filename_suffix: appended to the file name
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = Path("runs") / f"{datetime.now().astimezone():%b%d_%H-%M-%S}_{platform.node()}{comment}"
        self.log_dir = os.fspath(log_dir)
        self._options = (max_queue, flush_secs, filename_suffix)
        self._writers = {"": _WRITER.EventFileWriter(self.log_dir, *self._options)}
        if purge_step is not None:
            start = _EVENT.SessionLog(status=_EVENT.SessionLog.START)
            self._writers[""].add_event(_EVENT.Event(wall_time=time.time(), step=purge_step, session_log=start))

    def get_logdir(self) -> str:
        """Return the output folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add a point of a curve. TensorBoard stores single precision."""
        value = _SUMMARY.Summary.Value(tag=tag, simple_value=float(scalar_value))
        self._write("", value, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add points of several curves to one chart. Each curve gets a subfolder."""
        for tag, scalar in tag_scalar_dict.items():
            folder = f"{main_tag.replace('/', '_')}_{tag}"
            self._write(folder, _SUMMARY.Summary.Value(tag=main_tag, simple_value=float(scalar)), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = BINS,
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add a histogram of a tensor's values. `bins`: number of bins, or a `bins` argument of NumPy.

        Raises ValueError for a tensor without finite numbers.
        """
        numbers = _array(values).astype(np.float64).ravel()
        if not numbers.size or not np.isfinite(numbers).all():
            raise ValueError(f"add_histogram(): {tag} is empty or contains values that are not finite")
        counts, edges = np.histogram(numbers, BINS if bins == "tensorflow" else bins)
        histogram = _SUMMARY.HistogramProto(
            min=numbers.min(),
            max=numbers.max(),
            num=numbers.size,
            sum=numbers.sum(),
            sum_squares=numbers @ numbers,
            bucket_limit=edges[1:].tolist(),
            bucket=counts.tolist(),
        )
        self._write("", _SUMMARY.Summary.Value(tag=tag, histo=histogram), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image: bytes, or values from 0 to 1. `dataformats`: order of dimensions, "CHW", "HWC" or "HW"."""
        pixels = _pixels(_array(img_tensor), dataformats)
        encoded = io.BytesIO()
        Image.fromarray(pixels).save(encoded, format="png")
        image = _SUMMARY.Summary.Image(
            height=pixels.shape[0],
            width=pixels.shape[1],
            colorspace=pixels.shape[2],
            encoded_image_string=encoded.getvalue(),
        )
        self._write("", _SUMMARY.Summary.Value(tag=tag, image=image), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add a batch of images in one row; see `add_image`."""
        images = np.moveaxis(_array(img_tensor), dataformats.index("N"), 0)
        each = [_pixels(image, dataformats.replace("N", "")) for image in images]
        self.add_image(tag, np.concatenate(each, axis=1), global_step, walltime, "HWC")

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Add text in Markdown."""
        shape = {"dim": [{"size": 1}]}
        text = _TENSOR.TensorProto(dtype=STRING, string_val=[text_string.encode()], tensor_shape=shape)
        value = _SUMMARY.Summary.Value(tag=f"{tag}/text_summary", metadata=_plugin("text"), tensor=text)
        self._write("", value, global_step, walltime)

    def flush(self) -> None:
        """Write buffered events to disk."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Write buffered events and close the files."""
        for writer in self._writers.values():
            writer.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        self.close()

    def __getattr__(self, name: str) -> NoReturn:
        available = ", ".join(key for key in vars(SummaryWriter) if key.startswith("add_"))
        raise AttributeError(f"SummaryWriter.{name} is not supported. Available: {available}.")

    def _write(self, folder: str, value: Any, step: int | None, walltime: float | None) -> None:
        if folder not in self._writers:
            self._writers[folder] = _WRITER.EventFileWriter(os.path.join(self.log_dir, folder), *self._options)
        event = _EVENT.Event(
            wall_time=time.time() if walltime is None else walltime,
            step=0 if step is None else int(step),
            summary=_SUMMARY.Summary(value=[value]),
        )
        self._writers[folder].add_event(event)


def _array(values: Any) -> np.ndarray[Any, Any]:
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


def _pixels(image: np.ndarray[Any, Any], dataformats: str) -> np.ndarray[Any, Any]:
    """Return the image as bytes, height × width × 3 or 4."""
    order = dataformats.upper()
    if image.ndim != len(order) or not {"H", "W"} <= set(order) <= {"H", "W", "C"}:
        raise ShapeError(f"the dimensions of an image of shape {image.shape} do not match {dataformats!r}")
    planes = image[..., None] if "C" not in order else image
    order = order if "C" in order else f"{order}C"
    planes = planes.transpose([order.index(axis) for axis in "HWC"])
    if planes.dtype != np.uint8:
        planes = (np.asarray(planes, np.float32) * 255).clip(0, 255).astype(np.uint8)
    return np.ascontiguousarray(planes.repeat(3, axis=2) if planes.shape[2] == 1 else planes)


def _plugin(name: str) -> Any:
    return _SUMMARY.SummaryMetadata(plugin_data=_SUMMARY.SummaryMetadata.PluginData(plugin_name=name))


__all__ = ["SummaryWriter"]
