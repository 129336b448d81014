"""The guard between generated code and `exec`: it lets programs pass, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studio.document.model import Document, Node
from studio.lowering import LoweringError, lower
from studio.lowering.check import check
from studio.lowering.codegen.program_verification import allowed_functions, verify_source
from studio.lowering.codegen.safe_identifiers import UnsafeSyntaxError, identifier, path_of
from studio.lowering.program import Program
from studio.nodes import catalogue
from studio.nodes.formula_functions import FUNCTIONS
from tests.studio.lowering.graphs import changed, digits, mlp, report, wire

ROOT = Path(__file__).parents[3]
EXPLOIT = 'nn.ReLU if __import__("os").system("touch pwned") else nn.ReLU() #'


def program() -> Program:
    return lower(check(mlp(), catalogue()), name="net")


def with_unknown(key: str, *wires: str, document: Document | None = None) -> Document:
    base = mlp() if document is None else document
    nodes = {**base.nodes, "odd": Node(key)}
    return Document(nodes=nodes, wires=tuple(sorted([*base.wires, *map(wire, wires)])))


# -- nodes of unknown type --------------------------------------------------------------------


SCHEDULED = digits(
    {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})},
    steps=Node("lr_scheduler.StepLR", {"step_size": 2}),
    wires=["adam.optimizer -> steps.optimizer"],
)
POSITIONS: dict[str, tuple[Document, list[str]]] = {
    "behind the optimizer": (mlp(), ["adam.optimizer -> odd.optimizer"]),
    "behind the optimizer, at a port of any name": (mlp(), ["adam.optimizer -> odd.x"]),
    "behind a schedule": (SCHEDULED, ["steps.optimizer -> odd.optimizer"]),
    "behind the scores": (mlp(), ["logits.output -> odd.input", "batches.target -> odd.target"]),
    "behind the loss": (mlp(), ["cross_entropy.loss -> odd.loss"]),
    "behind the data": (mlp(), ["scale.samples -> odd.samples"]),
}


@pytest.mark.parametrize("key", [EXPLOIT, "lr_scheduler.FutureLR", "nn.ReLU()", "__import__", "a.b.c", "nn.relu"])
@pytest.mark.parametrize("position", POSITIONS)
def test_a_node_of_unknown_type_stops_a_run_that_feeds_it(position: str, key: str) -> None:
    base, wires = POSITIONS[position]
    document = with_unknown(key, *wires, document=base)
    [problem] = report(document).errors
    assert (problem.code, problem.node) == ("unknown-type", "odd")
    with pytest.raises(LoweringError, match=r"odd has the type .*, which this version of Gradwire does not have"):
        lower(check(document, catalogue()))


def test_muted_or_unconnected_unknown_type_does_not_stop_a_run() -> None:
    document = with_unknown(EXPLOIT, "adam.optimizer -> odd.optimizer")
    for unused in (changed(document, "odd", muted=True), with_unknown(EXPLOIT)):
        assert report(unused).errors == ()
        assert lower(check(unused, catalogue()), name="net").source == program().source


def test_writer_rejects_types_outside_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if no check found it."""
    monkeypatch.setattr("studio.lowering.checks.structure_checks._unknown_types", lambda graph: iter(()))
    document = changed(mlp(), "relu", type=EXPLOIT)
    assert report(document).errors == ()
    with pytest.raises(LoweringError, match="relu, whose type is not in the catalogue"):
        lower(check(document, catalogue()))


# -- identifiers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "a b", "a.b", "1a", "class", "None", "a\n", "__import__", "__class__", "_own", "ﬁt", "a#", "nn.ReLU()", "ａ"],
)
def test_invalid_identifiers_are_rejected(text: str) -> None:
    with pytest.raises(UnsafeSyntaxError):
        identifier(text)


@pytest.mark.parametrize("text", ["a", "größe", "слой", "__init__", "_", "relu_", "T_max", "match"])
def test_plain_identifiers_are_accepted(text: str) -> None:
    assert identifier(text) == text


