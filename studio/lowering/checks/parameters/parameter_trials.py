"""Other values of parameters that may make a node accept its inputs, and their trial, which computes only shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from engine.shape import Spec
from studio.document.model import Json
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix
from studio.nodes.types import Role

_MAX_EVALUATIONS = 160
"""Evaluated nodes per problem."""
_MAX_SIZE = 64
"""Largest divisor and patch size that are tried."""
_DIVISORS = ("heads", "num_heads", "nhead", "groups", "num_groups")
"""Parameters that have to divide a size."""
_AXES = ("dim", "dim0", "dim1", "start_dim")


@dataclass(frozen=True, slots=True)
class Trial:
    """Other values of parameters, by node."""

    changes: Mapping[str, Mapping[str, Json]]

    @property
    def node(self) -> str:
        """The first changed node."""
        return next(iter(self.changes))

    @property
    def fix(self) -> Fix:
        values = self.changes[self.node]
        if len(self.changes) == 1 and len(values) == 1:
            return quick_fixes.assign(self.node, *next(iter(values.items())))
        named = len(self.changes) > 1
        title = _sentence(
            _step(param, value, node if named else "")
            for node, values in self.changes.items()
            for param, value in values.items()
        )
        return quick_fixes.assign_all(self.changes, title)

    @property
    def advice(self) -> str:
        """The fix as a sentence that names the nodes."""
        items = self.changes.items()
        return f"{_sentence(_step(param, value, node) for node, values in items for param, value in values.items())}."


def of(node: str, **values: Json) -> Trial:
    """Other values of parameters of one node."""
    return Trial({node: values})


def _step(param: str, value: Json, node: str) -> str:
    name = f"{param} of {node}" if node else param
    return f"clear {name}" if value is None else f"set {name} to {shown(value)}"


def _sentence(steps: Iterable[str]) -> str:
    text = " and ".join(steps)
    return text[:1].upper() + text[1:]


def first_that_works(
    flow: Dataflow, name: str, trials: Iterable[Trial], accepts: Callable[[NodeFacts], bool] = lambda _: True
) -> Trial | None:
    """The first trial with which a node works, among as many as the limit of evaluations allows.

    Args:
        accepts: whether the facts of a node that works are those wanted
    """
    left = _MAX_EVALUATIONS
    for trial in trials:
        facts, used = flow.with_params(name, trial.changes, left)
        left -= max(used, 1)
        if facts is not None and facts.outcome.outputs and accepts(facts):
            return trial
        if left <= 0:
            return None
    return None


def window_trials(facts: NodeFacts, name: str) -> Iterator[Trial]:
    """Values with which a layer with windows keeps the size of its input."""
    values = facts.arguments.values
    kernel, stride = values.get("kernel_size"), values.get("stride")
    if facts.type.role is not Role.LAYER or kernel is None:
        return
    keeping: dict[str, Json] = {}
    if stride not in (None, 1) and not _is_all(stride, 1) and facts.type.param("padding") is not None:
        keeping["stride"] = 1
        yield of(name, **keeping)
    padding = same_padding(values)
    if padding is not None and padding != values.get("padding"):
        yield of(name, padding=padding)
        if keeping:
            yield of(name, **keeping, padding=padding)


def padding_trial(facts: Mapping[str, NodeFacts]) -> Iterator[Trial]:
    """The padding with which several layers with windows keep the size of their inputs."""
    found = {name: same_padding(each.arguments.values) for name, each in facts.items()}
    values = {name: each.arguments.values.get("padding") for name, each in facts.items()}
    changes = {name: {"padding": padding} for name, padding in found.items() if padding not in (None, values[name])}
    if len(changes) > 1:
        yield Trial(changes)


def same_padding(values: Mapping[str, Any]) -> Json:
    """The padding with which an odd kernel keeps the size; None if there is none, or it is given as text."""
    kernel, dilation = values.get("kernel_size"), values.get("dilation", 1)
    if dilation not in (1, None) and not _is_all(dilation, 1):
        return None
    if "padding" not in values or isinstance(values["padding"], str):
        return None
    sizes: list[int] = [kernel] if isinstance(kernel, int) else list(kernel or ())
    if not sizes or any(size % 2 == 0 for size in sizes):
        return None
    halves = [size // 2 for size in sizes]
    return halves[0] if len(set(halves)) == 1 else cast("list[Json]", halves)


def size_trials(facts: NodeFacts, name: str, wanted: int, found: int) -> Iterator[Trial]:
    """Values with which a node outputs another number of features or positions."""
    for param, value in facts.arguments.values.items():
        if param not in facts.arguments.explicit:
            continue
        if param.startswith("out_") or param in ("hidden_size", "embedding_dim", "proj_size"):
            yield Trial({name: {param: wanted}})
        elif isinstance(value, tuple) and found in value and param in ("size", "shape"):
            yield Trial({name: {param: [wanted if size == found else size for size in cast("tuple[Any, ...]", value)]}})


def patch_trials(facts: NodeFacts, name: str) -> Iterator[Trial]:
    """Other sizes of patches, for a convolution whose stride is its kernel."""
    values = facts.arguments.values
    size = _one(values.get("kernel_size"))
    if size is None or size < 2 or _one(values.get("stride")) != size or "out_channels" not in values:
        return
    for other in _near(size, 4 * size):
        yield of(name, kernel_size=other, stride=other)


def upsampling_trials(facts: NodeFacts, name: str, sizes: tuple[Any, ...]) -> Iterator[Trial]:
    """The size itself instead of a factor, for an upsampling layer before which a size was rounded."""
    values = facts.arguments.values
    if values.get("scale_factor") is not None and "size" in values and all(isinstance(size, int) for size in sizes):
        yield of(name, size=list(sizes), scale_factor=None)


def rounding_trials(facts: NodeFacts, name: str) -> Iterator[Trial]:
    """Rounding up instead of down, for a pooling layer."""
    if facts.arguments.values.get("ceil_mode") is False:
        yield of(name, ceil_mode=True)


def axis_trials(facts: NodeFacts, name: str) -> Iterator[Trial]:
    """Other dimensions for a node that works along one."""
    spec = next((value for value in facts.inputs.values() if isinstance(value, Spec)), None)
    if facts.type.role not in (Role.OPERATION, Role.LAYER) or spec is None:
        return
    for param in _AXES:
        value = facts.arguments.values.get(param)
        if isinstance(value, int) and not isinstance(value, bool):
            others = [axis for axis in range(1, spec.ndim) if axis != value % max(spec.ndim, 1)]
            yield from (Trial({name: {param: axis}}) for axis in others)


def own_trials(facts: NodeFacts, name: str) -> Iterator[Trial]:
    """Values of a node that refuses its inputs."""
    values = facts.arguments.values
    yield from axis_trials(facts, name)
    padding = same_padding(values)
    if padding is not None and padding != values.get("padding"):
        yield of(name, padding=padding)
    for param in ("shape", "size"):
        sizes = values.get(param)
        if facts.type.role is Role.OPERATION and isinstance(sizes, tuple) and -1 not in sizes:
            for index in reversed(range(len(cast("tuple[Any, ...]", sizes)))):
                if isinstance(sizes[index], int):
                    yield Trial({name: {param: [*sizes[:index], -1, *sizes[index + 1 :]]}})
    yield from divisor_trials(facts, name)


def divisor_trials(facts: NodeFacts, name: str) -> Iterator[Trial]:
    """Other numbers of heads or groups, the nearest first."""
    for param in _DIVISORS:
        value: object = facts.arguments.values.get(param)
        if isinstance(value, int) and param in facts.arguments.explicit:
            for other in _near(value, 2 * value):
                yield Trial({name: {param: other}})


def _near(value: int, most: int) -> list[int]:
    """The other numbers up to a largest one, the nearest first."""
    others = (other for other in range(1, min(most, _MAX_SIZE) + 1) if other != value)
    return sorted(others, key=lambda other: (abs(other - value), other))


def shown(value: Any) -> str:
    """A value in a sentence: "2", "8 × 8", "empty"."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(shown, cast("list[Any]", value)))
    return "empty" if value is None else str(value)


def _one(value: Any) -> int | None:
    """The size of a square window."""
    if isinstance(value, tuple) and len(set(cast("tuple[int, ...]", value))) == 1:
        return cast("tuple[int, ...]", value)[0]
    return value if isinstance(value, int) else None


def _is_all(value: Any, one: int) -> bool:
    return isinstance(value, tuple) and all(each == one for each in cast("tuple[Any, ...]", value))


__all__ = [
    "Trial",
    "of",
    "padding_trial",
    "axis_trials",
    "divisor_trials",
    "first_that_works",
    "own_trials",
    "patch_trials",
    "rounding_trials",
    "shown",
    "size_trials",
    "upsampling_trials",
    "window_trials",
]
