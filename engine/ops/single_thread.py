"""Single-threaded BLAS for many small matrix products.

OpenBLAS splits even a product of 64×128 and 128×512 between its threads and waits for all of them. On a busy machine
this takes up to forty times as long (benchmarks/operators.py), and on an idle one it saves little.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from threadpoolctl import ThreadpoolController

F = TypeVar("F", bound=Callable[..., Any])


class SingleThreadedBlas:
    """Context manager: BLAS uses one thread in the whole process until the last such context ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [(library, library.num_threads) for library in _libraries()]
                self._set(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._set(None)

    def _set(self, threads: int | None) -> None:
        for library, before in self._before:
            if before > 1:
                library.set_num_threads(before if threads is None else threads)


@functools.cache
def _libraries() -> tuple[Any, ...]:
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


ONE_THREAD = SingleThreadedBlas()


def single_threaded(kernel: F) -> F:
    """Decorator: run `kernel` with single-threaded BLAS."""

    @functools.wraps(kernel)
    def limited(*args: Any, **kwargs: Any) -> Any:
        with ONE_THREAD:
            return kernel(*args, **kwargs)

    return cast(F, limited)


_SMALL, _MANY = 1 << 20, 8
"""Maximum multiply-adds of a small product, and minimum number of small products for switching to one thread."""


def products(xp: Any, x: Any, y: Any, out: Any = None) -> Any:
    """`xp.matmul`, faster for batches: a shared matrix gives one large product; small products run on one thread."""
    if x.ndim > 2 and y.ndim == 2 and (out is None or out.flags.c_contiguous):
        rows = math.prod(x.shape[:-1])
        flat = None if out is None else out.reshape(rows, out.shape[-1])
        return xp.matmul(x.reshape(rows, x.shape[-1]), y, out=flat).reshape(*x.shape[:-1], y.shape[-1])
    small = x.ndim > 2 and y.ndim > 1 and x.shape[-2] * x.shape[-1] * y.shape[-1] <= _SMALL
    if xp is not np or not small or x.size < _MANY * x.shape[-2] * x.shape[-1]:
        return xp.matmul(x, y, out=out)
    with ONE_THREAD:
        return xp.matmul(x, y, out=out)
