"""What every test starts from: few threads, no display, fixed seeds."""

from __future__ import annotations

import importlib.util
import os
import random

import pytest
from hypothesis import HealthCheck, settings

# Before anything imports NumPy, PyTorch or Qt. Windows must not open over somebody's work or steal its mouse.
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("PYTEST_QT_API", "pyside6")

from engine.random import manual_seed
from tests.compiled import CompiledTests, add_options

collect_ignore = [] if importlib.util.find_spec("PySide6") else ["ui"]

settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    if config.option.compiled:
        config.pluginmanager.register(CompiledTests(config), "compiled-tests")


@pytest.fixture(autouse=True)
def seeds() -> None:
    """Each test draws the same numbers, whatever ran before it."""
    random.seed(0)
    manual_seed(0)
