"""Evaluates trusted code without training: on the meta device, or on small tensors if it needs values."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import engine
from engine.errors import EngineError
from engine.nn.functional.reduction import exact_shapes
from engine.random import Generator as RandomNumbers
from engine.random import drawing_from
from engine.shape import Dim, Spec
from studio.document.code_trust import source_digest
from studio.lowering.analysis.check_budget import SECONDS, Budget
from studio.lowering.error_translation import translate_error
from studio.lowering.user_code.code_errors import described, line_in
from studio.lowering.user_code.code_loader import load_code, show_in_tracebacks
from studio.nodes.python_node import code_of
from studio.nodes.types import NodeType

BATCH_SIZES = (5, 7)
"""Batch sizes of the small tensors. Sizes of outputs that follow them are the batch size."""
MAX_ELEMENTS = 2**24
"""Maximum number of elements of small tensors and of parameters."""


class CodeFailedError(Exception):
    """User code cannot be evaluated. The message names the line."""


class CodeTooSlow(BaseException):
    """Ends user code that takes too long. Not an Exception, so that `except Exception` does not catch it."""


@dataclass(frozen=True, slots=True)
class CodeResult:
    """What code outputs, without computing values."""

    outputs: Mapping[str, Spec]
    parameters: int = 0
    macs: int = 0


@dataclass(slots=True)
class _Values:
    """Evaluation with values for one batch size, or with none on the meta device."""

    batch: int | None

    @property
    def device(self) -> str:
        return "meta" if self.batch is None else "cpu"

    def tensor(self, spec: Spec) -> Any:
        if self.batch is None:
            return engine.empty(tuple(spec.shape), dtype=spec.dtype, device="meta")
        shape = tuple(_size(size, self.batch) for size in spec.shape)
        if spec.dtype.is_floating_point:
            return engine.randn(*shape).to(spec.dtype)
        return engine.zeros(*shape, dtype=spec.dtype)


def _size(size: Any, batch: int) -> int:
    found = size.at(batch) if isinstance(size, Dim) else size
    return int(found)


@dataclass(slots=True)
class _Run:
    """One evaluation of a source with arguments and inputs."""

    source: str
    node_type: NodeType
    arguments: Mapping[str, Any]
    inputs: Mapping[str, Spec]
    filename: str = field(init=False)

    def __post_init__(self) -> None:
        self.filename = f"<gradwire code {source_digest(self.source)[:12]}>"
        show_in_tracebacks(self.filename, self.source)

    def __call__(self, values: _Values) -> CodeResult:
        code = code_of({"source": self.source})
        assert code is not None, "the source was checked before"
        with drawing_from(RandomNumbers(0)), engine.device(values.device), time_limited(self.filename):
            loaded = load_code(self.source, self.filename, show=_discard)
            tensors = {name: values.tensor(spec) for name, spec in self.inputs.items()}
            versions = {name: tensor._version for name, tensor in tensors.items()}
            function, settings, parameters = loaded, dict(self.arguments), 0
            if code.is_class:
                function, settings = loaded(**self.arguments), {}
                if not isinstance(function, engine.nn.Module):
                    raise CodeFailedError(f"{code.entry} is not a module. Write class {code.entry}(nn.Module)")
                parameters = sum(int(parameter.numel()) for parameter in function.parameters())
            with Budget() as trace, engine.no_grad(), exact_shapes():
                result = function(**tensors, **settings)
        changed = next((name for name, tensor in tensors.items() if tensor._version != versions[name]), None)
        if changed is not None:
            raise CodeFailedError(
                f"{code.entry} changes its input {changed} in place, which other nodes may read. "
                f"Change a copy: {changed} = {changed}.clone()"
            )
        macs: Any = sum((call.macs for call in trace.calls), start=0)
        if isinstance(macs, Dim):
            macs = macs.at(1)
        return CodeResult(self._outputs(code.entry, result), parameters, int(macs // (values.batch or 1)))

    def _outputs(self, entry: str, result: Any) -> dict[str, Spec]:
        names = [port.name for port in self.node_type.outputs]
        is_tuple = isinstance(result, (tuple, list))
        results = list(cast("tuple[Any, ...]", result)) if is_tuple else [result]
        if len(results) != len(names) or (is_tuple and names == ["output"]):
            parts = f"tuple[{', '.join(['Tensor'] * len(results))}]" if is_tuple else "Tensor"
            found = f"a tuple of {len(results)}" if is_tuple else _noun(result)
            wanted = "one tensor" if names == ["output"] else f"a tuple of {len(names)} tensors"
            raise CodeFailedError(
                f"{entry} returns {found}, but the node has {wanted}. Annotate its result, as in -> {parts}"
            )
        for each in results:
            if not isinstance(each, engine.Tensor):
                raise CodeFailedError(f"{entry} returns {_noun(each)}, not a tensor. Return tensors only")
        return {name: tensor.spec for name, tensor in zip(names, results, strict=True)}


def _noun(value: object) -> str:
    if isinstance(value, engine.Tensor):
        return "one tensor"
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _discard(*values: object, **options: object) -> None:
    """Replaces `print` during checks, which run after every edit."""


def evaluate_code(
    source: str, node_type: NodeType, arguments: Mapping[str, Any], inputs: Mapping[str, Spec]
) -> CodeResult:
    """Evaluate trusted code. Raises CodeFailedError with the line and the message, and UntrustedCodeError.

    Code that needs values, such as `if x.sum() > 0:`, is run on small random tensors.
    """
    run = _Run(source, node_type, arguments, inputs)
    try:
        return run(_Values(None))
    except CodeFailedError:
        raise
    except CodeTooSlow as error:
        raise _failure(error, run) from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "UntrustedCodeError":
            raise
        symbolic = error
    if any(_count(spec) > MAX_ELEMENTS for spec in inputs.values()):
        raise _failure(symbolic, run) from None
    try:
        return _measured(run)
    except CodeFailedError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        is_same = isinstance(symbolic, EngineError) and type(symbolic) is type(error)
        raise _failure(symbolic if is_same else error, run) from None


def _count(spec: Spec) -> int:
    count = 1
    for size in spec.shape:
        count *= _size(size, max(BATCH_SIZES))
    return count


def _measured(run: _Run) -> CodeResult:
    """The result with the symbolic batch size in place of sizes that follow it."""
    first, second = (run(_Values(batch)) for batch in BATCH_SIZES)
    batch = next((spec.shape[0] for spec in run.inputs.values() if spec.shape and isinstance(spec.shape[0], Dim)), None)
    outputs: dict[str, Spec] = {}
    for name, spec in first.outputs.items():
        other = second.outputs[name]
        sizes = [_common(a, b, batch) for a, b in zip(spec.shape, other.shape, strict=False)]
        if spec.ndim != other.ndim or None in sizes:
            raise CodeFailedError(
                f"the shape of its output {name} depends on values: {spec} for one batch, {other} for another. "
                "Return a fixed shape"
            )
        outputs[name] = Spec(tuple(sizes), spec.dtype)
    return CodeResult(outputs, first.parameters, first.macs)


def _common(first: Any, second: Any, batch: Any) -> Any:
    """The size for all batches; None if it follows no rule."""
    if first == second:
        return first
    factor = first // BATCH_SIZES[0]
    if batch is not None and factor and [first, second] == [factor * size for size in BATCH_SIZES]:
        return batch * factor if factor > 1 else batch
    return None


def _failure(error: BaseException, run: _Run) -> CodeFailedError:
    line = line_in(error, run.filename)
    where = "" if line is None else f"line {line}: "
    if isinstance(error, CodeTooSlow):
        return CodeFailedError(f"{where}checking it takes longer than {SECONDS:g} seconds")
    if isinstance(error, EngineError):
        return CodeFailedError(f"{where}{translate_error(error).rstrip('.')}")
    return CodeFailedError(f"{where}{described(error, str(error))}")


@contextmanager
def time_limited(filename: str, seconds: float = SECONDS) -> Generator[None]:
    """End code of a file after the time limit, in loops too. A call into compiled code cannot be interrupted.

    Has no effect under a debugger or coverage, because Python allows only one tracer.
    """
    if sys.gettrace() is not None:
        yield
        return
    deadline = time.monotonic() + seconds

    def trace(frame: Any, event: str, argument: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != filename:
            return None  # an exception in a finalizer would be ignored, and end the tracing
        if time.monotonic() > deadline:
            raise CodeTooSlow
        frame.f_trace_opcodes = True  # a loop of one line has no line events
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


__all__ = ["CodeFailedError", "CodeResult", "CodeTooSlow", "evaluate_code", "time_limited"]
