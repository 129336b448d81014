"""Gradient checkpointing: tensors saved for the backward pass are dropped and recomputed when they are needed.

Chen, Xu, Zhang & Guestrin, "Training deep nets with sublinear memory cost", 2016.
"""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from engine.amp.cast_policy import CastCache, CastPolicy
from engine.autograd.context import SavedValue
from engine.autograd.function import Function
from engine.autograd.graph import saved_tensors_hooks
from engine.errors import AutogradError, CheckpointError
from engine.graph import backward
from engine.modes import MODES, enable_grad, no_grad
from engine.random import default_generator
from engine.random.philox import State
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.structure import leaves

ContextFunction = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]

_early_stop = True


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    context_fn: ContextFunction = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Run ``function(*args, **kwargs)``. It runs again in the backward pass instead of keeping its saved tensors.

    Args:
        function: must compute the same result when it runs again
        use_reentrant: run a nested backward pass, PyTorch's old implementation; supports only `backward()` without
            `inputs`, and no higher-order gradients
        context_fn: returns two context managers, for the first and the second run
        determinism_check: "default" compares shapes, dtypes and devices of the two runs, "none" does not
        debug: no effect: errors always name the tensors
        early_stop: end the second run after the last tensor that is needed
        preserve_rng_state: draw the same random numbers again
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(f'checkpoint: determinism_check must be "default" or "none", not {determinism_check!r}')
    if use_reentrant:
        if kwargs or context_fn is not noop_context_fn:
            raise ValueError(
                f"checkpoint(use_reentrant=True) takes no {', '.join(kwargs) or 'context_fn'}. Use use_reentrant=False."
            )
        if MODES.grad and not any(isinstance(value, Tensor) and value.requires_grad for value in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        return _Reentrant.apply(function, default_generator.get_state() if preserve_rng_state else None, *args)
    first, second = context_fn()
    if not MODES.grad:
        with first:
            return function(*args, **kwargs)
    state = default_generator.get_state() if preserve_rng_state else None
    frame = _Frame(function, args, kwargs, state, second, determinism_check == "default", early_stop and _early_stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        return function(*args, **kwargs)


def get_device_states(*args: Any) -> tuple[list[int], list[State]]:
    """Return the GPUs of the tensors in `args`, each once, and the states of their random numbers.

    One generator draws for all devices, so each state is that of `engine.get_rng_state`.
    """
    indices = sorted({tensor.device.index or 0 for tensor in leaves(args) if tensor.is_cuda})
    return indices, [default_generator.get_state() for _ in indices]


def set_device_states(devices: Sequence[int], states: Sequence[State], *, device_type: str | None = None) -> None:
    """Restore the random states that `get_device_states` returned."""
    for state in states[:1]:
        default_generator.set_state(state)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool = False, **kwargs: Any) -> Any:
    """Run `functions`, a Sequential or a list, in checkpointed segments. The last segment is not checkpointed.

    Args:
        functions: called in sequence
        segments: number of segments
        input: input of the first function
        use_reentrant: see `checkpoint`
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"checkpoint_sequential() has no argument {next(iter(kwargs))!r}")
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= len(steps):
        raise ValueError(f"checkpoint_sequential: segments must be between 1 and {len(steps)}, not {segments}")
    size = len(steps) // segments
    cuts = [size * number for number in range(segments)]
    for start in cuts[:-1]:
        part = steps[start : start + size]
        input = checkpoint(_chain(part), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _chain(steps[cuts[-1] :])(input)


def _chain(steps: Sequence[Callable[..., Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Context manager: whether the second run of checkpoints stops early."""
    global _early_stop
    outer, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = outer


# -- implementation with hooks on saved tensors -----------------------------------------------


class _Placeholder:
    """Placeholder for a tensor that was not saved."""

    __slots__ = ("__weakref__", "tensors")

    def __init__(self) -> None:
        self.tensors: dict[int, Tensor] = {}
        """Backward pass → the recomputed tensor."""


class _StopError(Exception):
    """All needed tensors have been recomputed."""


class _Frame:
    """One checkpointed call: the function to run again, and the placeholders to fill."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        state: State | None,
        context: AbstractContextManager[Any],
        compare: bool,
        early_stop: bool,
    ) -> None:
        self.function, self.state, self.context = function, state, context
        self.compare, self.early_stop = compare, early_stop
        self.autocast_policy = MODES.autocast
        self.names = list(kwargs)
        # Use the hooks of an enclosing checkpoint, which may drop the arguments too.
        self.args = [
            SavedValue(value, None, number) if isinstance(value, Tensor) else value
            for number, value in enumerate((*args, *kwargs.values()))
        ]
        self.requires_grad = [isinstance(value, Tensor) and value.requires_grad for value in (*args, *kwargs.values())]
        self.placeholders: list[weakref.ref[_Placeholder]] = []
        self.specs: list[tuple[Any, ...]] = []
        self.done: set[int] = set()

    def pack(self, tensor: Tensor) -> _Placeholder:
        placeholder = _Placeholder()
        self.placeholders.append(weakref.ref(placeholder))
        self.specs.append(_spec(tensor))
        return placeholder

    def unpack(self, placeholder: _Placeholder) -> Tensor:
        walk = MODES.backward_pass
        key = id(walk)
        if walk is None:
            self.done.discard(key)  # outside a backward pass it is unknown how long to keep the tensor
        if key not in self.done:
            self.done.add(key)
            if walk is not None:
                walk.at_end.append(lambda: self.forget(key))
            self.recompute(key)
        if key not in placeholder.tensors:
            raise CheckpointError(
                "checkpoint: a tensor that the first run saved was not saved when the function ran again"
            )
        return placeholder.tensors[key]

    def forget(self, key: int) -> None:
        self.done.discard(key)
        for reference in self.placeholders:
            placeholder = reference()
            if placeholder is not None:
                placeholder.tensors.pop(key, None)

    def recompute(self, key: int) -> None:
        """Fill the placeholders."""
        values: list[Any] = []
        for value, requires_grad in zip(self.args, self.requires_grad, strict=True):
            tensor = value.tensor(None, "checkpoint") if isinstance(value, SavedValue) else value
            is_leaf = isinstance(value, SavedValue) and requires_grad
            values.append(tensor.detach().requires_grad_(requires_grad) if is_leaf else tensor)
        count = len(values) - len(self.names)
        filled: list[tuple[Any, ...]] = []

        def pack(tensor: Tensor) -> Tensor:
            number = len(filled)
            filled.append(_spec(tensor))
            if number < len(self.placeholders):
                placeholder = self.placeholders[number]()
                if placeholder is not None:
                    placeholder.tensors[key] = tensor
                if self.early_stop and len(filled) == len(self.placeholders):
                    raise _StopError
            return tensor

        with (
            _restored_random_state(self.state),
            _restored_autocast(self.autocast_policy),
            _recomputing(),
            enable_grad(),
            saved_tensors_hooks(pack, lambda tensor: tensor),
            self.context,
        ):
            try:
                self.function(*values[:count], **dict(zip(self.names, values[count:], strict=True)))
            except _StopError:
                pass
        self.check(filled)

    def check(self, filled: list[tuple[Any, ...]]) -> None:
        if len(filled) != len(self.placeholders):
            raise CheckpointError(
                "checkpoint: a different number of tensors was saved when the function ran again: "
                f"{len(filled)}, not {len(self.placeholders)}. It must compute the same each time."
            )
        if not self.compare:
            return
        for number, (before, after) in enumerate(zip(self.specs, filled, strict=True)):
            if before != after:
                raise CheckpointError(
                    f"checkpoint: recomputed values have different metadata: saved tensor {number} was {_text(before)} "
                    f"in the first run and {_text(after)} in the second. The function must compute the same each time."
                )


def _spec(tensor: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.dtype, tensor.device


def _text(spec: tuple[Any, ...]) -> str:
    return f"{format_shape(spec[0])} {spec[1].name} on {spec[2]}"


@contextmanager
def _restored_random_state(state: State | None) -> Iterator[None]:
    """Context manager that restores the random state `state`."""
    if state is None:
        yield
        return
    outer = default_generator.get_state()
    default_generator.set_state(state)
    try:
        yield
    finally:
        default_generator.set_state(outer)


_runs = itertools.count(1)


@contextmanager
def _recomputing() -> Iterator[None]:
    """Context manager in which saved tensors are not matched with those of the first run."""
    outer, MODES.recomputation = MODES.recomputation, next(_runs)
    try:
        yield
    finally:
        MODES.recomputation = outer


@contextmanager
def _restored_autocast(autocast_policy: CastPolicy | None) -> Iterator[None]:
    """Context manager with the autocast state of the first run and an empty cache."""
    outer = MODES.autocast
    MODES.autocast = autocast_policy and CastPolicy(autocast_policy.dtypes, autocast_policy.cache and CastCache())
    try:
        yield
    finally:
        MODES.autocast = outer


# -- implementation with a nested backward pass ------------------------------------------------


class _Reentrant(Function):
    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], state: State | None, *args: Any) -> Any:
        ctx.function, ctx.state, ctx.autocast_policy = function, state, MODES.autocast
        ctx.rest = [None if isinstance(value, Tensor) else value for value in args]
        ctx.tensor_indices = [index for index, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.requires_grad = [isinstance(value, Tensor) and value.requires_grad for value in args]
        ctx.save_for_backward(*[args[index] for index in ctx.tensor_indices])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not MODES.backward_pass.accumulates_all_leaves:
            raise AutogradError(
                "checkpoint(use_reentrant=True) does not support grad() or backward(inputs=...).",
                in_code="Use use_reentrant=False.",
            )
        args = list(ctx.rest)
        for index, tensor in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            args[index] = tensor.detach().requires_grad_() if ctx.requires_grad[index] else tensor.detach()
        with _restored_random_state(ctx.state), _restored_autocast(ctx.autocast_policy), _recomputing(), enable_grad():
            result = ctx.function(*args)
        outputs = result if isinstance(result, tuple) else (result,)
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise AutogradError(
                "checkpoint: no result of the function requires gradients, so checkpointing has no effect."
            )
        backward([out for out, _ in pairs], [gradient for _, gradient in pairs])
        return None, None, *[value.grad if isinstance(value, Tensor) else None for value in args]


__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_early_stop",
    "set_device_states",
]
