"""Evaluation of one node without computing: data sources by their headers, layers on the meta device."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

import engine
from engine.data.diagnostics import Diagnostic
from engine.data.samples import Samples
from engine.data.splits import Splits, check_sizes
from engine.errors import EngineError
from engine.nn.functional.reduction import exact_shapes
from engine.shape import Dim, Spec
from studio.lowering.analysis.check_budget import TOTAL_SECONDS, Budget, OverBudgetError
from studio.lowering.analysis.data_nodes import apply_data_node, split_transform_arguments
from studio.lowering.analysis.input_scale import InputScale, measure_input_scale
from studio.lowering.analysis.optimizer_trial import try_steps
from studio.lowering.error_translation import translate_error
from studio.lowering.schedules.schedule_context import ScheduleContext
from studio.nodes.schedule_nodes import LENGTHS, SCHEDULING, is_per_step
from studio.nodes.types import NodeType, Role

BATCH = Dim("N")
"""Symbolic batch size."""

REMEMBERED = 8192
COUNTS_REMEMBERED = 16
LONGEST_SETTING = 60
"""Maximum number of characters of an argument in an error."""
MOST_TARGETS = 5_000_000
"""Above this number of samples classes are not counted before a run."""


@dataclass(frozen=True, slots=True)
class SampleSpec:
    """Shapes and types of one sample."""

    input: Spec
    target: Spec
    classes: int | None
    is_stream: bool = False
    """The number of samples is unknown."""

    def __str__(self) -> str:
        return f"{self.input} → {self.target}"


WireValue: TypeAlias = Spec | SampleSpec | ScheduleContext
"""Abstract value of a wire."""


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """Result of evaluating a node. A node that fails has no outputs."""

    outputs: Mapping[str, WireValue]
    parameters: int = 0
    macs: int = 0
    failure: str = ""
    fails_on: str = ""
    """"arguments" if construction failed, "inputs" if the call failed."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Diagnostics of a source: values that are lost or reinterpreted while reading."""


NO_OUTCOME = NodeOutcome({})
_TOO_LATE = f"checking the nodes before it took {TOTAL_SECONDS:g} seconds, the limit for a project"
TIMED_OUT = replace(NO_OUTCOME, failure=_TOO_LATE, fails_on="arguments")
"""The time limit of the check was reached. The next check tries the node again."""

DataStep: TypeAlias = tuple[NodeType, Mapping[str, Any]]
"""A data node with its arguments."""


@dataclass(frozen=True, slots=True)
class SplitOutcome:
    """Result of a split node."""

    samples: int = 0
    """In all."""
    classes: tuple[tuple[str, int, int], ...] = ()
    """Name, training samples and validation samples of each class; empty if targets are not classes."""
    failure: str = ""


