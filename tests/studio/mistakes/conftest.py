"""Shows the values of failed assertions in the shared test of planted mistakes, and trains without kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compiled import bitwise

pytest.register_assert_rewrite("tests.studio.mistakes.diagnosing")


@pytest.fixture(autouse=True)
def _no_kernels() -> Iterator[None]:
    """NumPy computes the same: compiling kernels would take longer than these trainings."""
    with bitwise():
        yield
