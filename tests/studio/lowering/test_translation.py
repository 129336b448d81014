"""Texts of the engine on the canvas: no lines of generated code, no Python."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import pytest

from engine import errors
from engine.errors import DTypeError, EngineError, ShapeError, StaleTensorError
from studio.document.model import Document, Node
from studio.lowering.translation import told
from studio.nodes.catalogue import catalogue
from studio.training import Failed, Session
from tests.studio.lowering.graphs import changed, digits, mlp, only

ENGINE = Path(errors.__file__).parent
CODE = re.compile(r"(\w*\.|\bcall )(long|float|to|squeeze|unsqueeze|eval|clone|detach|numpy|item)\(|\bsaved at\b")
PYTHON = re.compile(r"<gradwire|saved at|\w\(\)\.|\.\w+\(|\bcall eval|np\.\w+\(")


def in_place() -> Document:
    """Sigmoid needs its result for its gradient, which the ReLU overwrites."""
    linear = {"hidden": Node("nn.Linear", {"out_features": 8}), "logits": Node("nn.Linear", {"out_features": 10})}
    layers = {"flatten": "nn.Flatten", "hidden": linear["hidden"], "sigmoid": "nn.Sigmoid"}
    return digits({**layers, "relu": Node("nn.ReLU", {"inplace": True}), "logits": linear["logits"]})


def test_a_stale_tensor_is_told_at_the_node_that_needs_it() -> None:
    run = Session(in_place(), catalogue(), steps=1)
    run.start()
    assert run.join(600)
    [failed] = [event for event in run.events() if isinstance(event, Failed)]
    assert failed.node == "sigmoid"
    text, _, line = failed.message.partition(" Program line: ")
    assert text == (
        "the result of sigmoid() at sigmoid, 64×8 float32, is needed for its gradient but was changed in place "
        "afterwards. Turn inplace off at the node behind it."
    )
    assert line == "self.sigmoid = nn.Sigmoid()"
    assert "saved" in failed.detail, "the log keeps the engine's own text"


@pytest.mark.parametrize(
    "document",
    [
        changed(mlp(), "flatten", type="nn.Embedding", params={"num_embeddings": 4, "embedding_dim": 2}),
        changed(mlp(), "cross_entropy", type="nn.L1Loss"),
        digits({"norm": "nn.BatchNorm1d", "flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})}),
    ],
)
def test_checks_name_no_python(document: Document) -> None:
    assert not PYTHON.search(only(document).message)


def test_the_first_type_that_fits_gives_the_step() -> None:
    assert told(DTypeError("Whole numbers.", in_code="Use x.long().")).startswith("Whole numbers. Convert the data by")
    assert told(DTypeError("Whole numbers.")) == "Whole numbers."
    assert told(ShapeError("Too few.", in_code="To evaluate, call eval().")) == "Too few."
    assert told(EngineError("add (<gradwire A 1>:3) failed."), lambda file, line: f"{file[10:13]} {line}") == (
        "add at A 1 3 failed."
    )
    assert told(ValueError("as it is")) == "as it is"


def test_errors_say_all_of_it_to_people_who_program() -> None:
    error = StaleTensorError("It was changed.", in_code="Use clone().", place=("file.py", 3))
    assert str(error) == "It was changed. Use clone()."
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.text, again.in_code, again.place) == (str(error), error.text, "Use clone().", error.place)


def test_functions_of_layers_and_losses_mark_what_is_python() -> None:
    """Remedies in code are `in_code`, so that the studio can leave them out."""
    unmarked = []
    for path in sorted((ENGINE / "nn" / "functional").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                parts = [part for part in ast.walk(node.exc.args[0]) if isinstance(part, ast.Constant)]
                text = "".join(part.value for part in parts if isinstance(part.value, str))
                if CODE.search(text):
                    unmarked.append(f"{path.name}:{node.lineno}: {text}")
    assert unmarked == []
