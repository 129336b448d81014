"""Trains without kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compiled import bitwise


@pytest.fixture(autouse=True)
def _no_kernels() -> Iterator[None]:
    """NumPy computes the same: compiling kernels would take longer than these trainings."""
    with bitwise():
        yield
