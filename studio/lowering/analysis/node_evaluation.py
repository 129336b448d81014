"""Evaluation of one node without computing values: data sources from headers, layers on the meta device."""

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
from engine.data.samples import Samples, Side
from engine.data.splits import Splits, check_sizes
from engine.errors import EngineError, ShapeError
from engine.nn.functional.reduction import exact_shapes
from engine.shape import Dim, Spec
from studio.lowering.analysis.call_evaluation import evaluate_call
from studio.lowering.analysis.check_budget import TOTAL_SECONDS, Budget, OverBudgetError
from studio.lowering.analysis.data_nodes import apply_data_node, split_transform_arguments
from studio.lowering.analysis.input_scale import InputScale, measure_input_scale
from studio.lowering.analysis.optimizer_trial import try_steps
from studio.lowering.analysis.value_range import ValueRange, measure_range
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.operation_calls import operation_call
from studio.lowering.error_translation import translate_error
from studio.lowering.schedules.schedule_context import ScheduleContext
from studio.lowering.user_code.code_evaluation import CodeFailedError, evaluate_code
from studio.lowering.user_code.code_loader import is_trusted
from studio.nodes.initialization import without_initialization
from studio.nodes.python_node import PYTHON, SOURCE, source_of
from studio.nodes.schedule_nodes import LENGTHS, SCHEDULING, is_per_step
from studio.nodes.types import NodeType, Role

BATCH = Dim("N")
"""Symbolic batch size."""

CACHED_OUTCOMES = 8192
CACHED_DATA_RESULTS = 16
MAX_ARGUMENT_CHARACTERS = 60
"""Maximum number of characters of an argument in an error."""
MAX_TARGETS = 5_000_000
"""Maximum number of samples whose classes are counted before a run."""


@dataclass(frozen=True, slots=True)
class SampleSpec:
    """Shapes and types of one sample."""

    input: Spec
    target: Spec
    classes: int | None
    is_stream: bool = False
    """Whether the samples are a stream of unknown length."""
    discontinuity: str = ""
    """Why a sample does not continue the one before it; empty if it can."""
    has_validation: bool = True
    """Whether some samples are kept for validation."""

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
    """"arguments" if construction failed, "inputs" if the call failed, "code" if code of the user failed."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Diagnostics of a source: values that are lost or reinterpreted while reading."""


NO_OUTCOME = NodeOutcome({})
UNTRUSTED = replace(NO_OUTCOME, parameters=0)
"""Outcome of code that the user does not trust, which was not run."""
_CHECK_LIMIT_MESSAGE = f"checking the nodes before it took {TOTAL_SECONDS:g} seconds, the limit for a project"
TIMED_OUT = replace(NO_OUTCOME, failure=_CHECK_LIMIT_MESSAGE, fails_on="arguments")
"""The time limit of the check was reached. The next check tries the node again."""

DataStep: TypeAlias = tuple[NodeType, Mapping[str, Any]]
"""A data node with its arguments."""


@dataclass(frozen=True, slots=True)
class SplitOutcome:
    """Result of a split node."""

    samples: int = 0
    """Training and validation samples together."""
    classes: tuple[tuple[str, int, int], ...] = ()
    """Name, training samples and validation samples of each class; empty if targets are not classes."""
    failure: str = ""


