"""Shows the values of failed assertions in the shared test of planted mistakes, and trains without kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.reference.mistakes.mistake import Mistake
from tests.compiled import bitwise

pytest.register_assert_rewrite("tests.studio.mistakes.diagnosing")


@pytest.fixture(autouse=True)
def _no_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """NumPy computes the same, up to rounding: compiling kernels would take longer than these trainings.

    Diagnoses of runs were recorded with kernels. Rounding decides when losses with a high rate oscillate or diverge.
    """
    mistake = request.node.callspec.params.get("mistake") if hasattr(request.node, "callspec") else None
    if isinstance(mistake, Mistake) and mistake.stage == "run":
        yield
        return
    with bitwise():
        yield
