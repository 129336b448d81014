"""One trial of the source of a Python node: its outputs, gradients and effects for some inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

import engine
from engine.random import Generator, drawing_from
from studio.document.code_trust import source_digest
from studio.lowering.user_code.code_evaluation import CodeTooSlow, time_limited
from studio.lowering.user_code.code_loader import load_code, show_in_tracebacks
from studio.lowering.user_code.graph_breaks.break_location import FORCED
from studio.nodes.python_source import read_code

SEED = 7
TRIAL_SECONDS = 1.0
"""Time limit of a trial: the loops of some code never end for infinite values."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs of a trial."""

    name: str
    """Such as "negative values"."""
    arrays: Mapping[str, Any]
    has_gradients: bool = True
    """Whether gradients are compared: not for NaN and infinite inputs, where those of unused branches are NaN."""


@dataclass(slots=True)
class TrialResult:
    """What a trial computed."""

    outputs: tuple[Any, ...] = ()
    gradients: tuple[Any, ...] = ()
    """By input and parameter; None for those without."""
    state: tuple[Any, ...] = ()
    """Inputs, parameters and buffers afterwards, and the state of the random numbers."""
    printed: int = 0
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class CodeTrial:
    """The code of a node with its arguments.

    Args:
        trusted: the source that the user trusts
        text: the source that is executed: the trusted one, or a rewrite of it
    """

    trusted: str
    text: str
    arguments: Mapping[str, Any]
    filename: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "filename", f"<gradwire code {source_digest(self.text)[:12]}>")
        show_in_tracebacks(self.filename, self.text)

    @property
    def is_module(self) -> bool:
        return read_code(self.trusted).is_class

    def load(self, show: Callable[..., None], names: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        """A function of the tensors by name; a module trains."""
        code = read_code(self.trusted)
        loaded = load_code(self.trusted, self.filename, changed=(self.text, code.entry), show=show, names=names)
        if code.is_class:
            return loaded(**self.arguments)
        return _WithArguments(loaded, dict(self.arguments))

    def run(
        self, batch: Batch, *, is_training: bool = True, force: Callable[[str, Any], Any] | None = None
    ) -> TrialResult:
        """Run the code once. Never raises."""
        result = TrialResult()

        def show(*values: object, **options: object) -> None:
            result.printed += 1

        random = Generator(SEED)
        try:
            with np.errstate(all="ignore"), drawing_from(random), time_limited(self.filename, TRIAL_SECONDS):
                function = self.load(show, {} if force is None else {FORCED: force})
                random.set_state(Generator(SEED).get_state())
                self._compute(function, batch, is_training, result)
                result.state = (*result.state, tuple(random.get_state()))
        except CodeTooSlow:
            result.error = TimeoutError("it takes too long")
        except Exception as error:  # noqa: BLE001 - whatever the user's code raises
            result.error = error
        return result

    def _compute(self, function: Any, batch: Batch, is_training: bool, result: TrialResult) -> None:
        tensors = {name: engine.tensor(np.array(array)) for name, array in batch.arrays.items()}
        leaves = [each.requires_grad_() for each in tensors.values() if each.dtype.is_floating_point]
        state: dict[str, Any] = {}
        if isinstance(function, engine.nn.Module):
            function.train(is_training)
            leaves += [each for each in function.parameters() if each.requires_grad]
        # Copies, so that code which changes its inputs in place can be compared, too.
        inputs = {name: each * 1 if each.requires_grad else each.clone() for name, each in tensors.items()}
        found = function(**inputs)
        outputs: tuple[Any, ...] = (
            tuple(cast("tuple[Any, ...]", found)) if isinstance(found, (tuple, list)) else (found,)
        )
        if batch.has_gradients:
            result.gradients = _gradients(outputs, leaves)
        if isinstance(function, engine.nn.Module):
            state = {name: np.array(each.detach().numpy()) for name, each in function.state_dict().items()}
            state |= {
                name: value for name, value in vars(function).items() if isinstance(value, (int, float, str, list))
            }
        result.outputs = tuple(np.array(each.detach().numpy()) if _is_tensor(each) else each for each in outputs)
        after = (np.array(each.detach().numpy()) for each in inputs.values())
        result.state = (*after, *(value for _, value in sorted(state.items())))


@dataclass(frozen=True, slots=True)
class _WithArguments:
    function: Callable[..., Any]
    arguments: Mapping[str, Any]

    def __call__(self, **tensors: Any) -> Any:
        return self.function(**tensors, **self.arguments)


def _gradients(outputs: tuple[Any, ...], leaves: list[Any]) -> tuple[Any, ...]:
    """Gradients of a sum of the outputs, weighted by fixed random numbers."""
    weights = np.random.default_rng(SEED)
    parts = [
        (each * engine.tensor(weights.uniform(0.5, 1.5, each.shape)).to(each.dtype)).sum()
        for each in outputs
        if _is_tensor(each) and each.dtype.is_floating_point and each.requires_grad
    ]
    if not parts or not leaves:
        return tuple(None for _ in leaves)
    found = engine.autograd.grad(sum(parts[1:], start=parts[0]), leaves, allow_unused=True)
    return tuple(None if each is None else np.array(each.detach().numpy()) for each in found)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, engine.Tensor)


__all__ = ["SEED", "TRIAL_SECONDS", "Batch", "CodeTrial", "TrialResult"]