class NodeEvaluator:
    """Evaluates nodes, with a cache keyed by type, arguments and inputs."""

    def __init__(self, cache_size: int = CACHED_OUTCOMES) -> None:
        self.cache_size = cache_size
        self.evaluations = 0
        """Number of cache misses."""
        self._seconds_spent = 0.0  # without the time for reading data
        self._outcomes: OrderedDict[Any, tuple[NodeOutcome, FileStamps]] = OrderedDict()
        self._data_results: OrderedDict[Any, tuple[Any, FileStamps]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._outcomes)

    def begin_check(self) -> None:
        """Start a check: reset its time limit."""
        self._seconds_spent = 0.0

    def evaluate(
        self, node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, WireValue]
    ) -> NodeOutcome:
        """Evaluate a node. Never raises: errors are in `NodeOutcome.failure`."""
        if node_type.key == PYTHON and not is_trusted(source_of(arguments)):
            return UNTRUSTED
        key = (node_type.target or node_type.key, hashable_arguments(arguments), tuple(inputs.items()))
        cached = self._outcomes.get(key)
        if cached is not None and (not cached[1] or cached[1] == file_stamps([path for path, _ in cached[1]])):
            self._outcomes.move_to_end(key)
            return cached[0]
        if self._seconds_spent > TOTAL_SECONDS and node_type.role is not Role.SOURCE:
            return TIMED_OUT
        self.evaluations += 1
        start = time.monotonic()
        outcome, files = _evaluate_node(node_type, arguments, inputs)
        if node_type.role is not Role.SOURCE:
            self._seconds_spent += time.monotonic() - start
        if node_type.role is Role.SOURCE and outcome.failure:
            return outcome  # not cached: the file may exist at the next check
        self._outcomes[key] = (outcome, file_stamps(files))
        self._outcomes.move_to_end(key)
        while len(self._outcomes) > self.cache_size:
            self._outcomes.popitem(last=False)
        return outcome

    def count(self, steps: Sequence[DataStep]) -> int | None:
        """Number of training samples after a source and its splits; None if they cannot be read."""
        return self._cached(_count_samples, steps)

    def split(self, steps: Sequence[DataStep]) -> SplitOutcome:
        """Result of the last step, a split, on the samples of the others."""
        return self._cached(_split_samples, steps)

    def scale(self, steps: Sequence[DataStep]) -> InputScale | None:
        """Range of the inputs of a data chain; None if they cannot be read."""
        return self._cached(_measure_scale, steps)

    def values(self, steps: Sequence[DataStep], on: Side) -> ValueRange | None:
        """Values of the inputs or targets of a data chain; None if they cannot be read."""
        return self._cached(_measure_inputs if on == "inputs" else _measure_targets, steps)

    def _cached(self, work: Callable[[Sequence[DataStep]], tuple[Any, FileStamps]], steps: Sequence[DataStep]) -> Any:
        key = (work, *((node_type.target, hashable_arguments(arguments)) for node_type, arguments in steps))
        cached = self._data_results.get(key)
        if cached is None or cached[1] != file_stamps([path for path, _ in cached[1]]):
            cached = self._data_results[key] = work(steps)
            while len(self._data_results) > CACHED_DATA_RESULTS:
                self._data_results.popitem(last=False)
        return cached[0]


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


def _count_samples(steps: Sequence[DataStep]) -> tuple[int | None, FileStamps]:
    try:
        splits = _open_chain(steps)
        return len(splits.train), file_stamps(list(splits.files))
    except Exception:  # noqa: BLE001 - errors are reported where the data is read
        return None, ()


def _measure_scale(steps: Sequence[DataStep]) -> tuple[InputScale | None, FileStamps]:
    try:
        splits = _open_chain(steps)
        return measure_input_scale(splits.train), file_stamps(list(splits.files))
    except Exception:  # noqa: BLE001 - errors are reported where the data is read
        return None, ()


def _measure_inputs(steps: Sequence[DataStep]) -> tuple[ValueRange | None, FileStamps]:
    return _measure_values(steps, "inputs")


def _measure_targets(steps: Sequence[DataStep]) -> tuple[ValueRange | None, FileStamps]:
    return _measure_values(steps, "targets")


def _measure_values(steps: Sequence[DataStep], on: Side) -> tuple[ValueRange | None, FileStamps]:
    try:
        splits = _open_chain(steps)
        sample = splits.input if on == "inputs" else splits.target
        return measure_range(splits.train, on, sample), file_stamps(list(splits.files))
    except Exception:  # noqa: BLE001 - errors are reported where the data is read
        return None, ()


def _split_samples(steps: Sequence[DataStep]) -> tuple[SplitOutcome, FileStamps]:
    try:
        before = _open_chain(steps[:-1])
        files = file_stamps(list(before.files))
        parts = () if before.is_stream else (before.train, before.validation)
        count = sum(len(part) for part in parts if part is not None)
    except Exception:  # noqa: BLE001 - errors are reported where the data is read
        return SplitOutcome(), ()
    try:
        after = apply_data_node(*steps[-1], before)
        return SplitOutcome(count, _classes(after)), files
    except Exception as error:  # noqa: BLE001 - any error means that the split is not possible
        return SplitOutcome(count, failure=_failure(error, "inputs").failure), files


def _classes(splits: Splits) -> tuple[tuple[str, int, int], ...]:
    """Count the samples of each class. Empty if the targets are not classes, or above MAX_TARGETS samples."""
    train, validation = splits.train, splits.validation
    if splits.target.ndim or splits.classes is None or len(train) > MAX_TARGETS:
        return ()
    names = splits.class_names or tuple(map(str, range(splits.classes)))
    counts = [_class_counts(part, len(names)) for part in (train, validation)]
    return tuple(zip(names, *counts, strict=True))


def _class_counts(samples: Samples | None, classes: int) -> list[int]:
    if samples is None:
        return [0] * classes
    targets = np.asarray(samples.targets(np.arange(len(samples)))).astype(np.int64)
    return np.bincount(targets[(targets >= 0) & (targets < classes)], minlength=classes).tolist()


