"""Encoding of class labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from engine.data.transforms.transform import Fitted, Invertible
from engine.dtypes import float32, int64
from engine.errors import DataError, DTypeError
from engine.registry import TRANSFORMS, Range, Size
from engine.shape import Spec


@TRANSFORMS.register(
    category="Labels", title="One-hot", outputs=("samples",), tags=("onehot", "indicator", "dummy", "encode")
)
class OneHot(Fitted, Invertible):
    """One-hot encode class numbers as float32 vectors: 1 at the index of the class, 0 elsewhere.

    Args:
        size: number of classes, the length of the vectors
    """

    def __init__(self, size: Size = 10) -> None:
        self.size = size

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        is_invalid = (samples < 0) | (samples >= self.size)
        if is_invalid.any():
            raise DataError(
                f"OneHot: class {samples[is_invalid][0]} is not in 0 to {self.size - 1}. "
                "Increase size, or add LabelEncode before it."
            )
        result = np.zeros((*samples.shape, self.size), np.float32)
        np.put_along_axis(result, samples[..., np.newaxis].astype(np.int64), 1, -1)
        return result

    def inverse(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples.argmax(-1).astype(np.int64)

    def spec(self, sample: Spec) -> Spec:
        if sample.dtype.kind != 1:
            raise DTypeError(f"OneHot needs class numbers, but samples are {sample}.")
        return Spec((*sample.shape, self.size), float32)

    @classmethod
    def fitted(cls, batches: Iterable[NDArray[Any]], **options: Any) -> dict[str, Any]:
        """The highest class number plus 1."""
        highest = max((int(batch.max()) for batch in batches if batch.size), default=None)
        if highest is None:
            raise DataError("there are no training samples to fit. Choose data with training samples.")
        return {"size": highest + 1}


@TRANSFORMS.register(
    category="Labels", title="Label encode", outputs=("samples",), tags=("LabelEncoder", "classes", "categories")
)
class LabelEncode(Fitted, Invertible):
    """Encode labels as class numbers from 0: the index in the list of labels.

    Args:
        labels: labels in the order of their class numbers; scripts may use texts
    """

    def __init__(
        self, labels: tuple[Annotated[int, Range(ge=-(2**63), le=2**63 - 1)], ...] | tuple[str, ...] = (0, 1)
    ) -> None:
        self.labels = tuple(labels)
        self._label_array = np.asarray(self.labels)
        self._order = np.argsort(self._label_array, kind="stable")
        if len(np.unique(self._label_array)) != len(self.labels):
            raise ValueError(f"LabelEncode: labels {self.labels} has a duplicate. List each label once.")
        if not self.labels:
            raise ValueError("LabelEncode: labels is empty. Add at least one label.")
        self.classes = len(self.labels)
        self.class_names = tuple(map(str, self.labels))

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        positions = np.searchsorted(self._label_array, samples, sorter=self._order)
        codes = self._order[np.minimum(positions, len(self._label_array) - 1)]
        is_invalid = self._label_array[codes] != samples
        if is_invalid.any():
            label, count = samples[is_invalid].tolist()[0], len(self.labels)
            raise DataError(f"LabelEncode: {label!r} is not among the {count} labels. Add it to labels.")
        return codes.astype(np.int64)

    def inverse(self, samples: NDArray[Any]) -> NDArray[Any]:
        return self._label_array[samples]

    def spec(self, sample: Spec) -> Spec:
        if sample.dtype.is_floating_point:
            raise DTypeError(f"LabelEncode needs integer or text labels, but samples are {sample}.")
        return Spec(sample.shape, int64)

    @classmethod
    def fitted(cls, batches: Iterable[NDArray[Any]], **options: Any) -> dict[str, Any]:
        """All labels that occur, in ascending order."""
        found: set[Any] = set()
        for batch in batches:
            found.update(np.unique(batch).tolist())
        if not found:
            raise DataError("there are no training samples to fit. Choose data with training samples.")
        return {"labels": tuple(sorted(found))}
