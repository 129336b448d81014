"""Python nodes: shapes, generated code, numbers, gradients and errors of code that the user trusts."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import engine
from engine import fit
from engine.compiler import explain
from studio.document.model import Block, Document, Node, ParamRef
from studio.lowering import LoweringError, lower
from studio.lowering.check import Checker
from studio.lowering.program import Program
from studio.nodes import catalogue
from studio.nodes.python_node import PYTHON
from studio.training.compilation import compiled_step
from studio.training.failures import failure_event
from tests.studio.code import GATE, SCALE, code, trusting, with_code
from tests.studio.lowering.graphs import changed, report, wire

LINEAR = """\
class Own(nn.Module):
    def __init__(self, in_features: int, out_features: int = 32, bias: bool = True):
        super().__init__()
        self.in_features = in_features
        self.weight = nn.Parameter(engine.empty(out_features, in_features))
        self.bias = nn.Parameter(engine.empty(out_features)) if bias else None
        self.reset_parameters()

    reset_parameters = nn.Linear.reset_parameters

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)
"""
BRANCH = """\
def branch(x):
    if x.sum().item() > 0:
        return 2 * x
    return -x
"""


@pytest.fixture(autouse=True)
def _trusted() -> Iterator[None]:
    with trusting(GATE, SCALE, LINEAR, BRANCH):
        yield


def trained(document: Document, steps: int = 20, *, compile: bool = False) -> tuple[list[float], dict[str, Any]]:
    """Losses of some steps, and the parameters after them."""
    task = lower(report(document), "net").build(seed=3)
    events = list(fit.fit(task, epochs=None, steps=steps, compile=compile))
    losses = [event.loss for event in events if isinstance(event, fit.Step)]
    return losses, {name: value.detach().numpy().copy() for name, value in task.model.state_dict().items()}


def program(source: str, **params: Any) -> Program:
    found = report(with_code({"own": code(source, **params)}))
    assert found.problems == ()
    return lower(found, "net")


# -- shapes -----------------------------------------------------------------------------------


def failure(source: str, **params: Any) -> str:
    """The message of the problem at a Python node."""
    with trusting(source):
        found = report(with_code({"own": code(source, **params)}))
    [message] = [each.message for each in found.problems if each.code == "code-failed"]
    return message


def test_shapes_parameters_and_multiply_adds_are_those_of_the_code() -> None:
    found = report(with_code({"own": code(GATE, width=24)}))
    info = found.nodes["own"]
    assert str(info.outputs["output"]) == "N×24 float32"
    assert info.parameters == 2 * (64 * 24 + 24)
    assert info.macs == 2 * 64 * 24
    assert info.arguments["in_features"] == 64
    assert found.nodes["scores"].parameters == 24 * 10 + 10


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("return x if x.sum().item() > 0 else -x", "N×64"),
        ("return engine.stack([row * 2 for row in x])", "N×64"),
        ("return x + engine.zeros(x.shape[0], 64)", "N×64"),
        ("return engine.tensor(x.detach().numpy() * 2)", "N×64"),
        ("return engine.cat([x, x])[: int(x.shape[0])]", "N×64"),
        ("return x[:, x.sum(0).argsort()]", "N×64"),
        ("return x.reshape(x.shape[0] * 2, 32)", "2·N×32"),
        ("return engine.zeros(len(x) * 2, 3)", "2·N×3"),
    ],
)
def test_code_that_needs_values_has_known_shapes(body: str, shape: str) -> None:
    source = f"def own(x):\n    {body}\n"
    with trusting(source):
        info = report(with_code({"own": code(source)})).nodes["own"]
    assert str(info.outputs["output"]).startswith(f"{shape} float")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(x):\n    return x.view(-1, 7)", "own: line 2: reshape: N×64 (64·N elements) does not divide into"),
        ("def f(x):\n    y = x\n    return int('a')", "own: line 3: ValueError: invalid literal for int()"),
        ("def f(x):\n    return g(x)", "own: line 2: NameError: name 'g' is not defined"),
        ("1 / 0\ndef f(x):\n    return x", "own: line 1: ZeroDivisionError: division by zero"),
        ("import nothing_like_it\ndef f(x):\n    return x", "own: line 1: ModuleNotFoundError: No module named"),
        ("def f(x):\n    return f(x)", "own: line 1: RecursionError"),
        ("def f(x):\n    raise SystemExit(3)\n    return x", "own: line 2: SystemExit: 3"),
        ("def f(x):\n    x += 1\n    return x", "own: f changes its input x in place, which other nodes may read."),
        ("def f(x) -> Tensor:\n    return x, x", "own: f returns a tuple of 2, but the node has one tensor."),
        (
            "def f(x) -> tuple[Tensor, Tensor]:\n    return x",
            "own: f returns one tensor, but the node has a tuple",
        ),
        ("def f(x):\n    return 3", "own: f returns a value of type int, not a tensor."),
        ("def f(x):\n    return x.tolist()[0]", "own: f returns a tuple of 64, but the node has one tensor."),
        ("def f(x):\n    y = None\n    return y", "own: f returns None, not a tensor."),
        ("def f(x):\n    return x[x > 0]", "own: the shape of its output output depends on values:"),
        ("class A:\n    def forward(self, x): return x", "own: A is not a module. Write class A(nn.Module)"),
        ("class A(nn.Module):\n    def __init__(self): pass\n    def forward(self, x): return x", "own: line"),
    ],
)
def test_code_that_fails_is_a_problem_with_its_line(source: str, message: str) -> None:
    if "class A:" in source or "__init__" in source:
        source = source.replace("class A:", "class Module: pass\nclass A(Module):")
    found = failure(source)
    if "__init__" not in source:
        assert found.startswith(message), found


ENDLESS = """while True:
        try:
            x = x
        except Exception:
            pass"""


def test_endless_code_ends_with_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.lowering.user_code.code_evaluation.SECONDS", 0.2)
    for body in ("while True: pass", ENDLESS):
        assert "checking it takes longer than 0.2 seconds" in failure(f"def f(x):\n    {body}\n    return x")


def test_checks_do_not_print_and_do_not_draw_random_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    source = "print('top')\ndef f(x):\n    print('inside', x.sum().item())\n    return x + engine.randn_like(x)\n"
    state = engine.random.get_rng_state()
    with trusting(source):
        assert [each.code for each in report(with_code({"own": code(source)})).problems] == ["code-read-back"]
    assert engine.random.get_rng_state() == state
    assert capsys.readouterr() == ("", "")


def test_prints_during_training_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    source = "def f(x):\n    print('inside')\n    return x\n"
    with trusting(source):
        trained(with_code({"own": code(source)}), steps=1)
    out, error = capsys.readouterr()
    assert "inside" not in out
    assert "inside" in error


# -- generated code ---------------------------------------------------------------------------


def test_generated_code_has_the_source_with_its_comments() -> None:
    made = program(GATE)
    assert GATE.strip() in made.source
    assert "# Python node own\n" in made.source
    assert "self.own = Gate(in_features=64)" in made.source
    section = made.code[0]
    lines = made.source.split("\n")
    assert lines[section.first_line - 1] == "class Gate(nn.Module):"
    assert lines[section.last_line - 1].endswith("# the gate is between 0 and 1")
    assert {made.lines[line] for line in range(section.first_line, section.last_line + 1)} == {"own"}


def test_a_function_is_called_with_its_parameters() -> None:
    assert "own = scale(flatten, factor=3.0)" in program(SCALE, factor=3).source
    assert "own = scale(flatten)" in program(SCALE).source


def test_inputs_after_other_arguments_are_keywords() -> None:
    source = "def mixed(factor: float, x, y: Tensor | None = None):\n    return factor * x\n"
    with trusting(source):
        made = lower(report(with_code({"own": code(source, factor=2)})), "net")
        assert "mixed(x=flatten, factor=2.0)" in made.source
        made.build().setup()


def test_the_same_source_is_written_once() -> None:
    made = lower(report(with_code({"a": code(GATE), "b": code(GATE, width=8)})), "net")
    assert made.source.count("class Gate") == 1
    assert "# Python node a, b\n" in made.source
    assert len(made.code) == 1


HELPER = """\
import math
from functools import partial
LIMIT = {limit}


