"""The executor of ops, which `engine.tensors.dispatch` sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class OpExecutor:
    """Holder of the function that runs an op; `engine.tensors.dispatch` sets it."""

    run: Callable[[Any, Sequence[Any], dict[str, Any]], Any]


def _no_executor(op: Any, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
    raise RuntimeError("import engine before calling an op")


OP_EXECUTOR = OpExecutor(_no_executor)
