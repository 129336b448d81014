"""Hostile project files: mutated templates with payloads in every field, by seed and number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from studio.nodes import NodeType, Role, catalogue

ROOT = Path(__file__).resolve().parents[3]
BASES = [
    path.read_text(encoding="utf-8")
    for path in [*sorted((ROOT / "assets" / "templates").glob("*.gradwire")), ROOT / "examples" / "digits_mlp.gradwire"]
]
TYPES = [node_type for node_type in catalogue() if node_type.role is not Role.SOURCE]
SCHEDULES = [node_type.key for node_type in catalogue() if node_type.role is Role.SCHEDULER]

EXPLOIT = 'nn.ReLU if __import__("os").system("touch pwned") else nn.ReLU() #'
"""A type that was once executed where it stood behind an optimizer."""

CALLS = (
    '__import__("os").system("touch pwned")',
    'open("pwned", "w").close()',
    "exec(\"import os; os.mkdir('pwned')\")",
    'eval(compile("1", "x", "eval"))',
    '__import__("subprocess").Popen(["touch", "pwned"])',
    '__import__("socket").create_connection(("localhost", 9))',
    "().__class__.__base__.__subclasses__()",
    "nn.Module.__init__.__globals__",
    "engine.io.load_file('/etc/passwd')",
    "[x for x in (1).__class__.__mro__]",
)
FRAMES = (
    "{0}",
    "nn.ReLU if {0} else nn.ReLU() #",
    "nn.ReLU() if {0} else nn.ReLU",
    "nn.ReLU(), {0}, nn.ReLU",
    "nn.ReLU();{0};nn.ReLU",
    "nn.ReLU()\n        {0}\n        nn.ReLU",
    "nn.ReLU()\r{0}\x0bnn.ReLU",
    "lr_scheduler.StepLR(self.adam, 1) or {0} #",
    "optim.Adam or {0}",
    "ops.add({0}) #",
    "ops.cat",
    "engine.{0}",
    "nn.{0}",
    "data.Digits({0}) or data.Digits",
    "transforms.Normalize if {0} else transforms.Normalize",
    "(lambda: {0})",
    "x := {0}",
    "*[{0}]",
    "f'{{{0}}}'",
    "'); {0}; ('",
    '"""\n{0}\n"""',
    "\\N{{EM DASH}}{0}",
    "#\n{0}",
    "{{{{{0}}}}}",
    "%s" + "{0}",
    "${{{0}}}",
    "<img src='//localhost/x.png'>{0}",
)
WORDS = (
    *("nn.Module", "nn.functional", "nn.init", "nn.utils", "engine.io", "data.os", "optim.lr_scheduler", "ops.load"),
    *("lr_scheduler.LambdaLR", "nn.Sequential", "nn.Relu", "NN.RELU", "nn.", ".ReLU", "nn..ReLU", "studio.LossSum"),
    *("self", "__init__", "__class__", "__import__", "__builtins__", "_", "class", "None", "ﬁt", "ａ", "a b", "a.b"),
    *("", " ", "\n", "\x00", "..", "/etc/passwd", "../x", "C:\\x", "file:///x", "-o"),
)
NAMES = (
    *("nn", "data", "fit", "optim", "metrics", "engine", "checkpoint", "transforms", "lr_scheduler", "super", "batch"),
    *("model", "measure", "forward", "configure", "losses", "parameters", "Network", "DigitsMlp", "setup", "images"),
    *("print", "eval", "exec", "open", "input", "type", "match", "getattr", "globals", "license", "breakpoint", "mro"),
    *("os", "sys", "system", "builtins", "subprocess", "größe", "x", "odd"),
)
"""What a node may be called. The others are refused as soon as a file is read."""


class Hostile(NamedTuple):
    """A file that somebody has prepared."""

    stem: str
    """Its name."""
    text: str
    changes: tuple[str, ...]
    """What was done to a template."""


def hostile(seed: int, number: int) -> Hostile:
    rng = Random(f"{seed} {number}")
    content: dict[str, Any] = json.loads(rng.choice(BASES))
    chosen = rng.choices(CHANGES, k=rng.choice((1, 1, 1, 2, 2, 3, 5)))
    for change in chosen:
        change(rng, content)
    text = json.dumps(content, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.02:
        cut = rng.randrange(len(text))
        text = text[:cut] + payload(rng) + text[cut + rng.randrange(9) :]
    stem = (
        "".join(letter for letter in payload(rng) if letter not in '/\x00\\:*?"<>|\n\r\x0b')[:60].strip(" .")
        or "project"
    )
    return Hostile(stem if rng.random() < 0.5 else "project", text, tuple(change.__name__ for change in chosen))


def named() -> list[Hostile]:
    """The known exploit and variants of it, in each frame and at each position that a run may evaluate."""
    found: list[Hostile] = []
    keys = [EXPLOIT, *(frame.format(CALLS[index % len(CALLS)]) for index, frame in enumerate(FRAMES))]
    for key in keys:
        for before, after in PLACES:
            content = json.loads(BASES[-1])
            content["nodes"]["cosine"] = {"type": key}
            content["nodes"]["warm"] = {"type": "lr_scheduler.LinearLR"}
            content["wires"].append("adam.optimizer -> warm.optimizer")
            content["wires"] = [wire for wire in content["wires"] if wire != f"{before} -> {after}"]
            content["wires"].append(f"{before} -> cosine.{before.partition('.')[2]}")
            if after is not None:
                content["wires"].append(f"cosine.output -> {after}")
            found.append(Hostile("digits", json.dumps(content), ("named",)))
    return found


PLACES: tuple[tuple[str, str | None], ...] = (
    ("adam.optimizer", None),
    ("warm.optimizer", None),
    ("hidden.output", "relu.input"),
    ("digits.samples", "scale.samples"),
    ("logits.output", None),
)
"""Outputs that an unknown node reads, and inputs that it then feeds."""


def payload(rng: Random) -> str:
    return rng.choice(WORDS) if rng.random() < 0.3 else rng.choice(FRAMES).format(rng.choice(CALLS))


def value(rng: Random, depth: int = 2) -> Any:
    """Any JSON, mostly with a payload in it. Numbers stay small: what large ones cost is another test's."""
    match rng.randrange(9 if depth else 7):
        case 0:
            return rng.choice((None, True, False))
        case 1:
            return rng.randint(-3, 9)
        case 2:
            return round(rng.uniform(-2, 2), 3)
        case 7:
            return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
        case 8:
            return {payload(rng): value(rng, depth - 1) for _ in range(rng.randrange(3))}
        case _:
            return payload(rng)


