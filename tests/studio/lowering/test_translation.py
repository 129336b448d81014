"""Texts of the engine on the canvas: no lines of generated code, no Python."""

from __future__ import annotations

import ast
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import engine
from engine import errors, nn
from engine.errors import DTypeError, EngineError, ShapeError, StaleTensorError
from engine.nn import functional
from studio.document.model import Document, Node
from studio.lowering.check import check
from studio.lowering.error_translation import translate_error
from studio.nodes.catalogue import catalogue
from studio.training import Failed, TrainingSession, Warned
from tests.studio.lowering.graphs import changed, digits, mlp, report

ENGINE = Path(errors.__file__).parent
CODE = re.compile(r"(\w*\.|\bcall )(long|float|to|squeeze|unsqueeze|eval|clone|detach|numpy|item)\(|\bsaved at\b")
PYTHON = re.compile(r"<gradwire|saved at|\w\(\)\.|\.\w+\(|\bcall eval|np\.\w+\(")


def in_place() -> Document:
    """Sigmoid needs its result for its gradient, which the ReLU overwrites."""
    linear = {"hidden": Node("nn.Linear", {"out_features": 8}), "logits": Node("nn.Linear", {"out_features": 10})}
    layers = {"flatten": "nn.Flatten", "hidden": linear["hidden"], "sigmoid": "nn.Sigmoid"}
    return digits({**layers, "relu": Node("nn.ReLU", {"inplace": True}), "logits": linear["logits"]})


def test_a_stale_tensor_is_reported_at_the_node_that_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[check.__module__], "inplace_problems", lambda _: ())  # it prevents such runs
    run = TrainingSession(in_place(), catalogue(), steps=1)
    run.start()
    assert run.join(600)
    [failed] = [event for event in run.events() if isinstance(event, Failed)]
    assert failed.node == "sigmoid"
    text, _, line = failed.message.partition(" Program line: ")
    assert text == (
        "the result of sigmoid() at sigmoid, 64×8 float32, is needed for its gradient but was changed in place "
        "afterwards. Turn inplace off at the node that follows it."
    )
    assert line == "self.sigmoid = nn.Sigmoid()"
    assert "saved" in failed.detail, "the log keeps the engine's own text"


def singular(operation: str, port: str) -> Document:
    """An operation of matrices of zeros."""
    layers: dict[str, str | Node] = {"hidden": Node("nn.Linear", {"out_features": 8})}
    more = {
        "zeros": "ops.sub",
        "op": operation,
        "flat": "nn.Flatten",
        "logits": Node("nn.Linear", {"out_features": 10}),
    }
    wires = ["hidden.output -> zeros.x", "hidden.output -> zeros.y", f"zeros.output -> op.{port}"]
    wires += ["op.output -> flat.input", "flat.output -> logits.input"]
    return digits(layers, last="logits", **more, wires=wires)


@pytest.mark.parametrize(
    ("operation", "port", "problem"),
    [
        ("ops.inverse", "input", "linalg.inv: the matrix at batch index (0, 0) is singular."),
        ("ops.logdet", "input", "linalg.inv: the matrix at batch index (0, 0) is singular."),
        ("linalg.cholesky", "A", "linalg.cholesky: the matrix at batch index (0, 0) is not positive definite."),
    ],
)
def test_a_singular_matrix_is_reported_at_its_node(operation: str, port: str, problem: str) -> None:
    """Also where only the backward pass needs the inverse, as in logdet."""
    run = TrainingSession(singular(operation, port), catalogue(), steps=1)
    run.start()
    assert run.join(600)
    [failed] = [event for event in run.events() if isinstance(event, Failed)]
    assert failed.node == "op"
    assert failed.message.startswith(f"{problem} Add a small multiple of the identity matrix to its input.")