class NodeEvaluator:
    """Evaluates nodes, with a cache keyed by type, arguments and inputs."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self.remembered = remembered
        self.evaluations = 0
        """Number of evaluations that the cache did not answer."""
        self._spent = 0.0  # seconds of this check, without those of reading data
        self._outcomes: OrderedDict[Any, tuple[NodeOutcome, FileStamps]] = OrderedDict()
        self._counts: OrderedDict[Any, tuple[Any, FileStamps]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._outcomes)

    def begin_check(self) -> None:
        """Start a check: reset its time limit."""
        self._spent = 0.0

    def evaluate(
        self, node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, WireValue]
    ) -> NodeOutcome:
        """Evaluate a node. Never raises: errors are in `NodeOutcome.failure`."""
        key = (node_type.target or node_type.key, hashable_arguments(arguments), tuple(inputs.items()))
        held = self._outcomes.get(key)
        if held is not None and (not held[1] or held[1] == file_stamps([path for path, _ in held[1]])):
            self._outcomes.move_to_end(key)
            return held[0]
        if self._spent > TOTAL_SECONDS and node_type.role is not Role.SOURCE:
            return TIMED_OUT
        self.evaluations += 1
        began = time.monotonic()
        outcome, files = _attempt(node_type, arguments, inputs)
        if node_type.role is not Role.SOURCE:
            self._spent += time.monotonic() - began
        if node_type.role is Role.SOURCE and outcome.failure:
            return outcome  # a missing file may be there the next time
        self._outcomes[key] = (outcome, file_stamps(files))
        self._outcomes.move_to_end(key)
        while len(self._outcomes) > self.remembered:
            self._outcomes.popitem(last=False)
        return outcome

    def count(self, parts: Sequence[DataStep]) -> int | None:
        """Number of training samples after a source and its splits; None if they cannot be read."""
        return self._remembered(_counted, parts)

    def divide(self, parts: Sequence[DataStep]) -> SplitOutcome:
        """Result of the last step, a split, on the samples of the others."""
        return self._remembered(_divided, parts)

    def scale(self, parts: Sequence[DataStep]) -> InputScale | None:
        """Range of the inputs of a data chain; None if they cannot be read."""
        return self._remembered(_scaled, parts)

    def _remembered(
        self, work: Callable[[Sequence[DataStep]], tuple[Any, FileStamps]], parts: Sequence[DataStep]
    ) -> Any:
        key = (work, *((node_type.target, hashable_arguments(arguments)) for node_type, arguments in parts))
        held = self._counts.get(key)
        if held is None or held[1] != file_stamps([path for path, _ in held[1]]):
            held = self._counts[key] = work(parts)
            while len(self._counts) > COUNTS_REMEMBERED:
                self._counts.popitem(last=False)
        return held[0]


FileStamps: TypeAlias = tuple[tuple[Path, tuple[int, int]], ...]


def file_stamps(files: list[Path]) -> FileStamps:
    """Sizes and modification times of files, to detect changes."""
    return tuple((path, _size_and_time(path)) for path in files)


def _size_and_time(path: Path) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (-1, -1)
    return (status.st_size, status.st_mtime_ns)


def hashable_arguments(arguments: Mapping[str, Any]) -> tuple[tuple[str, str, Any], ...]:
    """Hashable arguments that distinguish 1, 1.0 and True."""
    return tuple((name, type(value).__name__, value) for name, value in arguments.items())


def _counted(parts: Sequence[DataStep]) -> tuple[int | None, FileStamps]:
    try:
        splits = _open_chain(parts)
        return len(splits.train), file_stamps(list(splits.files))
    except Exception:  # noqa: BLE001 - whatever data do not give is said where they are read
        return None, ()


def _scaled(parts: Sequence[DataStep]) -> tuple[InputScale | None, FileStamps]:
    try:
        splits = _open_chain(parts)
        return measure_input_scale(splits.train), file_stamps(list(splits.files))
    except Exception:  # noqa: BLE001 - the same
        return None, ()


def _divided(parts: Sequence[DataStep]) -> tuple[SplitOutcome, FileStamps]:
    try:
        before = _open_chain(parts[:-1])
        files = file_stamps(list(before.files))
        parted = () if before.is_stream else (before.train, before.validation)
        count = sum(len(part) for part in parted if part is not None)
    except Exception:  # noqa: BLE001 - the same
        return SplitOutcome(), ()
    try:
        after = apply_data_node(*parts[-1], before)
        return SplitOutcome(count, _classes(after)), files
    except Exception as error:  # noqa: BLE001 - whatever it is, the samples cannot be divided in this way
        return SplitOutcome(count, failure=_failed(error, "inputs").failure), files


def _classes(splits: Splits) -> tuple[tuple[str, int, int], ...]:
    """Reads all targets, up to MOST_TARGETS."""
    train, held = splits.train, splits.validation
    if splits.target.ndim or splits.classes is None or len(train) > MOST_TARGETS:
        return ()
    names = splits.class_names or tuple(map(str, range(splits.classes)))
    counts = [_class_counts(part, len(names)) for part in (train, held)]
    return tuple(zip(names, *counts, strict=True))


def _class_counts(samples: Samples | None, classes: int) -> list[int]:
    if samples is None:
        return [0] * classes
    targets = np.asarray(samples.targets(np.arange(len(samples)))).astype(np.int64)
    return np.bincount(targets[(targets >= 0) & (targets < classes)], minlength=classes).tolist()


def _open_chain(parts: Sequence[DataStep]) -> Splits:
    """The samples that leave the last node of a chain that starts at a source."""
    splits: Splits | None = None
    for node_type, arguments in parts:
        splits = apply_data_node(node_type, arguments, splits)
    assert splits is not None, "a chain starts with a source"
    return splits


# -- one way for each role --------------------------------------------------------------------


def _attempt(
    node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, WireValue]
) -> tuple[NodeOutcome, list[Path]]:
    files: list[Path] = []
    try:
        run = _make(node_type, arguments, files)
    except Exception as error:  # noqa: BLE001 - a constructor may refuse arguments in any way it likes
        return _failed(error, "arguments", _settings(node_type, arguments)), files
    try:
        return run(inputs), files
    except Exception as error:  # noqa: BLE001 - the same for what a layer does not take
        return _failed(error, "inputs", _settings(node_type, arguments)), files


Run: TypeAlias = Callable[[Mapping[str, Any]], NodeOutcome]


def _make(node_type: NodeType, arguments: Mapping[str, Any], files: list[Path]) -> Run:
    target: Any = node_type.target
    match node_type.role:
        case Role.SOURCE:
            splits = target(**arguments)
            samples = SampleSpec(splits.input, splits.target, splits.classes, splits.is_stream)
            splits.check()
            found = splits.diagnostics()
            files += splits.files
            return lambda _: NodeOutcome({node_type.outputs[0].name: samples}, diagnostics=found)
        case Role.TRANSFORM:
            own, applied = split_transform_arguments(arguments)
            transform = target(**own)
            return lambda inputs: _transformed(node_type, transform, inputs, **applied)
        case Role.DIVISION:
            return lambda inputs: NodeOutcome({node_type.outputs[0].name: inputs[node_type.inputs[0].name]})
        case Role.LOADER:
            return lambda inputs: _batched(node_type, inputs)
        case Role.LAYER | Role.LOSS:
            with engine.device("meta"), Budget().making():
                module = target(**arguments)
            return lambda inputs: _called(node_type, module, inputs, _parameter_count(module))
        case Role.OPERATION:
            return lambda inputs: _called(node_type, operation(node_type, arguments), inputs, 0)
        case Role.METRIC:
            metric = target(**arguments)
            return lambda inputs: _called(node_type, metric.update, inputs, 0)
        case Role.OPTIMIZER:
            try_steps(target, arguments)
        case Role.SCHEDULER:
            return lambda inputs: _scheduled(node_type, arguments, inputs)
        case Role.LOSS_SUM:
            return lambda inputs: NodeOutcome({port.name: next(iter(inputs.values())) for port in node_type.outputs})
        case Role.UNKNOWN:
            pass
    return lambda _: NO_OUTCOME


def make_schedule(node_type: NodeType, arguments: Mapping[str, Any], optimizer: Any) -> Any:
    """Construct the schedule of a node for an optimizer."""
    target: Any = node_type.target
    return target(optimizer, **schedule_arguments(arguments))


def schedule_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule's arguments, without those of the node."""
    beside = {parameter.name for parameter in SCHEDULING}
    return {name: value for name, value in arguments.items() if name not in beside}


