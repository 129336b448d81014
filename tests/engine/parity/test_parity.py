"""Every public name of PyTorch exists or is left out for a reason; existing names have the same arguments."""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import engine
import parity_names
from engine.parity import REASONS, names, version
from engine.parity.__main__ import main
from engine.parity.names import MODULES, engine_space, modules, stored
from engine.torch_compat.left_out import matches
from tests.engine.parity.differences import DIFFERENCES
from tests.engine.parity.signatures import found

PATHS = [f"{space}.{name}" for space, members in stored().items() for name in members] + modules()
PATTERNS = [pattern for patterns in REASONS.values() for pattern in patterns]

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed here")


def test_missing_names_have_reasons() -> None:
    assert [name.path for name in names() if name.state == "missing"] == []


def test_existing_names_have_no_reason() -> None:
    """Patterns that end with ".*" apply to the missing names of a namespace."""
    exact = [pattern for pattern in PATTERNS if not pattern.endswith(".*")]
    assert [name.path for name in names() if name.there and any(matches(name.path, one) for one in exact)] == []


def test_reasons_refer_to_pytorch_names() -> None:
    left_out = [name.path for name in names() if name.state == "left out"]
    assert [pattern for pattern in PATTERNS if not any(matches(path, pattern) for path in left_out)] == []


@needs_torch
def test_stored_names_equal_installed_pytorch() -> None:
    torch: Any = pytest.importorskip("torch")
    if torch.__version__.partition("+")[0] != version():
        pytest.skip(f"PyTorch {torch.__version__} is installed, and the list is of {version()}")
    # In a separate process: PyTorch creates some names on first use.
    command = [sys.executable, parity_names.__file__, "--check"]
    assert subprocess.run(command, check=False, capture_output=True, text=True).stderr == ""


@needs_torch
@pytest.mark.filterwarnings("ignore")  # reading all attributes of PyTorch triggers deprecation warnings
def test_arguments_and_defaults_equal_pytorch() -> None:
    listed = {line for lines in DIFFERENCES.values() for line in lines}
    differ = set(found())
    assert (sorted(differ - listed), sorted(listed - differ)) == ([], []), "(not explained, gone)"


def test_names_can_be_imported_from_pytorch_paths() -> None:
    assert [space for space in stored() if engine_space(space) is None and any(n.there for n in names(space))] == []


def test_existing_modules_can_be_imported() -> None:
    there = [name.path for name in names(MODULES) if name.there]
    without_tensorboard = [path for path in there if not path.startswith("torch.utils.tensorboard")]
    for path in without_tensorboard:
        assert importlib.import_module(path.replace("torch", "engine", 1))
    assert {"torch.nn.parallel", "torch.cuda.amp.grad_scaler", "torch.utils.tensorboard.writer"} <= set(there)
    assert {"torch.fx", "torch.distributed.rpc", "torch.cuda.nccl"}.isdisjoint(there)


def test_missing_attributes_explain_the_reason() -> None:
    assert not hasattr(engine.fft, "rfft")
    with pytest.raises(AttributeError, match=r"^engine\.fft\.rfft is not available: its results are complex"):
        engine.fft.rfft  # noqa: B018
    with pytest.raises(AttributeError, match=r"^engine\.jit\.trace is not available: .*engine\.compile"):
        engine.jit.trace  # noqa: B018
    with pytest.raises(AttributeError, match=r"^module 'engine' has no attribute 'no_such_name'$"):
        engine.no_such_name  # noqa: B018
    with pytest.raises(ImportError, match="complex64"):
        exec("from engine import complex64")


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--namespace", "nn.init"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["torch.nn.init.calculate_gain", "yes"]
    there, left_out, missing = map(int, lines[-1].split()[1:])
    assert there + left_out + missing == len(stored()["torch.nn.init"])


def test_command_line_filters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--missing", "--namespace", "torch.linalg"]) == 0
    assert "yes" not in capsys.readouterr().out
    assert main(["--left-out", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["pytorch"] == version()
    assert {row["state"] for row in document["names"]} == {"left out"}
    assert sum(document["summary"]["all"].values()) == len(PATHS)


def test_names_file_is_packaged() -> None:
    folder = Path(engine_space("torch.parity").__file__).parent
    assert (folder / "names.json").exists()