# -- changes ----------------------------------------------------------------------------------


def node(rng: Random, content: dict[str, Any]) -> str:
    """The name of a node."""
    return rng.choice(list(content["nodes"]) or [""])


def known(content: dict[str, Any], name: str) -> NodeType | None:
    return catalogue().get(str(content["nodes"].get(name, {}).get("type")))


def free(rng: Random, content: dict[str, Any]) -> str:
    return next(
        name for name in ("odd", "odder", "oddest", f"odd{rng.randrange(10**9)}") if name not in content["nodes"]
    )


def end(rng: Random, content: dict[str, Any], side: str) -> str:
    """A port of a node; sometimes of any name."""
    name = node(rng, content)
    found = known(content, name)
    ports = [] if found is None else [port.name for port in (found.outputs if side == "output" else found.inputs)]
    return f"{name}.{rng.choice(ports) if ports and rng.random() < 0.95 else port(rng)}"


def port(rng: Random) -> str:
    return payload(rng) if rng.random() < 0.1 else rng.choice(NAMES)


def connect(content: dict[str, Any], source: str, target: str) -> None:
    """A wire; one that is at the input gives way."""
    content["wires"] = [wire for wire in content["wires"] if not str(wire).endswith(f" -> {target}")]
    content["wires"].append(f"{source} -> {target}")


def another_type(rng: Random, content: dict[str, Any]) -> None:
    content["nodes"].setdefault(node(rng, content), {})["type"] = payload(rng)


def known_type(rng: Random, content: dict[str, Any]) -> None:
    content["nodes"].setdefault(node(rng, content), {})["type"] = rng.choice(TYPES).key


def unknown_behind(rng: Random, content: dict[str, Any]) -> None:
    """An unknown type behind any output; behind an optimizer, as often as behind all else."""
    optimizers = [name for name in content["nodes"] if (kind := known(content, name)) and kind.role is Role.OPTIMIZER]
    source = f"{rng.choice(optimizers)}.optimizer" if optimizers and rng.random() < 0.5 else end(rng, content, "output")
    name = free(rng, content)
    content["nodes"][name] = {"type": payload(rng)}
    content["wires"].append(f"{source} -> {name}.{rng.choice(('input', 'optimizer', 'loss', 'samples', port(rng)))}")


def unknown_before(rng: Random, content: dict[str, Any]) -> None:
    name = free(rng, content)
    content["nodes"][name] = {"type": payload(rng)}
    connect(content, f"{name}.{rng.choice(('output', port(rng)))}", end(rng, content, "input"))


def unknown_between(rng: Random, content: dict[str, Any]) -> None:
    """In the middle of a wire, sometimes muted."""
    if not content["wires"]:
        return
    index = rng.randrange(len(content["wires"]))
    source, _, target = str(content["wires"][index]).partition(" -> ")
    name = free(rng, content)
    content["nodes"][name] = {"type": payload(rng), "muted": rng.random() < 0.3}
    content["wires"][index] = f"{source} -> {name}.x"
    content["wires"].append(f"{name}.y -> {target}")