def operation(node_type: NodeType, arguments: Mapping[str, Any]) -> Callable[..., Any]:
    """The op with static arguments bound. An op that takes a list gets all inputs as one list."""
    target: Any = node_type.target
    if takes_list(node_type):
        return lambda *tensors: target(list(tensors), **arguments)
    return lambda *tensors: target(*tensors, **arguments)


def takes_list(node_type: NodeType) -> bool:
    return any(port.optional for port in node_type.inputs)


def _transformed(node_type: NodeType, transform: Any, inputs: Mapping[str, Any], on: str) -> NodeOutcome:
    samples: SampleSpec = inputs[node_type.inputs[0].name]
    if on == "inputs":
        changed = replace(samples, input=transform.spec(samples.input))
    else:
        changed = replace(samples, target=transform.spec(samples.target), classes=transform.classes)
    return NodeOutcome({node_type.outputs[0].name: changed})


def _scheduled(node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, Any]) -> NodeOutcome:
    context: ScheduleContext = inputs[node_type.inputs[0].name]
    make_schedule(node_type, arguments, context.make())
    lasts = arguments.get("lasts") or next((arguments[name] for name in LENGTHS if name in arguments), None)
    after = context.after(lasts, per_step=is_per_step(node_type, arguments))
    return NodeOutcome({port.name: after for port in node_type.outputs})


