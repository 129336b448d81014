"""The first samples of an import, reduced for display."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.splits import Splits
from engine.data.text_file import Text
from engine.shape import format_shape
from studio.training.data.sample_display import Kind, Scale, kind_of, reduced

_COUNT = 24
_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class PreviewSamples:
    """Samples after all transforms, evenly spread over the training samples."""

    kind: Kind
    scale: Scale
    inputs: tuple[NDArray[Any], ...]
    labels: tuple[str, ...]
    """The class or target of each sample; the text itself for samples of a text."""


def preview_samples(source: Splits, splits: Splits) -> PreviewSamples:
    count = len(splits.train)
    rows = np.unique(np.linspace(0, count - 1, min(_COUNT, count)).astype(np.int64))
    inputs, targets = splits.train.arrays(rows)
    kind = kind_of(source, splits.input)
    shown = tuple(reduced(np.asarray(values), kind) for values in inputs)
    if isinstance(source, Text) and kind == "text":
        labels = tuple(_text(source, values) for values in shown)
    else:
        labels = tuple(_label(source, np.asarray(target)) for target in targets)
    return PreviewSamples(kind, Scale.of(list(shown)), shown, labels)


def _text(source: Text, tokens: NDArray[Any]) -> str:
    words = [source.class_names[token] for token in tokens[:_CHARACTERS]]
    return (" " if any(len(word) > 1 for word in words) else "").join(words)


def _label(source: Splits, target: NDArray[Any]) -> str:
    names = source.class_names
    if target.ndim == 0 and names and 0 <= int(target) < len(names):
        return names[int(target)]
    return f"{target.item():.4g}" if target.size == 1 else format_shape(target.shape)


__all__ = ["PreviewSamples", "preview_samples"]
