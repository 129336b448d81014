"""What every test starts from: few threads, no display, fixed seeds."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Before anything imports NumPy, PyTorch or Qt. Windows must not open over somebody's work or steal its mouse.
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("PYTEST_QT_API", "pyside6")

from engine.compiler.kernels.kernel_cache import FOLDER_VARIABLE
from engine.random import manual_seed
from tests.compiled import CompiledTests, add_options

collect_ignore = [] if importlib.util.find_spec("PySide6") else ["ui"]

UNLUCKY = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
"""What depends on the machine, its load, or the version of hypothesis, and says nothing about the code."""

settings.register_profile("dev", deadline=None, suppress_health_check=UNLUCKY)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    if config.pluginmanager.hasplugin("cacheprovider"):  # kernels are kept from run to run, apart from the user's
        os.environ.setdefault(FOLDER_VARIABLE, str(config.cache.mkdir("kernels")))  # pyright: ignore[reportOptionalMemberAccess]
    if config.option.compiled:
        config.pluginmanager.register(CompiledTests(config), "compiled-tests")


@pytest.fixture(autouse=True)
def seeds() -> None:
    """Each test draws the same numbers, whatever ran before it."""
    random.seed(0)
    manual_seed(0)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A child ignores Ctrl+C from birth where its parent does, as shells make of what they start in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
