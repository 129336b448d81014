from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import engine
from studio import cli

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "digits_mlp.gradwire"


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.out.splitlines()]


@pytest.fixture(autouse=True)
def _restored_random_state() -> Iterator[None]:
    state = engine.random.get_rng_state()
    yield
    engine.random.set_rng_state(state)


@pytest.fixture
def gradwire(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Runs a command in this process."""

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the digits example in an empty folder."""
    path = tmp_path / "digits.gradwire"
    path.write_bytes(EXAMPLE.read_bytes())
    return path