def test_identifiers_enter_syntax_trees_in_one_file_only() -> None:
    """Except those of imported modules that are written out: they are read into graphs and never compiled."""
    kinds = {"Name", "Attribute", "arg", "keyword", "FunctionDef", "ClassDef", "alias", "Import", "ImportFrom"}
    found: set[str] = set()
    for path in (ROOT / "studio").rglob("*.py"):
        is_only_read = path.parent == ROOT / "studio/lowering/source_import/expansion"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="ast"), attr=kind)) if kind in kinds:
                    if not is_only_read:
                        found.add(path.name)
                case ast.Call(func=ast.Name(id="compile" | "exec" | "eval" as name)):
                    assert not path.is_relative_to(ROOT / "studio/lowering/source_import"), f"{path} calls {name}"
                case _:
                    pass
    assert found == {"syntax_trees.py"}


# -- programs ---------------------------------------------------------------------------------


def test_programs_call_only_catalogue_entries() -> None:
    assert ("nn", "Linear") in allowed_functions() and ("engine", "cat") in allowed_functions()
    of_nodes = {path_of(each) for each in catalogue() if each.target is not None}
    of_formulas = {("engine", name) for name in FUNCTIONS}
    assert len(allowed_functions()) == len(of_nodes | of_formulas) + 4


INSERTED = {
    "an import": ("from engine import data,", "import os\nfrom engine import data,"),
    "another module of the engine": ("from engine import data,", "from engine import io, data,"),
    "a module under another name": ("from engine import data,", "from engine import io as checkpoint, data,"),
    "a submodule": ("from engine import data,", "import engine.io\nfrom engine import data,"),
    "a relative import": ("from engine import data,", "from .engine import data,"),
    "a statement of the module": ("\n\nclass NetTraining", "\n\nnn.ReLU()\n\nclass NetTraining"),
    "a third class": ("\n\nclass NetTraining", "\n\nclass More:\n    pass\n\nclass NetTraining"),
    "another base": ("class Net(nn.Module)", "class Net(nn.Linear)"),
    "a second base": ("class Net(nn.Module)", "class Net(nn.Module, object)"),
    "a metaclass": ("class Net(nn.Module)", "class Net(nn.Module, metaclass=nn.ReLU)"),
    "a decorated class": ("class Net(", "@nn.ReLU\nclass Net("),
    "a decorated method": ("    def forward", "    @nn.ReLU\n    def forward"),
    "a default": ("forward(self, images)", "forward(self, images=nn.ReLU())"),
    "an annotation": ("forward(self, images)", "forward(self, images: nn.ReLU())"),
    "a returned type": ("forward(self, images)", "forward(self, images) -> nn.ReLU()"),
    "more arguments": ("forward(self, images)", "forward(self, *images)"),
    "a statement of a class": ("    def forward", "    nn.ReLU()\n\n    def forward"),
    "a setting that there is not": ("    def data(self)", "    batches = 5\n\n    def data(self)"),
    "a setting that is computed": ("    def data(self)", "    accumulate = print\n\n    def data(self)"),
    "a condition": ("self.relu = nn.ReLU()", "self.relu = nn.ReLU if nn.Linear() else nn.ReLU()"),
    "the exploit": ("self.relu = nn.ReLU()", f"self.relu = {EXPLOIT}()"),
    "a builtin": ("self.relu = nn.ReLU()", "self.relu = eval('1')"),
    "a builtin as a value": ("self.relu = nn.ReLU()", "self.relu = nn.ReLU(inplace=print)"),
    "a function of the engine": ("self.relu = nn.ReLU()", "self.relu = nn.init()"),
    "an attribute of a function": ("self.relu = nn.ReLU()", "self.relu = nn.ReLU.forward()"),
    "globals": ("self.relu = nn.ReLU()", "self.relu = nn.Module.__init__.__globals__"),
    "a class's classes": ("self.relu = nn.ReLU()", "self.relu = ().__class__.__base__.__subclasses__()"),
    "a subscript": ("self.relu = nn.ReLU()", "self.relu = nn.ReLU()[0]"),
    "a lambda": ("self.relu = nn.ReLU()", "self.relu = lambda x: x"),
    "a comprehension": ("self.relu = nn.ReLU()", "self.relu = [x for x in self.flatten]"),
    "an f-string": ("self.relu = nn.ReLU()", "self.relu = f'{self.flatten}'"),
    "an assignment inside": ("self.relu = nn.ReLU()", "self.relu = (x := nn.ReLU())"),
    "bytes": ("self.relu = nn.ReLU()", "self.relu = b'x'"),
    "an ellipsis": ("self.relu = nn.ReLU()", "self.relu = ..."),
    "a comparison": ("self.relu = nn.ReLU()", "self.relu = 1 < 2"),
    "a power": ("self.relu = nn.ReLU()", "self.relu = 9 ** 9"),
    "keywords of a mapping": ("self.relu = nn.ReLU()", "self.relu = nn.ReLU(**{'a': 1})"),
    "an unpacked mapping": ("self.relu = nn.ReLU()", "self.relu = {**self.flatten}"),
    "a call of a result": ("self.relu = nn.ReLU()", "self.relu = nn.ReLU()()"),
    "an attribute of another class": ("self.relu = nn.ReLU()", "self.relu = self.apply"),
    "a method of another class": ("self.relu = nn.ReLU()", "self.apply(nn.ReLU())"),
    "a method of a layer": ("self.relu = nn.ReLU()", "self.flatten.register_forward_hook(self.flatten)"),
    "another method of super": ("super().__init__()", "super().__setattr__('a', 1)"),
    "super of another": ("super().__init__()", "super(nn.Module).__init__()"),
    "assigning to a module": ("self.relu = nn.ReLU()", "nn.ReLU = nn.Linear"),
    "hiding a module": ("self.relu = nn.ReLU()", "nn = self.flatten"),
    "hiding the class": ("        self.model = Net()", "        Net = optim.Adam\n        self.model = Net()"),
    "two targets": ("self.relu = nn.ReLU()", "self.relu = x = nn.ReLU()"),
    "a loop": ("        return logits", "        for x in images:\n            return logits"),
    "a return of nothing": ("        return logits", "        return"),
    "a name that is not defined": ("        return logits", "        return license"),
    "a deletion": ("        return logits", "        del images\n        return logits"),
    "a global": ("        return logits", "        global x\n        return logits"),
    "a generator": ("        return logits", "        yield logits"),
    "an inner function": ("        return logits", "        def f(self):\n            return 1\n        return logits"),
    "no Python": ("        return logits", "        return ("),
    "a null character": ("        return logits", "        return logits\0"),
}