def _batched(node_type: NodeType, inputs: Mapping[str, Any]) -> NodeOutcome:
    samples: SampleSpec = inputs[node_type.inputs[0].name]
    specs = (samples.input, samples.target)
    for spec in specs:
        check_sizes(spec)
    names = [port.name for port in node_type.outputs]
    return NodeOutcome({name: Spec((BATCH, *spec.shape), spec.dtype) for name, spec in zip(names, specs, strict=True)})


def _called(node_type: NodeType, function: Any, inputs: Mapping[str, Any], parameters: int) -> NodeOutcome:
    names = [port.name for port in node_type.inputs]
    tensors = {name: _meta(inputs[name]) for name in names if name in inputs}
    first = list(tensors) if node_type.role is Role.OPERATION else _leading(names, tensors)
    positional = [tensors.pop(name) for name in first]
    with Budget() as trace, engine.no_grad(), exact_shapes():
        result = function(*positional, **tensors)
    results = cast("tuple[Any, ...]", result if isinstance(result, tuple) else (result,))
    pairs = zip(node_type.outputs, results, strict=False)
    specs = {port.name: tensor.spec for port, tensor in pairs if isinstance(tensor, engine.Tensor)}
    macs: Any = sum((call.macs for call in trace.calls), start=0)
    return NodeOutcome(specs, parameters, macs.at(1) if isinstance(macs, Dim) else int(macs))


def _leading(names: list[str], given: Mapping[str, Any]) -> list[str]:
    """The inputs before the first unconnected one."""
    gap = next((index for index, name in enumerate(names) if name not in given), len(names))
    return names[:gap]


def _meta(spec: Spec) -> Any:
    return engine.empty(*spec.shape, dtype=spec.dtype, device="meta")


def _parameter_count(module: Any) -> int:
    return sum(int(parameter.numel()) for parameter in module.parameters())


def _failed(error: Exception, part: str, settings: str = "") -> NodeOutcome:
    text = translate_error(error) or type(error).__name__
    if isinstance(error, (EngineError, ValueError, TypeError)):
        return NodeOutcome({}, failure=text, fails_on=part)
    if isinstance(error, MemoryError):
        text = "it needs more memory than is available"
    elif not isinstance(error, OverBudgetError):
        text = f"{type(error).__name__}: {text}"
    return NodeOutcome({}, failure=f"{text}{settings}", fails_on=part)


def _settings(node_type: NodeType, arguments: Mapping[str, Any]) -> str:
    """Non-default arguments, for errors that do not name the invalid one."""
    usual = {parameter.name: parameter.default for parameter in node_type.params}
    named = [f"{name}={value}"[:LONGEST_SETTING] for name, value in arguments.items() if value != usual.get(name)]
    return f" with {', '.join(named)}" if named else ""
