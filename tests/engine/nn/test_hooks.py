"""Hooks around forward: order, replacement, removal."""

from __future__ import annotations

from typing import Any

import pytest

from engine import nn


class Add(nn.Module):
    def forward(self, x: float, more: float = 0) -> float:
        if x < 0:
            raise ValueError("negative")
        return x + 1 + more


def test_pre_hooks_replace_arguments() -> None:
    module = Add()
    module.register_forward_pre_hook(lambda m, args: args[0] * 10)
    module.register_forward_pre_hook(lambda m, args: (args[0] + 2,))
    assert module(1) == 13


def test_hooks_replace_the_output() -> None:
    module = Add()
    seen: list[Any] = []
    module.register_forward_hook(lambda m, args, output: seen.append((m, args, output)))
    module.register_forward_hook(lambda m, args, output: output * 100)
    assert module(1) == 200
    assert seen == [(module, (1,), 2)]


def test_prepend() -> None:
    module = Add()
    order: list[str] = []
    module.register_forward_hook(lambda *_: order.append("first"))
    module.register_forward_hook(lambda *_: order.append("before"), prepend=True)
    module.register_forward_pre_hook(lambda *_: order.append("pre"))
    module(1)
    assert order == ["pre", "before", "first"]


def test_keyword_arguments() -> None:
    module = Add()
    seen: list[Any] = []
    module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"more": 5}), with_kwargs=True)
    module.register_forward_hook(lambda m, args, kwargs, output: seen.append(kwargs), with_kwargs=True)
    assert module(1, more=1) == 7
    assert seen == [{"more": 5}]


def test_remove_and_context() -> None:
    module = Add()
    calls: list[int] = []
    with module.register_forward_hook(lambda *_: calls.append(1)) as handle:
        module(1)
    module(1)
    handle.remove()
    assert calls == [1]


def test_a_hook_may_remove_itself() -> None:
    module = Add()
    handle = module.register_forward_hook(lambda *_: handle.remove())
    module(1)
    module(1)


def test_always_call_runs_after_an_error() -> None:
    module = Add()
    calls: list[Any] = []
    module.register_forward_hook(lambda m, args, output: calls.append(output), always_call=True)
    module.register_forward_hook(lambda *_: calls.append("not called"))
    with pytest.raises(ValueError, match="negative"):
        module(-1)
    assert calls == [None]