def helper(x, LIMIT=None):
    return x * {limit}


class Gate(nn.Module):
    scale = LIMIT

    def __init__(self):
        super().__init__()
        self.factor = [LIMIT for helper in range(1)][0] + (lambda LIMIT: LIMIT)(0)

    def forward(self, x, helper_of=None):
        global LIMIT
        assert Gate.scale == LIMIT == math.floor(LIMIT)
        return partial(helper)(x) * self.factor
"""


def test_two_sources_with_the_same_names_stay_apart() -> None:
    first, second = HELPER.format(limit=2), HELPER.format(limit=3)
    with trusting(first, second):
        made = lower(report(with_code({"a": code(first), "b": code(second)})), "gate")
        assert "class Gate_(nn.Module):" in made.source
        assert made.model_class == "Gate__"
        task = made.build()
        task.setup()
        x = engine.randn(2, 64)
        assert np.array_equal(task.model.a(x).numpy(), x.numpy() * 2 * 2)
        assert np.array_equal(task.model.b(x).numpy(), x.numpy() * 3 * 3)
        exec(compile(made.source, "program", "exec"), {"__name__": "program"})


def test_names_of_the_program_are_not_replaced_by_code() -> None:
    source = "import math as data\nfit = nn_ = 2\ndef Net(x):\n    return x * fit * data.floor(1.5)\n"
    with trusting(source):
        losses, _ = trained(with_code({"own": code(source)}), steps=2)
    assert len(losses) == 2


@pytest.mark.parametrize("ends", ["\r\n", "\n\n\n", "\r"])
def test_line_ends_of_a_source_do_not_shift_lines(ends: str) -> None:
    source = f"def f(x):{ends}    return x.missing{ends}".replace("\n\n\n", "\n")
    with trusting(source):
        assert failure(source).startswith("own: line 2: AttributeError")


# -- numbers ----------------------------------------------------------------------------------


def test_code_trains_to_the_bits_of_the_layer_that_it_copies() -> None:
    own = with_code({"own": code(LINEAR)})
    library = with_code({"own": Node("nn.Linear", {"out_features": 32})})
    for compile in (False, True):
        losses, weights = trained(own, compile=compile)
        expected, expected_weights = trained(library, compile=compile)
        assert losses == expected
        assert len(losses) == 20
        assert weights.keys() == expected_weights.keys()
        assert all(np.array_equal(weights[name], expected_weights[name]) for name in weights)


def test_outputs_and_gradients_are_those_of_the_layer() -> None:
    nodes = (code(LINEAR), Node("nn.Linear", {"out_features": 32}))
    made = [lower(report(with_code({"own": node})), "net") for node in nodes]
    found: list[list[Any]] = []
    for each in made:
        task = each.build(seed=1)
        batch = next(iter(task.setup().train))
        [loss] = task.losses(batch).values()
        loss.backward()
        found.append([loss.item(), *(each.grad.numpy() for each in task.model.parameters() if each.grad is not None)])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    assert all(np.abs(gradient).max() > 0 for gradient in found[0][1:])


def in_block(node: Node, params: dict[str, tuple[ParamRef, ...]] | None = None) -> Block:
    return Block(
        nodes={"input": Node("port.Input"), "own": node, "output": Node("port.Output")},
        wires=(wire("input.output -> own.x"), wire("own.output -> output.input")),
        params=params or {},
    )


def blocks_of(node: Node, instance: Node, params: dict[str, tuple[ParamRef, ...]] | None = None) -> Document:
    document = with_code({"stack": instance})
    return replace(document, blocks={"Stack": in_block(node, params)})


def test_code_inside_repeated_blocks_trains() -> None:
    document = blocks_of(
        code(GATE), Node("block.Stack", {"repeat": 3, "width": 24}), {"width": (ParamRef("own", "width"),)}
    )
    found = report(document)
    assert found.problems == ()
    assert str(found.nodes["stack.2.own"].outputs["output"]) == "N×24 float32"
    losses, weights = trained(document)
    assert losses[-1] < losses[0]
    assert weights["stack.0.own.value.weight"].shape == (24, 64)
    assert weights["stack.1.own.value.weight"].shape == (24, 24)


def test_weights_can_be_frozen_chosen_and_shared() -> None:
    plain = with_code({"own": code(GATE)})
    for document in (changed(plain, "own", frozen=True), changed(plain, "adam", trains=("scores",))):
        _, before = trained(document, steps=0)
        _, after = trained(document, steps=3)
        assert np.array_equal(before["own.gate.weight"], after["own.gate.weight"])
        assert not np.array_equal(before["scores.weight"], after["scores.weight"])
    shared = with_code({"own": code(GATE, width=64), "again": Node(PYTHON, shares="own")})
    found = report(shared)
    assert found.errors == ()
    assert found.nodes["again"].parameters == 0
    assert "again = self.own(own)" in lower(found, "net").source


def test_recomputed_code_gives_the_same_numbers() -> None:
    plain = with_code({"own": code(GATE)})
    assert trained(plain, steps=4)[0] == trained(changed(plain, "own", recomputed=True), steps=4)[0]


def test_modes_reach_the_module() -> None:
    source = (
        "class Mode(nn.Module):\n    seen = []\n    def forward(self, x):\n"
        "        self.seen.append(self.training)\n        return x\n"
    )
    with trusting(source):
        task = lower(report(with_code({"own": code(source)})), "net").build()
        list(fit.fit(task, epochs=1, steps=2))
        assert set(type(task.model.own).seen) == {True, False}


# -- compiling --------------------------------------------------------------------------------


def test_a_condition_on_values_is_a_graph_break_at_its_line() -> None:
    made = program(BRANCH)
    task = made.build()
    batch = next(iter(task.setup().train))
    for module in task.modules.values():
        module.train()
    found = explain(compiled_step(task), repeat=1)(task, batch)
    lines = [each.line for each in found.breaks if each.line is not None]
    assert [line.code.strip() for line in lines if made.node_at(line.file, line.number) == "own"] == [
        "if x.sum().item() > 0:"
    ]
    eager, _ = trained(with_code({"own": code(BRANCH)}))
    compiled, _ = trained(with_code({"own": code(BRANCH)}), compile=True)
    assert compiled == trained(with_code({"own": code(BRANCH)}), compile=True)[0]
    assert compiled == pytest.approx(eager, rel=1e-5)


# -- errors while training --------------------------------------------------------------------


COUNTED = """\
calls = []
def count():
    calls.append(1)
    return len(calls)