def _open_chain(steps: Sequence[DataStep]) -> Splits:
    """The samples after the last step of a chain that starts at a source."""
    splits: Splits | None = None
    for node_type, arguments in steps:
        splits = apply_data_node(node_type, arguments, splits)
    assert splits is not None, "a chain starts with a source"
    return splits


# -- evaluation by role -----------------------------------------------------------------------


def _evaluate_node(
    node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, WireValue]
) -> tuple[NodeOutcome, list[Path]]:
    files: list[Path] = []
    if node_type.key == PYTHON:
        return _evaluate_code(node_type, arguments, inputs), files
    try:
        evaluate_inputs = _prepare(node_type, arguments, files)
    except Exception as error:  # noqa: BLE001 - constructors may raise anything
        return _failure(error, "arguments", _changed_arguments(node_type, arguments)), files
    try:
        return evaluate_inputs(inputs), files
    except Exception as error:  # noqa: BLE001 - layers may raise anything
        return _failure(error, "inputs", _changed_arguments(node_type, arguments)), files


def _evaluate_code(node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, WireValue]) -> NodeOutcome:
    values = {name: value for name, value in arguments.items() if name != SOURCE}
    tensors = {name: value for name, value in inputs.items() if isinstance(value, Spec)}
    try:
        found = evaluate_code(source_of(arguments), node_type, values, tensors)
    except CodeFailedError as error:
        return NodeOutcome({}, failure=str(error), fails_on="code")
    return NodeOutcome(found.outputs, found.parameters, found.macs)


InputEvaluation: TypeAlias = Callable[[Mapping[str, Any]], NodeOutcome]


def _has_validation(splits: Splits) -> bool:
    """Whether a source without a share for validation has samples for it, such as a separate folder."""
    try:
        return splits.validation is not None
    except Exception:  # noqa: BLE001 - errors are reported where the data is read
        return True


def _prepare(node_type: NodeType, arguments: Mapping[str, Any], files: list[Path]) -> InputEvaluation:
    target: Any = node_type.target
    match node_type.role:
        case Role.SOURCE:
            splits = target(**arguments)
            samples = SampleSpec(
                splits.input,
                splits.target,
                splits.classes,
                splits.is_stream,
                splits.discontinuity,
                arguments.get("validation") != 0 or _has_validation(splits),
            )
            splits.check()
            found = splits.diagnostics()
            files += splits.files
            return lambda _: NodeOutcome({node_type.outputs[0].name: samples}, diagnostics=found)
        case Role.TRANSFORM:
            transform_arguments, map_arguments = split_transform_arguments(arguments)
            transform = target(**transform_arguments)
            return lambda inputs: _transform_samples(node_type, transform, inputs, **map_arguments)
        case Role.DIVISION:
            return lambda inputs: _divide_samples(node_type, arguments, inputs)
        case Role.LOADER:
            return lambda inputs: _batch_samples(node_type, arguments, inputs)
        case Role.LAYER | Role.LOSS:
            with engine.device("meta"), Budget().limit_construction():
                module = target(**without_initialization(arguments))
            return lambda inputs: _call(node_type, module, inputs, _parameter_count(module))
        case Role.OPERATION:
            return lambda inputs: _call(node_type, operation_function(node_type, arguments, inputs), inputs, 0)
        case Role.METRIC:
            metric = target(**arguments)
            return lambda inputs: _call(node_type, metric.update, inputs, 0)
        case Role.OPTIMIZER:
            try_steps(target, arguments)
        case Role.SCHEDULER:
            return lambda inputs: _advance_schedule(node_type, arguments, inputs)
        case Role.LOSS_SUM:
            return lambda inputs: NodeOutcome({port.name: next(iter(inputs.values())) for port in node_type.outputs})
        case Role.BLOCK | Role.PORT | Role.UNKNOWN:
            pass
    return lambda _: NO_OUTCOME


def make_schedule(node_type: NodeType, arguments: Mapping[str, Any], optimizer: Any) -> Any:
    """Construct the schedule of a node for an optimizer."""
    target: Any = node_type.target
    return target(optimizer, **schedule_arguments(arguments))


def schedule_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule's arguments, without those of the node."""
    node_parameters = {parameter.name for parameter in SCHEDULING}
    return {name: value for name, value in arguments.items() if name not in node_parameters}