@pytest.mark.parametrize("case", INSERTED)
def test_unsafe_programs_are_never_compiled(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = INSERTED[case]
    before = program()
    text = before.source.replace(old, new, 1)
    assert text != before.source
    verify_source(before.source)
    ran: list[Any] = []
    monkeypatch.setattr("builtins.exec", lambda *given: ran.append(given))
    with pytest.raises(LoweringError) as caught:
        replace(before, source=text).build()
    [problem] = caught.value.problems
    assert problem.code == "unsafe-code" and "It was not run." in problem.message
    assert ran == []


def test_rejected_line_names_its_node() -> None:
    before = program()
    with pytest.raises(LoweringError, match=r"^The code of relu contains a call of 'print',") as caught:
        replace(before, source=before.source.replace("nn.ReLU()", "print(1)")).build()
    assert caught.value.problems[0].node == "relu"


def test_compiled_tree_is_the_verified_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ast.Module] = []

    def noted(text: str, code: list[str], verify: Callable[..., ast.Module] = verify_source) -> ast.Module:
        made.append(verify(text, code))
        return made[-1]

    compiled: list[Any] = []

    def seen(source: Any, *given: Any, compile: Any = compile, **named: Any) -> Any:
        compiled.append(source)
        return compile(source, *given, **named)

    monkeypatch.setattr("studio.lowering.program.verify_source", noted)
    monkeypatch.setattr("studio.lowering.program.compile", seen, raising=False)
    program().build()
    assert compiled == made != []


def test_node_may_have_the_name_of_the_class() -> None:
    """A row of schedules has local names, beside the model's class."""
    document = digits(
        {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})},
        Network=Node("lr_scheduler.StepLR", {"step_size": 2, "lasts": 2}),
        late=Node("lr_scheduler.StepLR", {"step_size": 2}),
        wires=["adam.optimizer -> Network.optimizer", "Network.optimizer -> late.optimizer"],
    )
    lower(check(document, catalogue())).build().configure()
