"""Dropout in plans keeps the elements that eager mode keeps."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.compiler.kernels.library.dropout_mask_kernel import DropoutMask
from engine.nn import functional
from engine.random.philox import State, keep_mask

STATES = [State(0, 0, 0), State(2**64 - 1, 5, 12345), State(3, 2**63 + 1, 2**64 - 2)]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_dropout_mask_has_the_bits_of_the_generator(state: State) -> None:
    for count in (1, 7, 8, 9, 15, 1000):
        kernel = DropoutMask(count)
        kernel.module.wait()
        for p in (0.0, 0.2, 0.5, 0.999999, 1.0):
            out = np.zeros(count, bool)
            kernel(None, out, p=p, state=state)
            assert (out == keep_mask(state, count, p)).all(), (count, p)


def test_dropout_differs_between_calls() -> None:
    def function(x: engine.Tensor) -> engine.Tensor:
        return functional.dropout(x, 0.3) * 2

    compiled, x = engine.compile(function), engine.ones(33, 7)
    for seed in range(4):
        engine.manual_seed(seed)
        eager = [function(x).numpy().copy() for _ in range(2)]
        engine.manual_seed(seed)
        found = [compiled(x).numpy().copy() for _ in range(2)]
        assert (np.stack(eager) == np.stack(found)).all()
        assert (eager[0] != eager[1]).any()