"""


def test_an_error_while_training_names_node_line_and_code() -> None:
    source = f"{COUNTED}def f(x):\n    if count() > 2:\n        raise KeyError('third')\n    return x\n"
    with trusting(source):
        made = lower(report(with_code({"own": code(source)})), "net")
        with pytest.raises(KeyError) as caught:
            list(fit.fit(made.build(), epochs=1, steps=9))
    event = failure_event(caught.value, made)
    assert event.node == "own"
    assert event.message == "own, line 8: KeyError: 'third'. Code: raise KeyError('third')"
    assert "    raise KeyError('third')" in "".join(traceback.format_exception(caught.value))


def test_an_error_in_a_block_names_the_node_in_its_instance() -> None:
    source = (
        f"{COUNTED}class A(nn.Module):\n    def forward(self, x):\n        return x if count() < 6 else x.missing\n"
    )
    document = blocks_of(code(source), Node("block.Stack", {"repeat": 3}))
    with trusting(source):
        made = lower(report(document), "net")
        with pytest.raises(AttributeError) as caught:
            list(fit.fit(made.build(), epochs=1, steps=9))
    event = failure_event(caught.value, made)
    assert event.node == "stack.2.own"
    assert event.message.startswith("stack.2.own, line 8: AttributeError")


# -- trust ------------------------------------------------------------------------------------


def test_shapes_follow_trust() -> None:
    source = SCALE.replace("2.0", "4.0")
    document, checker = with_code({"own": code(source)}), Checker()
    for _ in range(2):
        untrusted = checker.check(document, catalogue())
        assert [(each.severity, each.code, each.node) for each in untrusted.problems] == [
            ("warning", "untrusted-code", "own")
        ]
        assert untrusted.nodes["scores"].outputs == {}
        with trusting(source):
            trusted = checker.check(document, catalogue())
            assert trusted.problems == ()
            assert str(trusted.nodes["scores"].outputs["output"]) == "N×10 float32"
            made = lower(trusted, "net")
        with pytest.raises(LoweringError, match="own contains Python code that is not trusted"):
            made.build()
        with pytest.raises(LoweringError, match="own contains Python code that is not trusted"):
            lower(trusted, "net")
