"""Figures of nodes, wires and blocks in a measured step, and their colors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from studio.document.model import Endpoint, Wire
from studio.training.statistics.canvas_figures import FIGURES
from studio.training.statistics.canvas_values import CanvasValues, changes, step_values
from studio.training.statistics.color_scale import (
    BROKEN,
    CHANGES,
    LEVELS,
    NO_FIGURE,
    ColorScale,
    ScaleKind,
    Shade,
    fitted_scale,
)
from studio.training.statistics.step_statistics import Figures, StepStatistics

RANDOM = np.random.default_rng(3)
TENSORS = {
    "conv.output": RANDOM.normal(0.5, 2, 400),
    "stage.0.conv.output": RANDOM.normal(-3, 1, 100),
    "stage.0.relu.output": RANDOM.normal(0, 1, 50).clip(0),
    "stage.1.conv.output": RANDOM.normal(9, 0.1, 300),
}
WIRE = Wire(Endpoint("conv", "output"), Endpoint("stage", "input"))
ENDS = {WIRE: Endpoint("conv", "output")}


def figures(values: np.ndarray, gradient: float) -> Figures:
    found = {"mean": values.mean(), "std": values.std(), "norm": np.linalg.norm(values), "nan": 1.0, "infinite": 2.0}
    return {name: float(value) for name, value in {**found, "gradient": gradient}.items()}


@pytest.fixture
def measured() -> StepStatistics:
    outputs = {path: figures(values, number + 3.0) for number, (path, values) in enumerate(TENSORS.items())}
    outputs["stage.0.relu.output"] = {**outputs["stage.0.relu.output"], "dead": 0.5, "units": 30}
    outputs["stage.1.relu.output"] = {"dead": 0.1, "units": 10}
    parameters = {
        "conv.weight": {"norm": 4.0, "gradient": 0.3, "update": 0.004},
        "conv.bias": {"norm": 3.0, "gradient": 0.4, "update": 0.003},
        "stage.0.conv.weight": {"norm": 10.0, "gradient": 2.0, "update": 1.0},
        "head.weight": {"norm": 0.0, "gradient": 0.0, "update": 0.0},
    }
    return StepStatistics(40, outputs, parameters)


def values(key: str, measured: StepStatistics, prefix: str = "") -> CanvasValues:
    names = {"": ("conv", "stage", "head"), "stage.0.": ("conv", "relu")}[prefix]
    return step_values(key, measured, prefix, names, ENDS if not prefix else {})


def test_norms_are_the_root_of_the_sum_of_squares(measured: StepStatistics) -> None:
    found = values("gradient", measured)
    assert found.nodes == pytest.approx({"conv": 3, "stage": math.sqrt(16 + 25 + 36)})
    assert found.wires == {WIRE: 3}
    assert values("gradient", measured, "stage.0.").nodes == {"conv": 4, "relu": 5}
    assert values("parameter-gradient", measured).nodes == pytest.approx({"conv": 0.5, "stage": 2, "head": 0})


@pytest.mark.parametrize(("key", "of"), [("std", np.std), ("rms", lambda found: math.sqrt(np.mean(found**2)))])
def test_the_scale_of_a_block_is_that_of_all_its_values(key: str, of: object, measured: StepStatistics) -> None:
    assert callable(of)
    inside = np.concatenate([tensor for path, tensor in TENSORS.items() if path.startswith("stage.")])
    found = values(key, measured)
    assert found.nodes == pytest.approx({"conv": of(TENSORS["conv.output"]), "stage": of(inside)})
    assert found.wires == pytest.approx({WIRE: of(TENSORS["conv.output"])})


def test_shares_are_weighted_by_units_and_ratios_are_of_summed_norms(measured: StepStatistics) -> None:
    assert values("dead", measured).nodes == pytest.approx({"stage": (0.5 * 30 + 0.1 * 10) / 40})
    assert values("update", measured).nodes == pytest.approx({"conv": 0.001, "stage": 0.1}), "head has only zeros"
    assert values("nonfinite", measured).nodes == {"conv": 3, "stage": 9}


def test_tensors_of_zeros_have_a_scale_of_zero() -> None:
    zeros = {"mean": 0.0, "std": 0.0, "norm": 0.0, "nan": 0.0, "infinite": 0.0}
    measured = StepStatistics(1, {"a.x.output": zeros, "a.y.output": zeros}, {})
    for key in ("std", "rms", "nonfinite"):
        assert step_values(key, measured, "", ("a",), {}).nodes == {"a": 0}
    for key in ("gradient", "dead", "update"):
        assert not step_values(key, measured, "", ("a",), {}).nodes


def test_norms_are_compared_by_ratios_and_shares_by_differences() -> None:
    now, base = CanvasValues({"a": 8.0, "b": 0.0, "c": 1.0, "d": 3.0}), CanvasValues({"a": 2.0, "b": 0.0, "c": 0.0})
    assert changes(FIGURES["gradient"], now, base).nodes == {"a": 4, "b": 1, "c": math.inf}
    assert changes(FIGURES["dead"], CanvasValues({"a": 0.5}), CanvasValues({"a": 0.75})).nodes == {"a": -0.25}


@pytest.mark.parametrize(
    ("kind", "found", "ends"),
    [
        ("amount", [3, 7], (0, 7)),
        ("log", [0.0, 0.002, 30], (1e-3, 100)),
        ("log", [1.0, 1.0], (0.1, 1)),
        ("log", [1e-30, 1.0], (1e-12, 1)),
        ("log", [], (0.1, 1)),
        ("share", [0.01], (0, 1)),
        ("ratio", [0.3, 2, math.inf], (0.25, 4)),
        ("ratio", [1.0], (0.5, 2)),
        ("difference", [-0.25, 0.1], (-0.25, 0.25)),
        ("difference", [0.0], (-1, 1)),
    ],
)
def test_scales_have_round_ends(kind: ScaleKind, found: list[float], ends: tuple[float, float]) -> None:
    scale = fitted_scale(kind, [*found, math.nan])
    assert (scale.low, scale.high) == pytest.approx(ends)


@pytest.mark.parametrize("kind", ["amount", "log", "share", "ratio", "difference"])
def test_figures_of_a_color_have_that_color(kind: ScaleKind) -> None:
    scale = fitted_scale(kind, [0.004, 0.5, 100])
    for shade in scale.levels:
        low, high = scale.range_of(shade)
        assert scale.shade((low + high) / 2 if kind != "log" else math.sqrt(low * high)) == shade


def test_colors_outside_a_scale() -> None:
    assert fitted_scale("log", [1, 10]).shade(None) == NO_FIGURE
    assert [fitted_scale(kind, [1, 10]).shade(math.nan) for kind in ("log", "amount", "ratio")] == [BROKEN] * 3
    log = fitted_scale("log", [1.0, 10])
    assert [log.shade(value) for value in (0, 1e-9, 99, math.inf)] == [*map(amount, (0, 1, LEVELS)), BROKEN]
    ratio = fitted_scale("ratio", [2])
    assert [ratio.shade(value).level for value in (0, 1, math.inf)] == [-CHANGES, 0, CHANGES]
    assert fitted_scale("amount", [0.0]).shade(0.0) == amount(0)


def amount(level: int) -> Shade:
    return Shade("amount", level)


def test_a_scale_grows_with_further_steps() -> None:
    scale = fitted_scale("log", [0.5], fitted_scale("log", [1e-4]))
    assert (scale.low, scale.high) == pytest.approx((1e-5, 1)), "colors of two steps can be compared"
    assert fitted_scale("ratio", [3], scale) == ColorScale("ratio", 0.25, 4)
