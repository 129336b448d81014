"""The range of inputs: not normalized, normalized with other statistics, or nearly equal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.transforms import Normalize
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, FitRecord, Json
from studio.lowering.analysis.input_scale import to_json_value
from studio.lowering.checks.value_paths import value_readers
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role
from studio.training.data.data_chain import ChainLink
from studio.training.data.findings.data_context import DataContext, listed, number_text
from studio.training.data.findings.data_fixes import insert_transform, replace_transform
from studio.training.data.findings.fit_rules import record_before, recorded
from studio.training.data.findings.sample_reading import inputs_at, measured
from studio.training.data.statistics_records import ChannelFigures

MIN_INPUT_RANGE = 0.1
"""Range of inputs below which usual learning rates are too low."""
MAX_RMS = 10.0
"""Root mean square of a column or channel up to which it needs no normalization."""
MAX_SCALE_RATIO = 100.0
"""Ratio of the spreads of two columns above which one hides the other."""
MAX_OFFSET, MAX_SPREAD = 1.0, 3.0
"""Largest mean, and largest or smallest spread (as a factor), of inputs that are standardized as intended."""
MAX_SYMMETRIC = 1.05
"""Largest absolute value of inputs that are scaled to -1 to 1 on purpose."""
MIN_SYMMETRIC = 0.5
"""Smallest range of inputs that are scaled to -1 to 1 on purpose."""
MIN_SAMPLES = 20
MAX_COLUMNS = 64
"""Maximum number of columns that are normalized one by one."""

WEIGHTED_GROUPS = frozenset({"Linear", "Convolution", "Recurrent", "Attention"})
"""Layers whose weights are multiplied with their inputs."""
STANDARD, SCALERS = "transforms.Normalize", frozenset({"transforms.Normalize", "transforms.MinMaxScale"})
TO_FLOAT = "transforms.ToFloat"


def scaling_problems(data: DataContext) -> Iterator[Problem]:
    """At most one problem, because one fix of the scaling removes all."""
    part = data.training
    channels = [channel for channel in part.channels if channel.numbers]
    is_number = data.found.spec.dtype.is_floating_point or _meets_weights(data)  # whole numbers, cast in the graph
    if part.looked_at < 2 or not channels or not is_number or data.found.kind == "text":
        return
    problem = _narrow(data, channels)
    if problem is None and _meets_weights(data):
        problem = _unscaled(data, channels) or _misfit(data)
    if problem is not None:
        yield problem


def _narrow(data: DataContext, channels: list[ChannelFigures]) -> Problem | None:
    """Inputs with a small range, for example digits from 0 to 16 divided by 255."""
    low, high = min(channel.low for channel in channels), max(channel.high for channel in channels)
    if not 0 < high - low < MIN_INPUT_RANGE or (data.loader is not None and not _meets_weights(data)):
        return None
    scalers = _scalers(data, {*SCALERS, TO_FLOAT})
    cause = f" after {scalers[-1][1].name}" if scalers else ""
    remedy = "instead of To float" if scalers and scalers[-1][1].key == TO_FLOAT else "to scale them"
    message = (
        f"All training inputs lie between {low:.3g} and {high:.3g}{cause}, so a network learns slowly. "
        f"Use Normalize with Compute from data {remedy}."
    )
    node = scalers[-1][1].name if scalers else _place(data)
    return Problem(
        "warning", "narrow", message, node=node, fix=_fix(data, scalers), evidence={"low": low, "high": high}
    )


def _unscaled(data: DataContext, channels: list[ChannelFigures]) -> Problem | None:
    """Bytes, quantities in thousands or millions, or columns of very different spreads."""
    identifiers = _identifiers(data)
    plain = [each for each in channels if not _is_indicator(each) and each.name not in identifiers]
    if not plain:
        return None
    sizes = {channel.name: float(np.hypot(channel.mean, channel.std)) for channel in plain}
    spreads = {channel.name: channel.std for channel in plain if channel.std > 0}
    largest, size = max(sizes.items(), key=lambda item: item[1])
    widest = max(spreads, key=spreads.__getitem__, default="")
    narrowest = min(spreads, key=spreads.__getitem__, default="")
    ratio = spreads[widest] / spreads[narrowest] if spreads else 1.0
    if size <= MAX_RMS and (ratio <= MAX_SCALE_RATIO or len(spreads) > MAX_COLUMNS):
        return None
    scalers = _scalers(data, SCALERS)
    channel = next(each for each in plain if each.name == largest)
    if size > MAX_RMS:
        is_one = len(plain) == 1
        large = [name for name in sizes if sizes[name] > MAX_RMS]
        subject = "The inputs" if is_one else f"The inputs in {listed(large)}"
        range_text = f"range from {number_text(channel.low)} to {number_text(channel.high)}"
        range_text += f" ({largest})" if len(large) > 1 else ""
        what = f"{subject} {range_text}, but layers expect values of about 1"
    else:
        what = (
            f"The inputs have very different spreads: {spreads[widest]:.3g} in {widest} and "
            f"{spreads[narrowest]:.3g} in {narrowest}"
        )
    muted = None if scalers else _muted_scaler(data)
    fix, node, remedy = _fix(data, scalers), _place(data), "Insert Normalize."
    if scalers:
        node, remedy = scalers[-1][1].name, f"Compute the arguments of {scalers[-1][1].name} from the data."
    elif muted is not None:
        fix, node, remedy = quick_fixes.unmute(muted), muted, f"Unmute {muted}."
    evidence = {"largest": largest, "low": channel.low, "high": channel.high, "spread_ratio": ratio}
    return Problem(
        "warning",
        "unscaled-inputs",
        f"{what}{data.scope()}, which slows learning down or prevents it. {remedy}",
        node=node,
        port=data.last.port if data.last is not None and node == data.last.node else None,
        fix=fix,
        evidence=evidence,
    )


def _misfit(data: DataContext) -> Problem | None:
    """Normalize with the mean and spread of other data."""
    scalers = [(index, link) for index, link in _scalers(data, SCALERS) if link.key == STANDARD]
    if not scalers or data.training.looked_at < MIN_SAMPLES:
        return None
    index, link = scalers[-1]
    if not np.any(np.asarray(link.values["mean"])):
        return None  # only a scale, as bytes divided by 255
    found = measured(data.preview, ("moments", index), lambda: _moments_at(data, index))
    if found is None:
        return None
    means, spreads, are_indicators = found
    is_wrong = (np.abs(means) > MAX_OFFSET) | (spreads > MAX_SPREAD) | (spreads < 1 / MAX_SPREAD)
    is_wrong &= (spreads > 0) & ~are_indicators
    if not is_wrong.any():
        return None
    worst = int(np.argmax(is_wrong * (np.abs(means) + np.abs(np.log(np.maximum(spreads, 1e-9))))))
    where = "" if len(means) == 1 else f" in {_column(data, worst)}"
    message = (
        f"{link.name} gives inputs with mean {means[worst]:.3g} and standard deviation {spreads[worst]:.3g}{where} "
        f"instead of 0 and 1{data.scope()}, so its mean and std are those of other data. "
        f"Compute the arguments of {link.name} from the data."
    )
    evidence = {"mean": float(means[worst]), "std": float(spreads[worst])}
    fix = _fix(data, scalers)
    return Problem("warning", "misfit-normalization", message, node=link.name, fix=fix, evidence=evidence)


# -- fixes ------------------------------------------------------------------------------------


def _fix(data: DataContext, scalers: list[tuple[int, ChainLink]]) -> Fix | None:
    """Fit the last scaling to its input, or insert one before the loader."""
    if not scalers:
        if data.last is None:
            return None
        params = _params(data, len(data.preview.chain) - 1)
        key = "transforms.MinMaxScale" if "low" in params else STANDARD
        name = "Min-max scale" if "low" in params else "Normalize"
        record = _record(data, len(data.preview.chain) - 1, params)
        return insert_transform(data.last, key, params, title=f"Insert {name}", fitted=record) if params else None
    index, link = scalers[-1]
    params = _params(data, index - 1)
    if not params:
        return None
    if "low" in params:
        return replace_transform(link, "transforms.MinMaxScale", params, title=f"Use Min-max scale at {link.name}")
    if link.key == STANDARD:
        fix = quick_fixes.assign_all({link.name: params}, f"Set mean and std of {link.name} from the data")
    else:
        fix = replace_transform(link, STANDARD, params, title=f"Use Normalize at {link.name}")
    return recorded(fix, link.name, _record(data, index, params))


def _record(data: DataContext, index: int, params: dict[str, Json]) -> FitRecord | None:
    """The record of parameters for the node at an index, which were computed from the samples before it."""
    inputs = inputs_at(data, index - 1)
    return None if inputs is None else record_before(data, index, params, on="inputs", samples=len(inputs))


def _params(data: DataContext, index: int) -> dict[str, Json]:
    """Arguments of Normalize for the samples after a node of the chain; of MinMaxScale if a loss reads the inputs."""
    inputs = inputs_at(data, index)
    if inputs is None or not inputs.size or (inputs.ndim == 3 and _are_uneven(inputs)):
        return {}
    if _are_targets(data):
        finite = inputs[np.isfinite(inputs)]
        low, high = float(finite.min()), float(finite.max())
        return {"low": to_json_value(low), "high": to_json_value(high if high > low else low + 1)}
    if (inputs.ndim == 2 and inputs.shape[1] <= MAX_COLUMNS) or (inputs.ndim == 4 and inputs.shape[1] <= 4):
        fitted = Normalize.fitted([inputs])
        mean, std = (np.atleast_1d(np.asarray(fitted[name], np.float64)) for name in ("mean", "std"))
        plain = ~_are_indicators(inputs)
        if len(mean) > 1:
            mean, std = np.where(plain, mean, 0.0), np.where(plain, std, 1.0)
    else:
        mean, std = (np.atleast_1d(np.asarray(value)) for value in (np.nanmean(inputs), np.nanstd(inputs)))
    values = {"mean": mean, "std": np.where(std > 0, std, 1.0)}
    return {
        name: to_json_value(float(found[0]) if len(found) == 1 else tuple(map(float, found)))
        for name, found in values.items()
    }


def _are_uneven(series: NDArray[Any]) -> bool:
    """Whether features of series have so different spreads that one scale for all does not help."""
    spreads = np.nanstd(series, axis=(0, 1))
    spreads = spreads[spreads > 0]
    return len(spreads) > 1 and float(spreads.max() / spreads.min()) > MAX_SCALE_RATIO


# -- the graph and the chain ------------------------------------------------------------------


def _place(data: DataContext) -> str:
    return data.found.node if data.last is None else data.last.node


def _scalers(data: DataContext, keys: Any) -> list[tuple[int, ChainLink]]:
    return [(index, link) for index, link in data.transforms() if link.key in keys]


def _muted_scaler(data: DataContext) -> str | None:
    """A muted node that would scale the inputs of the loader."""
    if data.flow is None or data.loader is None:
        return None
    graph = data.flow.graph
    before = walk([data.loader], lambda name: [end.node for end in graph.input_sources[name].values()])
    return next((name for name in before if name in graph.muted and graph.types[name].key in SCALERS), None)


def _meets_weights(data: DataContext) -> bool:
    """Whether inputs reach layers with weights, with nothing between that scales them."""
    if data.loader is None or data.flow is None:
        return False
    graph = data.flow.graph
    readers = value_readers(graph, Endpoint(data.loader, "input"))
    return any(graph.types[end.node].group in WEIGHTED_GROUPS for end in readers)


def _are_targets(data: DataContext) -> bool:
    """Whether a loss compares outputs with the inputs, as in an autoencoder."""
    end = Endpoint(str(data.loader), "input")
    return any(data.compared_output(name) == end for name, _ in data.with_role(Role.LOSS))


def _column(data: DataContext, index: int) -> str:
    names = [channel.name for channel in data.training.channels]
    return names[index] if index < len(names) > 1 else f"channel {index}"


# -- numbers ----------------------------------------------------------------------------------


def _identifiers(data: DataContext) -> set[str]:
    """Columns that the check reports as identifiers of rows."""
    facts = None if data.flow is None else data.flow.facts.get(data.source.name)
    found = () if facts is None else facts.outcome.diagnostics
    return {each.added for each in found if each.code == "identifier"}


def _is_indicator(channel: ChannelFigures) -> bool:
    return "=" in channel.name or (channel.low in (0.0, 1.0) and channel.high in (0.0, 1.0))


def _are_indicators(inputs: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each channel has only the values 0 and 1."""
    return ((inputs == 0) | (inputs == 1)).all(axis=_other_axes(inputs))


def _moments_at(
    data: DataContext, index: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]] | None:
    """Mean and spread of each channel after a node, and whether it is an indicator; None if they fill -1 to 1."""
    after = inputs_at(data, index)
    if after is None or not np.isfinite(after).any():
        return None
    low, high = float(np.nanmin(after)), float(np.nanmax(after))
    if max(-low, high) <= MAX_SYMMETRIC and high - low >= MIN_SYMMETRIC:
        return None
    return *_moments(after), np.atleast_1d(_are_indicators(after))


def _moments(inputs: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each channel."""
    axes = _other_axes(inputs)
    found = np.where(np.isfinite(inputs), inputs, np.nan).astype(np.float64)
    return np.atleast_1d(np.nanmean(found, axis=axes)), np.atleast_1d(np.nanstd(found, axis=axes))


def _other_axes(inputs: NDArray[Any]) -> tuple[int, ...]:
    return tuple(axis for axis in range(inputs.ndim) if axis != 1 or inputs.ndim == 1)


__all__ = ["scaling_problems"]
