"""A chaotic time series for forecasts."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from engine.data.dataset import Indices
from engine.data.file_access import check_memory
from engine.data.samples import Samples
from engine.data.splits import Share, Splits
from engine.data.transforms.transform import Batch
from engine.dtypes import float32, float64
from engine.errors import DataError
from engine.random import Generator
from engine.registry import DATASETS, NonNegative, Range, Seed, Size
from engine.shape import Spec

_STEPS_PER_VALUE = 10
_WARM_UP = 300


@DATASETS.register(
    category="Synthetic", title="Mackey-Glass series", outputs=("samples",), tags=("time series", "forecast", "chaotic")
)
class MackeyGlass(Splits):
    """Windows of a chaotic time series; the target is how it continues.

    ``dx/dt = 0.2 x(t - delay) / (1 + x(t - delay)¹⁰) - 0.1 x(t)``, one value per unit of time. Inputs are
    N×length×1, targets N×horizon. The last values of the series are for validation.
    Source: M. Mackey, L. Glass, Science 197, 1977.

    Args:
        values: length of the series
        length: values per input
        horizon: values to predict
        delay: delay of the equation; the series is chaotic from 17 on
        noise: standard deviation of the noise added to all values
        seed: random seed of the initial value and the noise
        validation: fraction of the series, at its end, used for validation
    """

    def __init__(
        self,
        values: Annotated[int, Range(ge=2, le=100_000)] = 3000,
        length: Size = 32,
        horizon: Size = 1,
        delay: Annotated[int, Range(ge=1, le=1000)] = 17,
        noise: NonNegative = 0.0,
        seed: Seed = 0,
        validation: Share = 0.2,
    ) -> None:
        self._count, self._length, self._horizon = values, length, horizon
        self._delay, self._noise, self._seed = delay, noise, seed
        self._start = values - round(values * validation)
        """Start of the validation part."""

    @property
    def input(self) -> Spec:
        return Spec((self._length, 1), float32)

    @property
    def target(self) -> Spec:
        return Spec((self._horizon,), float32)

    @property
    def classes(self) -> int | None:
        return None

    @property
    def class_names(self) -> tuple[str, ...]:
        return ()

    @property
    def train(self) -> Samples:
        return self._windows("training", slice(0, self._start))

    @property
    def validation(self) -> Samples | None:
        return self._windows("validation", slice(self._start, None)) if self._start < self._count else None

    @property
    def discontinuity(self) -> str:
        return f"windows of {self._length} values start at every value" if self._length > 1 else ""

    @property
    def files(self) -> tuple[Path, ...]:
        return ()

    def check(self) -> None:
        check_memory("MackeyGlass", self._count * _STEPS_PER_VALUE * 8, "Decrease values.")
        self._check_part("training", self._start)
        if self._start < self._count:
            self._check_part("validation", self._count - self._start)

    def _windows(self, part: str, values: slice) -> Samples:
        series = self._series[values]
        self._check_part(part, len(series))
        return SeriesWindows(series, self._length, self._horizon)

    def _check_part(self, part: str, count: int) -> None:
        needed = self._length + self._horizon
        if count < needed:
            raise DataError(
                f"MackeyGlass: the {part} part has {count} values, but an input and its target need {needed}. "
                "Increase values."
            )

    @cached_property
    def _series(self) -> NDArray[np.float32]:
        random = Generator(self._seed).fork("MackeyGlass")
        delay = self._delay * _STEPS_PER_VALUE
        count = (_WARM_UP + self._count) * _STEPS_PER_VALUE
        x = np.empty(delay + 1 + count)
        x[: delay + 1] = 1.2 + random.uniform(1, float64, -0.1, 0.1)
        step = 1 / _STEPS_PER_VALUE
        for now in range(delay, delay + count):  # Euler's method
            past = x[now - delay]
            x[now + 1] = x[now] + step * (0.2 * past / (1 + past**10) - 0.1 * x[now])
        series = x[-self._count * _STEPS_PER_VALUE :: _STEPS_PER_VALUE]
        return (series + random.normal(self._count, float64, std=self._noise)).astype(np.float32)


class SeriesWindows(Samples):
    """Windows of a series, each with the values that follow it.

    Args:
        series: the values
        length: values per input
        horizon: values per target
    """

    def __init__(self, series: NDArray[np.float32], length: int, horizon: int) -> None:
        self._series, self._length, self._horizon = series, length, horizon

    def __len__(self) -> int:
        return len(self._series) - self._length - self._horizon + 1

    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        return self._from(rows, self._length)[:, :, np.newaxis], self.targets(rows)

    def targets(self, rows: Indices) -> Batch:
        return self._from(rows + self._length, self._horizon)

    def _from(self, starts: Indices, length: int) -> NDArray[np.float32]:
        return self._series[starts[:, np.newaxis] + np.arange(length)]
