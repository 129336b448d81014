"""Inference mode: like `no_grad`, but tensors created inside cannot be used by autograd later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from engine.modes import MODES, run_in_mode
from engine.observe import Relay
from engine.ops.record import Op
from engine.tensors import Tensor


class inference_mode:
    """Context manager and decorator: ops are not recorded, and new tensors cannot be used in recorded ops later.

    Args:
        mode: False turns recording on again inside an inference mode
    """

    def __new__(cls, mode: Any = True) -> Any:  # `@inference_mode` without parentheses
        return run_in_mode(cls, mode) if callable(mode) and not isinstance(mode, bool) else super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        self._mode = mode
        self._outer: list[tuple[bool, bool, Any]] = []

    def __enter__(self) -> None:
        self._outer.append((MODES.grad, MODES.inference, MODES.observer))
        observer = MODES.observer.outer if isinstance(MODES.observer, _InferenceMarker) else MODES.observer
        MODES.grad, MODES.inference = not self._mode, self._mode
        MODES.observer = _InferenceMarker(observer) if self._mode else observer

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.grad, MODES.inference, MODES.observer = self._outer.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return run_in_mode(lambda: inference_mode(self._mode), function)


def is_inference_mode_enabled() -> bool:
    return MODES.inference


def is_inference(input: Tensor) -> bool:
    """Return whether a tensor was created in inference mode."""
    return input.is_inference()


class _InferenceMarker(Relay):
    """Marks the results of ops as inference tensors; as in PyTorch, views of normal tensors stay normal."""

    lines = False

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> Any:
        input_storages = {id(value._storage) for value in inputs if hasattr(value, "_storage")}
        for out in outs:
            if id(out._storage) not in input_storages and out._storage.version >= 0:
                out._storage.mark_inference()
        return super().call(op, inputs, statics, outs)
