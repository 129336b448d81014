"""`gradwire import FILE.py` makes blocks of module classes without executing the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio import cli
from studio.document.files.project_files import load

SOURCE = '''
import torch
import torch.nn as nn
import torch.nn.functional as F

open("executed", "w")


class Residual(nn.Module):
    """Two layers and a skip connection."""

    def __init__(self, width, slope=0.1):
        super(Residual, self).__init__()
        self.first = nn.Linear(width, width)
        self.act = nn.LeakyReLU(slope)

    def forward(self, x):
        return x + self.act(self.first(x))


class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Flatten(), nn.Linear(8 * 8, 32))
        self.blocks = nn.ModuleList([Residual(32) for _ in range(3)])
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return F.log_softmax(self.head(x), dim=1)
'''


def test_a_file_becomes_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(SOURCE)
    assert cli.main(["import", "net.py", "--out", "net.gradwire"]) == 0
    document = load(Path("net.gradwire"))
    assert {name: node.type for name, node in document.nodes.items()} == {"net": "block.Net"}
    net = document.blocks["Net"]
    assert net.nodes["blocks"].params == {"repeat": 3, "slope": 0.1, "width": 32}
    assert [node.type for node in net.nodes.values()] == [
        *("port.Input", "nn.Flatten", "nn.Linear", "nn.ReLU", "block.Residual", "nn.Linear", "nn.LogSoftmax"),
        "port.Output",
    ]
    assert document.blocks["Residual"].description == "Two layers and a skip connection."
    assert not Path("executed").exists()


def test_a_class_is_chosen_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(SOURCE)
    assert cli.main(["import", "net.py:Residual", "--out", "net.gradwire"]) == 0
    assert list(load(Path("net.gradwire")).blocks) == ["Residual"]


def test_what_no_graph_can_say_is_an_error_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(SOURCE.replace("return x + ", "if x: return x\n        return "))
    assert cli.main(["import", "net.py", "--out", "net.gradwire"]) != 0
    assert "net.py:18: A graph has no if." in capsys.readouterr().err
    assert not Path("net.gradwire").exists()


def test_parts_without_a_graph_become_python_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    branch = "if x.sum() > 0:\n            return x\n        return x + self.act(self.first(x))"
    Path("net.py").write_text(SOURCE.replace("return x + self.act(self.first(x))", branch))
    assert cli.main(["import", "net.py", "--out", "net.gradwire"]) == 2
    assert "A graph has no if. Write the calls one after the other. Or pass --python-nodes" in capsys.readouterr().err
    assert cli.main(["import", "net.py", "--out", "net.gradwire", "--python-nodes"]) == 0
    assert capsys.readouterr().out == (
        "Added the block Net to net.gradwire\n"
        "Python nodes: net.blocks_0, net.blocks_1, net.blocks_2. "
        "Read their code, then trust it with `gradwire trust net.gradwire`.\n"
    )
    nodes = load(Path("net.gradwire")).blocks["Net"].nodes
    assert [name for name, node in nodes.items() if node.type == "studio.Python"] == [
        "blocks_0",
        "blocks_1",
        "blocks_2",
    ]
    assert not Path("executed").exists()


def test_a_call_makes_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(f"{SOURCE}\n\ndef tiny(**options):\n    return Net(**options)\n")
    assert cli.main(["import", "net.py:tiny(classes=3)", "--out", "net.gradwire"]) == 0
    assert load(Path("net.gradwire")).nodes["net"].params == {"classes": 3}
    assert cli.main(["import", "net.py:Residual(16, slope=1 / 4)", "--out", "block.gradwire"]) == 0
    assert load(Path("block.gradwire")).nodes["residual"].params["slope"] == 0.25
    assert not Path("executed").exists()