@pytest.mark.parametrize(
    "document",
    [
        changed(mlp(), "flatten", type="nn.Embedding", params={"num_embeddings": 4, "embedding_dim": 2}),
        changed(mlp(), "cross_entropy", type="nn.L1Loss"),
        digits({"norm": "nn.BatchNorm1d", "flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})}),
    ],
)
def test_check_messages_contain_no_python(document: Document) -> None:
    problems = report(document).problems
    assert problems and not any(PYTHON.search(problem.message) for problem in problems)


def test_next_step_depends_on_the_error_type() -> None:
    assert translate_error(DTypeError("Whole numbers.", in_code="Use x.long().")).startswith(
        "Whole numbers. Convert it with Cast, or the data with"
    )
    assert translate_error(DTypeError("Whole numbers.")) == "Whole numbers."
    assert translate_error(ShapeError("Too few.", in_code="To evaluate, call eval().")) == "Too few."
    assert translate_error(
        EngineError("add (<gradwire A 1>:3) failed."), lambda file, line: f"{file[10:13]} {line}"
    ) == ("add at A 1 3 failed.")
    assert translate_error(ValueError("as it is")) == "as it is"


def test_engine_errors_include_the_remedy_in_code() -> None:
    error = StaleTensorError("It was changed.", in_code="Use clone().", location=("file.py", 3))
    assert str(error) == "It was changed. Use clone()."
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.text, again.in_code, again.location) == (
        str(error),
        error.text,
        "Use clone().",
        error.location,
    )


ENGINES = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, EngineError)}
REMEDY = re.compile(
    r"(?:^|\. |; )(?:Use|Call|Convert|Pass|Leave|Give|Do|Detach|Set|Write|Make|Move)\b[^.]*(?:\w\(|\.\w+\(|\w=)"
)
"""A sentence that says what to do, in Python."""


def test_engine_errors_mark_remedies_in_code() -> None:
    """Remedies in code are `in_code`, so that the studio can leave them out."""
    unmarked = []
    for path in sorted(ENGINE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            made = node.exc if isinstance(node, ast.Raise) else node
            if not isinstance(made, ast.Call) or not made.args:
                continue
            name = ast.unparse(made.func).rpartition(".")[2]
            text = _text(made.args[0])
            if (name in ENGINES or name == "warn") and (REMEDY.search(text) or CODE.search(text)):
                unmarked.append(f"{path.relative_to(ENGINE)}:{made.lineno}: {text}")
    assert unmarked == []


def _text(node: ast.expr) -> str:
    """Of a literal; what is put into it is left out."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def _overwritten(x: engine.Tensor) -> object:
    leaf = engine.ones(3, requires_grad=True)
    return leaf.add_(1)


def _without_gradient(x: engine.Tensor) -> object:
    return engine.ones(3).sum().backward()


def _twice(x: engine.Tensor) -> object:
    found = (engine.ones(3, requires_grad=True) ** 2).sum()
    found.backward()
    return found.backward()


def _warned(x: engine.Tensor) -> None:
    functional.dropout2d(engine.ones(2, 3, 4))
    functional.l1_loss(engine.ones(3, 1), engine.ones(3))
    engine.ones(3)[engine.ones(3, dtype=engine.uint8)]


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(
    ("planted", "said"),
    [
        (_overwritten, "add_() on a leaf that requires gradients."),
        (_without_gradient, "since no leaf it depends on does."),
        (_twice, "second time"),
        (lambda x: engine.ones(3, requires_grad=True).numpy(), "numpy() on a tensor that requires gradients."),
        (lambda x: engine.ones(3, 4).t().view(12), "cannot be viewed as"),
        (lambda x: bool(engine.ones(3)), "the truth value of a tensor with 3 elements is ambiguous."),
        (lambda x: functional.cross_entropy(engine.ones(2, 3), engine.ones(2, dtype=engine.int32)), "int32"),
        (lambda x: engine.ones(3)[engine.ones(1)], "an index tensor must have an integer dtype or bool"),
        (lambda x: engine.linalg.inv(engine.ones(2, 2, dtype=engine.int64)), "matrices must be floating point"),
        (_warned, ""),
    ],
)
def test_run_messages_contain_no_python(
    planted: Callable[..., object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes wrong in the midst of a layer reaches the canvas without remedies that only a program could follow."""
    report = check(mlp(), catalogue())
    forward = nn.ReLU.forward

    def sabotaged(self: nn.ReLU, x: engine.Tensor) -> object:
        planted(x)
        return forward(self, x)

    monkeypatch.setattr(nn.ReLU, "forward", sabotaged)
    run = TrainingSession(report.document, catalogue(), get_report=lambda: report, steps=1, compile=False)
    run.start()
    assert run.join(600)
    events = [event for event in run.events() if isinstance(event, (Failed, Warned))]
    shown = [event.message.partition(" Program line: ")[0] for event in events]
    assert any(said in text for text in shown), shown
    assert len(shown) == (3 if planted is _warned else 1)
    for text in shown:
        assert not PYTHON.search(text) and not REMEDY.search(text) and not CODE.search(text), text
