"""The reference of the engine: mkdocstrings renders its modules, tables list its functions and the tensor."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import engine
from studio.reference.markdown import code, fence, joined, table

FOLDER = "reference/engine"

MODULES = {
    "engine.nn": ("Modules, layers and losses.", "from engine import nn\n\nprint(nn.Linear(4, 2))"),
    "engine.nn.functional": (
        "Layers and losses as functions.",
        "import engine\nimport engine.nn.functional as F\n\nprint(F.relu(engine.tensor([-1.0, 2.0])))",
    ),
    "engine.nn.init": (
        "Initialization of parameters.",
        "from engine import nn\n\nlayer = nn.Linear(4, 2)\nnn.init.zeros_(layer.bias)",
    ),
    "engine.optim": (
        "Optimizers.",
        "from engine import nn, optim\n\noptimizer = optim.Adam(nn.Linear(4, 2).parameters(), lr=0.01)",
    ),
    "engine.optim.lr_scheduler": (
        "Learning-rate schedules.",
        (
            "from engine import nn, optim\n\noptimizer = optim.SGD(nn.Linear(4, 2).parameters(), lr=0.1)\n"
            "schedule = optim.lr_scheduler.StepLR(optimizer, step_size=10)"
        ),
    ),
    "engine.data": ("Data sets, splits and loaders.", "from engine import data\n\nprint(data.Digits().input)"),
    "engine.data.transforms": (
        "Transforms and augmentations of samples.",
        (
            "from engine import data\nfrom engine.data import transforms\n\n"
            "splits = data.Digits().map(transforms.Normalize(std=16.0))"
        ),
    ),
    "engine.metrics": (
        "Metrics.",
        (
            "import engine\nfrom engine import metrics\n\nmetric = metrics.Accuracy()\n"
            "metric.update(engine.tensor([[0.1, 0.9]]), engine.tensor([1]))\nprint(metric.compute())"
        ),
    ),
    "engine.fit": (
        "The training loop, an iterator of events.",
        "from engine import fit\n\nprint(fit.EarlyStopping(patience=3))",
    ),
    "engine.compiler": (
        "Compiling functions and explaining what was compiled.",
        "import engine\n\n@engine.compile\ndef double(x):\n    return x * 2\n\nprint(double(engine.ones(2)))",
    ),
    "engine.autograd": (
        "Derivatives.",
        "import engine\n\nx = engine.tensor(3.0, requires_grad=True)\nprint(engine.autograd.grad(x * x, x))",
    ),
    "engine.func": (
        "Derivatives and batches of functions.",
        "import engine\nfrom engine import func\n\nprint(func.grad(lambda x: x * x)(engine.tensor(3.0)))",
    ),
    "engine.linalg": ("Linear algebra.", "import engine\n\nprint(engine.linalg.det(engine.eye(2)))"),
    "engine.distributions": (
        "Probability distributions.",
        "from engine import distributions\n\nprint(distributions.Normal(0.0, 1.0).sample())",
    ),
    "engine.inspect": (
        "Autograd graphs as plain data.",
        "import engine\n\nx = engine.ones(2, requires_grad=True)\nprint(engine.inspect.autograd_graph(x.sum()))",
    ),
}
"""Summary and example by module."""


def pages() -> Iterator[tuple[str, str]]:
    yield f"{FOLDER}/index.md", _index()
    yield path("engine"), _tensors()
    for name, (summary, program) in MODULES.items():
        yield path(name), _module(name, summary, program)


def path(module: str) -> str:
    return f"{FOLDER}/{module.removeprefix('engine.').replace('.', '-') if module != 'engine' else 'tensors'}.md"


def public(module: ModuleType) -> list[str]:
    """Names of the classes and functions that a module exports."""
    exported = getattr(module, "__all__", None)
    names = [name for name in vars(module) if not name.startswith("_")] if exported is None else exported
    home = "engine" if exported is not None else module.__name__
    return sorted(name for name in names if _is_documented(getattr(module, name, None), home))


def _is_documented(value: Any, home: str) -> bool:
    is_code = inspect.isclass(value) or inspect.isfunction(value)
    return is_code and (getattr(value, "__module__", None) or "").startswith(home)


def _index() -> str:
    rows = [("[Tensors and functions](tensors.md)", "Tensors, and the functions that compute with them.")]
    rows += [(f"[`{name}`]({path(name).rpartition('/')[2]})", summary) for name, (summary, _) in MODULES.items()]
    return joined(
        [
            "# Engine API",
            (
                "Look up classes and functions of `engine`, the deep-learning library below the studio. Names, "
                "arguments and defaults are PyTorch's."
            ),
            fence("python", "import engine\n\nx = engine.rand(2, 3)\nprint(x.mean(dim=1))"),
            table(("Module", "Contents"), rows),
        ]
    )


def _tensors() -> str:
    names = [name for name in engine.__all__ if callable(getattr(engine, name)) and not _is_in_place(name)]
    classes = [name for name in names if inspect.isclass(getattr(engine, name))]
    free = sorted(set(names) - set(classes))
    members = {name: member for name, member in inspect.getmembers(engine.Tensor) if not name.startswith("_")}
    methods = [name for name in members if name not in free and not name.endswith("_")]
    return joined(
        [
            "# Tensors and functions",
            (
                f"Look up the {len(free)} functions of `engine` and the methods of `Tensor`. Most functions that take "
                "a tensor are methods too. An underscore at the end of a name writes the result to the tensor."
            ),
            fence("python", "import engine\n\nx = engine.tensor([-1.0, 2.0])\nprint(engine.relu(x), x.relu())"),
            "## Functions",
            _members_table(engine, "engine", free),
            "## Methods and properties that are not functions",
            _members_table(engine.Tensor, "engine.Tensor", methods),
            "## Classes",
            _members_table(engine, "engine", sorted(classes)),
        ]
    )


def _is_in_place(name: str) -> bool:
    return name.endswith("_")


def _members_table(owner: Any, prefix: str, names: Iterable[str]) -> str:
    rows = []
    for name in names:
        value = getattr(owner, name)
        arguments = code(_signature(value)) if inspect.isroutine(value) else ""
        text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
        rows.append((f"`{name}`{{ #{prefix}.{name} }}", arguments, text.replace("``", "`")))
    return table(("Name", "Arguments", "Description"), rows)


def _signature(function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    parameters = [one for name, one in signature.parameters.items() if name != "self"]
    parameters = [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def _module(name: str, summary: str, program: str) -> str:
    names = public(import_module(name))
    return joined(
        [
            f"# {name}",
            f"Look up the classes and functions of `{name}`. {summary}",
            fence("python", program),
            *(f"::: {name}.{one}" for one in names),
        ]
    )