def operation_function(
    node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, Any]
) -> Callable[..., Any]:
    """The call that the program makes, as a function of the connected inputs by name."""
    names = [port.name for port in node_type.inputs if port.name in inputs]
    tree = operation_call(node_type, arguments, {name: syntax_trees.name(name) for name in names})

    def call(**tensors: Any) -> Any:
        return evaluate_call(tree, tensors)

    return call


def _transform_samples(node_type: NodeType, transform: Any, inputs: Mapping[str, Any], on: str) -> NodeOutcome:
    samples: SampleSpec = inputs[node_type.inputs[0].name]
    if on == "inputs":
        changed = replace(samples, input=transform.spec(samples.input))
    else:
        changed = replace(samples, target=transform.spec(samples.target), classes=transform.classes)
    return NodeOutcome({node_type.outputs[0].name: changed})


def _divide_samples(node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, Any]) -> NodeOutcome:
    samples: SampleSpec = inputs[node_type.inputs[0].name]
    has_validation = bool(arguments.get("validation", True))
    return NodeOutcome({node_type.outputs[0].name: replace(samples, has_validation=has_validation)})


def _advance_schedule(node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, Any]) -> NodeOutcome:
    context: ScheduleContext = inputs[node_type.inputs[0].name]
    make_schedule(node_type, arguments, context.make())
    lasts = arguments.get("lasts") or next((arguments[name] for name in LENGTHS if name in arguments), None)
    after = context.after(lasts, per_step=is_per_step(node_type, arguments))
    return NodeOutcome({port.name: after for port in node_type.outputs})


def _batch_samples(node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, Any]) -> NodeOutcome:
    samples: SampleSpec = inputs[node_type.inputs[0].name]
    if samples.is_stream and arguments["contiguous"]:
        raise ShapeError(
            "contiguous rows need the number of samples, which a stream does not know. Turn contiguous off"
        )
    specs = (samples.input, samples.target)
    for spec in specs:
        check_sizes(spec)
    names = [port.name for port in node_type.outputs]
    return NodeOutcome({name: Spec((BATCH, *spec.shape), spec.dtype) for name, spec in zip(names, specs, strict=True)})


def _call(node_type: NodeType, function: Any, inputs: Mapping[str, Any], parameters: int) -> NodeOutcome:
    names = [port.name for port in node_type.inputs]
    tensors = {name: _meta_tensor(inputs[name]) for name in names if name in inputs}
    first = [] if node_type.role is Role.OPERATION else _positional_inputs(names, tensors)
    positional = [tensors.pop(name) for name in first]
    with Budget() as trace, engine.no_grad(), exact_shapes():
        result = function(*positional, **tensors)
    results = cast("tuple[Any, ...]", result if isinstance(result, tuple) else (result,))
    if node_type.role is Role.OPERATION and len(results) != len(node_type.outputs):
        raise ShapeError(f"it gives {len(results)} tensors, but the node has {len(node_type.outputs)} outputs")
    pairs = zip(node_type.outputs, results, strict=False)
    specs = {port.name: tensor.spec for port, tensor in pairs if isinstance(tensor, engine.Tensor)}
    macs: Any = sum((call.macs for call in trace.calls), start=0)
    return NodeOutcome(specs, parameters, macs.at(1) if isinstance(macs, Dim) else int(macs))


def _positional_inputs(names: list[str], connected: Mapping[str, Any]) -> list[str]:
    """The inputs before the first unconnected one."""
    gap = next((index for index, name in enumerate(names) if name not in connected), len(names))
    return names[:gap]


def _meta_tensor(spec: Spec) -> Any:
    return engine.empty(tuple(spec.shape), dtype=spec.dtype, device="meta")


def _parameter_count(module: Any) -> int:
    return sum(int(parameter.numel()) for parameter in module.parameters())


def _failure(error: Exception, fails_on: str, settings: str = "") -> NodeOutcome:
    text = translate_error(error) or type(error).__name__
    if isinstance(error, (EngineError, ValueError, TypeError)):
        return NodeOutcome({}, failure=text, fails_on=fails_on)
    if isinstance(error, MemoryError):
        text = "it needs more memory than is available"
    elif not isinstance(error, OverBudgetError):
        text = f"{type(error).__name__}: {text}"
    return NodeOutcome({}, failure=f"{text}{settings}", fails_on=fails_on)


def _changed_arguments(node_type: NodeType, arguments: Mapping[str, Any]) -> str:
    """Non-default arguments, for errors that do not name the invalid one."""
    defaults = {parameter.name: parameter.default for parameter in node_type.params}
    changed = [
        f"{name}={value}"[:MAX_ARGUMENT_CHARACTERS] for name, value in arguments.items() if value != defaults.get(name)
    ]
    return f" with {', '.join(changed)}" if changed else ""
