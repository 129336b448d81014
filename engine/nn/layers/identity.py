"""Identity layer."""

from __future__ import annotations

from typing import Any

from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


@LAYERS.register(category="Shape", tags=("pass", "skip"))
class Identity(Module):
    """Returns the input unchanged. Constructor arguments are ignored, so it can replace any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input
