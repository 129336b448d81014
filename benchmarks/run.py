"""Runs the benchmarks against PyTorch and writes the table in docs/explanation/performance.md.

python benchmarks/run.py                        all suites; takes some minutes on an idle machine
python benchmarks/run.py --only train_step      one suite; others keep their figures; repeatable
python benchmarks/run.py --print                print the tables, write nothing
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent
DOCUMENT = FOLDER.parent / "docs" / "explanation" / "performance.md"
BLOCK = "<!-- {name} -->\n{text}<!-- end of {name} -->\n"


BOTH = (("engine", "engine"), ("PyTorch", "torch"))


class Suite(NamedTuple):
    title: str
    target: str
    """Target of the ratios."""
    columns: tuple[tuple[str, str], ...] = BOTH
    """Column headings with the keys of their values, without units."""
    costs: tuple[tuple[str, str], ...] = ()
    """Columns of a second table, without ratios."""


SUITES = {
    "overhead": Suite("A call on four numbers", "2 µs without and 4 µs with gradient"),
    "train_step": Suite("A training step", "at most 1.5 times PyTorch's time"),
    "memory": Suite("Peak memory of a training step", "at most PyTorch's"),
    "convolution": Suite("Convolution, forward and backward, one thread", "at most 1.3 times PyTorch's time"),
    "operators": Suite("Layers and operators", "at most twice PyTorch's time"),
    "loading": Suite(
        "A thousand samples from a data set, by number of workers",
        "at most PyTorch's time, and a step beside loading at most 1.05 times a step alone",
        (("engine", "engine"), ("with threads", "threads"), ("PyTorch", "torch")),
        (
            ("step alone", "alone"),
            ("loading in its thread", "here"),
            ("in another thread", "thread"),
            ("in a process", "process"),
            ("in PyTorch's process", "peer"),
            ("beside a busy process", "computing"),
        ),
    ),
    "checkpoints": Suite(
        "An epoch with a checkpoint, relative to one without",
        "at most 1.01 times its time",
        (("an epoch", "epoch"), ("with a checkpoint", "saving")),
        (("CPU time of a checkpoint", "work"), ("file size", "size")),
    ),
    "compile": Suite(
        "A compiled training step, relative to the fastest peer",
        "MLP and LSTM at most 0.77 times the peer's time, GPT 0.67, CNN 0.83, ResNet-20 1.0",
        (
            ("engine", "engine"),
            ("engine.compile", "function"),
            ("eager", "eager"),
            ("PyTorch", "torch"),
            ("torch.compile", "torch.compile"),
            ("JAX jit", "jax"),
        ),
        (
            ("first step", "first"),
            ("eager's first step", "eager_first"),
            ("kernels compiled", "compiled"),
            ("kernels loaded", "loaded"),
            ("recording an op", "record"),
            ("allocated in a step", "new"),
            ("peak memory", "memory"),
            ("PyTorch's", "torch_memory"),
        ),
    ),
}
UNITS = {"us": ("µs", "ms"), "ms": ("ms", "s"), "kb": ("kB", "MB"), "mb": ("MB", "GB")}
"""The unit of a key, and the one a thousand times larger."""


def main() -> None:
    options = parse()
    text = DOCUMENT.read_text(encoding="utf-8")
    for name in options.only or SUITES:
        print(f"{name} …", file=sys.stderr, flush=True)
        table = table_of(SUITES[name], rows_of(name, options.threads))
        if options.print:
            print(table)
        text = replaced(text, name, table)
    if not options.print:
        DOCUMENT.write_text(replaced(text, "machine", machine(options.threads)), encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(SUITES), help="run this benchmark; repeatable")
    parser.add_argument("--threads", type=int, default=2, help="threads per library, for suites with this option")
    parser.add_argument("--print", action="store_true", help="print the tables instead of writing them")
    return parser.parse_args()


def rows_of(name: str, threads: int) -> list[dict[str, Any]]:
    """Return the records that a suite prints with --json."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--json"]
    if name in ("train_step", "memory", "compile"):
        command += ["--threads", str(threads)]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def table_of(suite: Suite, rows: list[dict[str, Any]]) -> str:
    """Return the tables of a suite in Markdown: ratios, then other columns."""
    text = f"\n{heading(suite)}\n{table(suite.columns, rows, has_ratio=True)}"
    if suite.costs:
        text += f"\n{table(suite.costs, rows, has_ratio=False)}"
    return text + "\n"


def heading(suite: Suite) -> str:
    return f"### {suite.title}\n\nAim: {suite.target}.\n"


def table(columns: tuple[tuple[str, str], ...], rows: list[dict[str, Any]], *, has_ratio: bool) -> str:
    """Format the rows that have a ratio or one of the columns."""
    headings = [heading for heading, _ in columns] + ["ratio"] * has_ratio
    lines = [f"| | {' | '.join(headings)} |", "|---|" + "---:|" * len(headings)]
    for row in rows:
        cells = [figure(row, key) for _, key in columns]
        if has_ratio:
            cells.append(f"{row['ratio']:.2f}" if row.get("ratio") is not None else "")
        if not any(cells):
            continue
        lines.append(f"| {next(value for value in row.values() if isinstance(value, str))} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def figure(row: dict[str, Any], name: str) -> str:
    """Format the value of a key with a unit, such as `engine_ms`, with three digits."""
    item = next(((key.rpartition("_")[2], row[key]) for key in row if key.rpartition("_")[0] == name), None)
    if item is None:
        return ""
    (unit, larger), value = UNITS[item[0]], item[1]
    return f"{value / 1000:.3g} {larger}" if value >= 999.5 else f"{value:.3g} {unit}"


def machine(threads: int) -> str:
    packages = ", ".join(f"{name} {number}" for name in ("numpy", "torch", "jax") if (number := version_of(name)))
    cores = os.cpu_count()
    return (
        f"\nMeasured with Python {platform.python_version()}, {packages}, {threads} threads on {cores} cores of: "
        f"{processor()}.\n\n"
    )


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def processor() -> str:
    information = Path("/proc/cpuinfo")
    text = information.read_text(encoding="utf-8") if information.exists() else ""
    match = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return match[1] if match else platform.processor() or platform.machine()


def replaced(text: str, name: str, block: str) -> str:
    """Replace the text between the markers of `name`."""
    start, end = BLOCK.format(name=name, text="\0").split("\0")
    before, _, rest = text.partition(start)
    _, end_marker, after = rest.partition(end)
    if not end_marker:
        raise SystemExit(
            f"{DOCUMENT.name} has no markers for {name!r}: add the lines {start.strip()} and {end.strip()}"
        )
    return before + start + block + end + after


if __name__ == "__main__":
    main()
