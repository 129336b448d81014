from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.compiler.kernels.cache import VARIABLE


@pytest.fixture(autouse=True, scope="session")
def _kernels_of_tests(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels are kept from run to run, apart from the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(request.config.cache.mkdir("kernels")))  # pyright: ignore[reportOptionalMemberAccess]
        yield
