"""Compiled functions whose Python state changes between calls: numbers and gradients are those of eager mode."""

from __future__ import annotations

import abc
import array
import collections
import contextlib
import contextvars
import copy
import dataclasses
import decimal
import enum
import functools
import heapq
import io
import itertools
import logging
import math
import operator
import os
import queue
import random
import sys
import textwrap
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.compiler import CompiledFunction
from engine.errors import CompileError
from engine.nn import functional
from tests.compiled import bitwise
from tests.engine.compiler.state_changes import CASES, Case

NAMES = (
    abc, array, collections, contextlib, contextvars, copy, dataclasses, decimal, engine, enum, functional, functools,
    heapq, io, itertools, logging, math, nn, operator, optim, os, queue, random, sys, threading, time, types, weakref,
)  # fmt: skip
CALLS = (5, 2, 2)
"""Before the first change, and after each."""


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    """The modes that cases set."""
    with engine.set_grad_enabled(True), decimal.localcontext():
        yield
        engine.set_default_dtype(engine.float32)
        engine.set_default_device(None)


class Program:
    """A case as a program that can be run once."""

    def __init__(self, case: Case, patch: pytest.MonkeyPatch, wrap: Callable[[Any], Any]) -> None:
        setup, body, self._change = case
        engine.manual_seed(0)
        self.names: dict[str, Any] = {one.__name__.rpartition(".")[2]: one for one in NAMES}
        self.names |= {"np": np, "patch": patch, "seen": [], "around": contextlib.nullcontext, "args": lambda x: (x,)}
        exec(setup, self.names)
        if body:
            result = body if "return" in body else f"return {body}"
            extra = ", k=None" if self.names["args"](engine.ones(3))[1:] else ""
            exec(f"def f(x{extra}):\n{textwrap.indent(result, ' ')}", self.names)
        self.run = wrap(self.names["f"])

    def change(self, number: int) -> None:
        self.names["n"] = number
        exec(self._change, self.names)

    def call(self) -> list[Any]:
        """Everything that one call leaves behind."""
        x = engine.tensor([1.0, -2.0, 3.0], dtype=engine.float32, device="cpu").requires_grad_()
        args = self.names["args"](x)
        found: list[Any] = []
        try:
            with self.names["around"]():
                result = self.run(*args)
            found += _described(result)
            if engine.is_grad_enabled() and not self.names.get("trains"):
                for one in _tensors(result):
                    if one.requires_grad:
                        one.sum().backward()
        except CompileError:
            raise
        except Exception as error:  # noqa: BLE001 - cases raise on purpose
            found.append(type(error).__name__)
        watched = [x, *_tensors(args), self.names.get("w")]
        found += [(_described(one), None if one.grad is None else _described(one.grad)) for one in _tensors(watched)]
        return [*found, list(self.names["seen"])]


def _tensors(value: Any) -> list[engine.Tensor]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in _tensors(one)]
    return [value] if isinstance(value, engine.Tensor) else []


def _described(value: Any) -> list[Any]:
    """A result for comparing: structure, dtypes, bits, and whether it asks for gradients."""
    if isinstance(value, engine.Tensor):
        return [value.dtype, value.requires_grad, repr(value.detach().tolist())]
    if isinstance(value, dict):
        return [_described(one) for one in value.items()]
    if isinstance(value, (list, tuple)):
        return [_described(one) for one in value]
    return [repr(value)]


def outcomes(case: Case, wrap: Callable[[Any], Any] = lambda f: f) -> list[list[Any]]:
    """Of each call; up to the first that is refused for a graph break."""
    found: list[list[Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        program = Program(case, patch, wrap)
        with contextlib.suppress(CompileError):
            for number, calls in enumerate(CALLS):
                if number:
                    program.change(number)
                found += [program.call() for _ in range(calls)]
    return found


@functools.cache
def eager(name: str) -> list[list[Any]]:
    found = outcomes(CASES[name])
    assert len(found) == sum(CALLS)
    assert any(one != found[CALLS[0] - 1] for one in found[CALLS[0] :]), "the change is to change something"
    return found


@pytest.mark.parametrize("fullgraph", [False, True], ids=["default", "fullgraph"])
@pytest.mark.parametrize("name", CASES)
def test_state_changes_between_calls_match_eager_mode(name: str, fullgraph: bool) -> None:
    made: list[CompiledFunction] = []

    def wrap(function: Any) -> Any:
        made.append(CompiledFunction(function, fullgraph=fullgraph))
        return made[-1]

    expected = eager(name)
    with bitwise():
        found = outcomes(CASES[name], wrap)
    for number, (ours, other) in enumerate(zip(found, expected, strict=False)):
        assert ours == other, f"call {number}"
    assert fullgraph or len(found) == len(expected)
