"""Random choices: the bits that `engine.random` draws, without its words in between."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine import random
from engine.compiler.graph import Node
from engine.compiler.kernels.library.routine import Routine, computes, later
from engine.ops.random import kept_by_chance


class Kept:
    """`kept_by_chance`."""

    def __init__(self) -> None:
        self.module = later("chance", np.dtype(np.float32))

    def __call__(self, x: Any, out: Any, p: float, state: random.State) -> None:
        kernel = self.module.function
        if kernel is None:
            out[...] = random.kept(state, out.size, p).reshape(out.shape)
            return
        least = math.ceil(float(np.float32(p)) * 2**24) << 8
        kernel(id(out), state.seed, state.stream, state.offset, least, out.size)


@computes(kept_by_chance, strided=True)
def _(node: Node) -> Routine | None:
    return Kept()


__all__: list[str] = []