def schedules(rng: Random, content: dict[str, Any]) -> None:
    """A row behind an optimizer, of known and unknown types."""
    optimizers = [name for name in content["nodes"] if (kind := known(content, name)) and kind.role is Role.OPTIMIZER]
    before = rng.choice(optimizers) if optimizers else node(rng, content)
    for _ in range(rng.randint(1, 3)):
        name = next((name for name in rng.choices(NAMES, k=1) if name not in content["nodes"]), free(rng, content))
        kind = rng.choice(SCHEDULES) if rng.random() < 0.8 else payload(rng)
        content["nodes"][name] = {"type": kind, "params": {"lasts": 1} if rng.random() < 0.7 else {}}
        content["wires"].append(f"{before}.optimizer -> {name}.optimizer")
        before = name


def renamed(rng: Random, content: dict[str, Any]) -> None:
    """A node with its wires."""
    old, new = node(rng, content), rng.choice(NAMES) if rng.random() < 0.9 else payload(rng)
    if new in content["nodes"]:
        return
    content["nodes"] = {new if name == old else name: each for name, each in content["nodes"].items()}
    wires = [str(wire).split(" -> ") for wire in content["wires"]]
    moved = [[new + end[len(old) :] if end.startswith(f"{old}.") else end for end in ends] for ends in wires]
    content["wires"] = [" -> ".join(ends) for ends in moved]


def parameter(rng: Random, content: dict[str, Any]) -> None:
    name = node(rng, content)
    found = known(content, name)
    params = [each.name for each in found.params] if found is not None else []
    param = rng.choice(params) if params and rng.random() < 0.7 else payload(rng)
    params_of = content["nodes"].setdefault(name, {}).setdefault("params", {})
    if isinstance(params_of, dict):
        params_of[param] = value(rng)


def texts(rng: Random, content: dict[str, Any]) -> None:
    content["description"] = payload(rng)
    content["nodes"].setdefault(node(rng, content), {})["note"] = payload(rng)


def field(rng: Random, content: dict[str, Any]) -> None:
    field = rng.choice(("at", "muted", "frozen", "recomputed", "collapsed", "trains", "note", payload(rng)))
    chosen = value(rng) if rng.random() < 0.3 else rng.choice((True, False, payload(rng), [payload(rng)], [1.5, -3]))
    content["nodes"].setdefault(node(rng, content), {})[field] = chosen


def flags(rng: Random, content: dict[str, Any]) -> None:
    for _ in range(3):
        flag = rng.choice(("muted", "frozen", "recomputed", "recomputed"))
        content["nodes"].setdefault(node(rng, content), {})[flag] = True


def trains(rng: Random, content: dict[str, Any]) -> None:
    names = [node(rng, content) if rng.random() < 0.7 else payload(rng) for _ in range(rng.randint(1, 3))]
    content["nodes"].setdefault(node(rng, content), {})["trains"] = names


def training(rng: Random, content: dict[str, Any]) -> None:
    names = ("epochs", "steps", "seed", "device", "compile", "accumulate", "clip_norm", "clip_value", "mixed_precision")
    setting = rng.choice((*names, "follow", "patience", "checkpoints", payload(rng)))
    settings = content.setdefault("training", {})
    if isinstance(settings, dict):
        settings[setting] = value(rng)


def top(rng: Random, content: dict[str, Any]) -> None:
    key = rng.choice(("gradwire", "training", "nodes", "wires", "frames", "inputs", "title", payload(rng)))
    if key not in ("nodes", "wires") or rng.random() < 0.2:
        content[key] = value(rng)
    if not isinstance(content["nodes"], dict) or not all(isinstance(each, dict) for each in content["nodes"].values()):
        content["nodes"] = {"a": {"type": payload(rng)}}
    if not isinstance(content["wires"], list):
        content["wires"] = [payload(rng)]


def wire(rng: Random, content: dict[str, Any]) -> None:
    if rng.random() < 0.1:
        content["wires"].append(value(rng))
    else:
        connect(content, end(rng, content, "output"), end(rng, content, "input"))


def fewer(rng: Random, content: dict[str, Any]) -> None:
    if content["wires"] and rng.random() < 0.5:
        content["wires"].pop(rng.randrange(len(content["wires"])))
    else:
        content["nodes"].pop(node(rng, content), None)


CHANGES: list[Callable[[Random, dict[str, Any]], None]] = [
    *(another_type, known_type, unknown_behind, unknown_behind, unknown_before, unknown_between, schedules, schedules),
    *(renamed, renamed, parameter, parameter, texts, texts, field, flags, flags, trains, training, top, wire, fewer),
]
