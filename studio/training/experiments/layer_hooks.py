"""Watches the calls of layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import engine

Watcher: TypeAlias = Callable[[str, Any, tuple[Any, ...], Any], None]
"""Called with the path of a layer, the layer, its arguments, and its output; of several outputs the first."""


def leaf_layers(model: Any) -> dict[str, Any]:
    """The layers without inner layers, by path."""
    return {name: module for name, module in model.named_modules() if name and not list(module.children())}


@contextmanager
def watched(layers: Mapping[str, Any], watch: Watcher) -> Iterator[None]:
    """Call a watcher for each call of layers whose output is a tensor of floating-point numbers."""

    def record(module: Any, arguments: tuple[Any, ...], output: Any, name: str) -> None:
        value = output[0] if isinstance(output, tuple) else output
        if isinstance(value, engine.Tensor) and value.dtype.is_floating_point:
            watch(name, module, arguments, value)

    handles = [layer.register_forward_hook(partial(record, name=name)) for name, layer in layers.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


__all__ = ["Watcher", "leaf_layers", "watched"]
