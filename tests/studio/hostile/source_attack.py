"""Reads hostile Python sources as edited code and as files to import, under an audit hook. Prints what was executed.

python -m tests.studio.hostile.source_attack FOLDER
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import Any

from studio.lowering import check, lower
from studio.lowering.source_import.edits.checked_edits import apply_checked
from studio.lowering.source_import.module_import import import_module
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.nodes import catalogue
from tests.studio.lowering.graphs import mlp

WRITE = "open('pwned', 'w')"
SHELL = "__import__('os').system('touch pwned')"

DEEP = "(" * 5000 + "1" + ")" * 5000
VALUES = [
    *(WRITE, SHELL, f"eval({WRITE!r})", f"exec({SHELL!r})", f"(lambda: {WRITE})()", f"[{WRITE} for _ in range(3)]"),
    *(f"(x := {WRITE})", f"f'{{{WRITE}}}'", f"{WRITE} if True else 1", "getattr(nn, 'Linear')(1, 2)", "nn.__loader__"),
    *("9 ** 9 ** 9 ** 9", "1e999", "'a' * 10 ** 9", "[0] * 10 ** 9", "10 ** 4000", "1 << 10 ** 9", "-" * 3000 + "1"),
    *("(" * 150 + "1" + ")" * 150, DEEP, "1" + " + 1" * 20_000, "9" * 5000, "...", "b'\\x00'", "a" * 100_000),
    *("nn.Linear(1, 2).__class__", "self.__dict__", "super().__init__.__globals__", "engine.load('x.pt')"),
    *("await x", "yield", "*x", "**x", "x[1:2, ::3]", "'\\ud800'", "ｏｐｅｎ('pwned', 'w')", "__builtins__['open']"),
]
"""Expressions in place of a value or a tensor."""


def net(inside: str = "", *, name: str = "Net", base: str = "nn.Module", before: str = "") -> str:
    """A class with some statements before its `forward`."""
    body = "".join(f"    {line}\n" for line in inside.splitlines())
    return f"{before}class {name}({base}):\n{body}    def forward(self, x):\n        return x\n"


def forward(value: str) -> str:
    return f"class Net(nn.Module):\n    def forward(self, x):\n        return {value}\n"


def using(name: str, *others: str) -> str:
    """A class that calls instances of others."""
    made = "".join(f"        self.a{index} = {other}()\n" for index, other in enumerate(others))
    calls = "".join(f"        x = self.a{index}(x)\n" for index in range(len(others)))
    return (
        f"class {name}(nn.Module):\n    def __init__(self):\n{made}    def forward(self, x):\n{calls}        return x\n"
    )


FILES = [
    net(before=f"{WRITE}\n"),
    net(before=f"@{WRITE}\n"),
    net(before="import os\nos.system('touch pwned')\n"),
    net(before="from torch.os import system\nsystem('touch pwned')\n"),
    net(base=WRITE),
    net(base=f"nn.Module, metaclass={WRITE}"),
    net(f"x = {WRITE}"),
    net(f"def __init__(self, x={WRITE}):\n    pass"),
    net(f"def __init__(self, x: {WRITE} = 1) -> {SHELL}:\n    pass"),
    net(f"def __init_subclass__(cls):\n    {WRITE}"),
    net(f"@{WRITE}\ndef __init__(self):\n    pass"),
    net("def forward(self, x):\n    return x\n" * 3000),
    forward("self.forward(x)"),
    forward("F.relu(" * 2000 + "x" + ")" * 2000),
    forward("x" + ".relu()" * 3000),
    using("A", "B") + using("B", "A"),
    net(name="C0") + "".join(using(f"C{index}", *[f"C{index - 1}"] * 2) for index in range(1, 60)),
    *("\0", "\ufeff", "", "class", "\x0c" * 1000, "\\\n" * 5000, "if 1:\n" * 200),
    *("#" * 2_000_000, "x = 1\n" * 100_000),
]


def constructor(text: str) -> str:
    """A class with statements in its constructor."""
    body = "".join(f"        {line}\n" for line in text.splitlines())
    return (
        f"class Net(nn.Module):\n    def __init__(self, width=8):\n{body}    def forward(self, x):\n        return x\n"
    )


LOOP = "for i{0} in range(1000):\n"
CONSTRUCTORS = [
    f"for each in {WRITE}:\n    pass",
    f"if {SHELL}:\n    pass",
    "for i in range(10 ** 12):\n    pass",
    "".join(" " * depth + LOOP.format(depth) for depth in range(6)) + " " * 6 + "a = [0] * 1000",
    "a = [0] * 999\n" + "a = [a] * 999\n" * 20 + "self.a = nn.Linear(a, a)",
    "a = []\nb = [a] * 30\nc = [b] * 30\nfor i in range(999):\n    a.append(i)\n    self.a = nn.Linear(c, c)",
    "a = []\na.append(a)\nself.a = nn.Linear(a, a)",
    "a = {}\na = {'a': a, 'b': a}\n" * 50 + "self.a = nn.Linear(a, a)",
    "a = 9\n" + "a = a * a\n" * 100,
    "a = 'a'\n" + "a = a + a\n" * 100,
    "self.f()",
    "zip(*[[0] * 900] * 900)\nmax(10 ** 400)\nint('9' * 10 ** 6)",
]
"""Statements that only the expansion of a file reads."""
FILES += [
    *map(constructor, CONSTRUCTORS),
    f"def f(n):\n    return f(n)\nN = f({WRITE})\n" + constructor("self.a = f(1)"),
    f"N = {SHELL}\n" + constructor("self.a = nn.Linear(N, N)"),
    "import os\n" + constructor("self.a = os.system('touch pwned')"),
]


def main(folder: str) -> None:
    os.chdir(folder)
    document = mlp()
    report = check(document, catalogue())
    program = lower(report, "net")
    executed: list[str] = []
    found: Counter[str] = Counter()
    import_module("class Net(nn.Module):\n    def forward(self, x):\n        return F.relu(x)\n", catalogue())

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.system", "subprocess.Popen", "os.exec", "pickle.find_class", "socket.connect"):
            executed.append(f"{event} {arguments}")
        if event == "exec" and getattr(arguments[0], "co_filename", "") in ("<unknown>", "<string>"):
            executed.append(f"exec {arguments[0].co_names}")
        if event == "open" and str(arguments[0]).endswith("pwned"):
            executed.append("open pwned")

    sys.addaudithook(hook)

    def attempt(work: Any) -> None:
        try:
            work()
            found["accepted"] += 1
        except SourceError:
            found["refused"] += 1
        except Exception as error:  # noqa: BLE001 - reported by the test
            found[f"{type(error).__name__}: {str(error)[:100]}"] += 1

    source = program.source
    for value in VALUES:
        edited = [
            source.replace("out_features=32", f"out_features={value}"),
            source.replace("self.relu(hidden)", f"self.relu({value})"),
            source.replace("return logits", f"return {value}"),
            source.replace("nn.ReLU()", value),
            source.replace("std=16.0", f"std={value}"),
        ]
        for text in edited:
            attempt(lambda text=text: apply_checked(document, report, program, text, catalogue()))
            attempt(lambda text=text: import_module(text, catalogue(), "Net"))
    for value in VALUES:
        attempt(lambda value=value: import_module(constructor("self.a = nn.ReLU()"), catalogue(), f"Net({value})"))
        attempt(lambda value=value: import_module(constructor("self.a = nn.ReLU()"), catalogue(), value))
    for text in FILES:
        attempt(lambda text=text: import_module(text, catalogue()))
        attempt(lambda text=text: import_module(text, catalogue(), python_nodes=True))
        attempt(lambda text=text: import_module(text, catalogue(), "Net(8)"))
        attempt(lambda text=text: apply_checked(document, report, program, text, catalogue()))
        attempt(lambda text=text: apply_checked(document, report, program, f"{text}\n{source}", catalogue()))
    outcome = {"executed": executed, "pwned": os.path.exists("pwned"), "found": found}
    sys.stdout.write(json.dumps(outcome) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
