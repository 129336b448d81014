"""Opens hostile files with every reader of projects, under an audit hook, in a separate process. Prints its findings.

python -m tests.studio.hostile.attack FOLDER [--documents 10000] [--commands 3] [--unguarded]
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import os
import pickle
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from engine.compiler.kernels import compile_process
from engine.compiler.kernels.kernel_cache import FOLDER_VARIABLE
from engine.io import save_file
from studio import cli
from studio.cli.sweep import trial_pool
from studio.document import node_clipboard
from studio.document.document_errors import DocumentError
from studio.document.files.project_files import load
from studio.document.files.project_format import loads
from studio.lowering import LoweringError, check, lower, program
from studio.lowering.checks import schedule_checks, structure_checks
from studio.lowering.codegen import source_writer, syntax_trees
from studio.lowering.codegen.safe_identifiers import class_name
from studio.lowering.schedules import schedule_chains
from studio.lowering.user_code.shipped_code import shipped_sources
from studio.nodes import catalogue
from tests.studio.hostile.audit import ROOT, Audit, Forbidden, names_in
from tests.studio.hostile.documents import BASES, EXPLOIT, Hostile, hostile, named
from tests.studio.lowering.graphs import mlp

STARTED = [[sys.executable, "-P", "-c", start] for start in (compile_process._START, trial_pool._START)]
"""The processes that the product starts."""


class Bomb:
    """Makes a folder when it is unpickled."""

    def __reduce__(self) -> Any:
        return (os.mkdir, ("pwned",))


class Attack:
    """Runs hostile project files and commands on them in one folder, and records the outcomes."""

    def __init__(self, folder: Path, *, learns: bool = True) -> None:
        self.folder = folder
        self.found: Counter[str] = Counter()
        """Number of cases by stage and outcome."""
        self.crashes: dict[str, str] = {}
        """Errors without a clear message, each with a file that causes it. They execute nothing, but are reported."""
        self.commands = 0
        os.chdir(folder)
        tempfile.tempdir = str(folder)
        self.weights, self.inputs = folder / "weights.safetensors", folder / "inputs.npy"
        self._file = "digits.gradwire"
        if learns:
            self._prepare()
            self._learn()
        types = [each.key.rpartition(".")[2] for each in catalogue()]
        self.sound = {name for text in BASES for name in words(text)} | classes("digits") | classes("project")
        """Names in files that are sound, and in the code of templates, which is part of Gradwire and runs."""
        for source in shipped_sources():
            self.sound |= names_in(compile(source, "template", "exec", dont_inherit=True))
        kernels = Path(os.environ.setdefault(FOLDER_VARIABLE, str(folder / "kernels")))
        self.audit = Audit([folder, kernels], STARTED, types)

    def _prepare(self) -> None:
        (self.folder / self._file).write_bytes((ROOT / "examples" / "digits_mlp.gradwire").read_bytes())
        task = lower(check(load(self.folder / self._file), catalogue())).build()
        task.setup()
        save_file(task.model.state_dict(), self.weights)
        np.save(self.inputs, np.zeros((3, 1, 8, 8), np.uint8))
        bomb = np.array([Bomb()], dtype=object)
        np.save(self.folder / "bomb.npy", bomb, allow_pickle=True)
        np.savez(self.folder / "bomb.npz", inputs=bomb)
        (self.folder / "bomb.pt").write_bytes(pickle.dumps({"weight": Bomb()}))

    def _learn(self) -> None:
        """Most commands once with a file that is sound, so that what is imported late is there."""
        pa.array([1.5]).to_numpy()  # pyarrow tries to import cloudpickle and pandas, which are not installed
        for command in (*COMMANDS, Attack.explain, Attack.resume):
            self._command(command(self))
        run = self.folder / "digits.runs" / "hostile"
        shutil.copytree(min((self.folder / "digits.runs").glob("*/run.json")).parent, run)
        about = json.loads((run / "run.json").read_bytes())
        about |= {"state": "stopped", "name": EXPLOIT, "note": EXPLOIT, "message": EXPLOIT, EXPLOIT: EXPLOIT}
        (run / "run.json").write_text(json.dumps(about))
        with (run / "metrics.jsonl").open("a") as file:
            file.write(json.dumps({"event": EXPLOIT, EXPLOIT: EXPLOIT}) + "\n")
        (run / "graph.gradwire").write_text(named()[0].text)
        plan = {"gradwire_sweep": 1, "params": [EXPLOIT], "trials": [{"adam": EXPLOIT}, {EXPLOIT: EXPLOIT}]}
        plan["graph"] = json.loads(named()[0].text)
        (self.folder / "digits.runs" / "hostile.sweep.json").write_text(json.dumps(plan))

    def __call__(self, case: Hostile, number: int, every: int) -> None:
        """Checks a file; runs a command for one in N buildable files and for some others."""
        self.audit.expected = frozenset(self.sound.union(words(case.text), classes(case.stem)))
        outcome = self._stage("read", lambda: self._read(case, number))
        if every and number % (every if outcome == "built" else 10 * every) == 0:
            self._file = f"{case.stem}.gradwire"
            (self.folder / self._file).write_text(case.text, encoding="utf-8", errors="surrogatepass")
            commands = RARE if self.commands % 30 == 29 else COMMANDS
            command = commands[self.commands // (30 if commands is RARE else 1) % len(commands)]
            self.commands += 1
            self._stage(command.__name__, lambda: self._command(command(self)))

    def _read(self, case: Hostile, number: int) -> str:
        """Checks, lowers and builds, without the command line."""
        try:
            document = loads(case.text)
        except DocumentError:
            return "refused as a file"
        with contextlib.suppress(DocumentError):
            node_clipboard.paste(mlp(), case.text, (0.0, 0.0))
        errors = check(document, catalogue(), base=self.folder).errors
        try:
            made = lower(check(document, catalogue(), base=self.folder), name=case.stem)
        except LoweringError:
            return "refused by the check" if errors else "refused while it was written"
        try:
            task = made.build()
        except LoweringError:
            return "refused by the guard"
        if number % 5 == 0:
            task.setup()
        return "built"

    def _command(self, arguments: list[str]) -> str:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return f"exit code {cli.main(arguments)}"

    def _stage(self, name: str, work: Callable[[], str]) -> str:
        before = len(self.audit.violations)
        try:
            with self.audit.watching():
                outcome = work()
        except Forbidden:
            outcome = "forbidden"
        except Exception as error:  # noqa: BLE001 - reported at the end
            outcome = "crash"
            last = traceback.extract_tb(error.__traceback__)[-1]
            crash_site = f"{type(error).__name__} in {Path(last.filename).name}: {last.name}"
            self.crashes.setdefault(crash_site, f"{name}: {error}"[:200])
        if len(self.audit.violations) > before:
            outcome = "forbidden"
        self.found[f"{name}: {outcome}"] += 1
        return outcome

    # -- commands

    def check(self) -> list[str]:
        return ["check", self._file, "--json"]

    def run(self) -> list[str]:
        return ["run", self._file, "--steps", "1", "--no-compile", "--quiet"]

    def run_named(self) -> list[str]:
        return ["run", self._file, "--steps", "1", "--no-compile", "--out", f"out{self.commands}", "--json"]

    def evaluate(self) -> list[str]:
        return ["evaluate", self._file, "--weights", str(self.weights)]

    def predict(self) -> list[str]:
        return ["predict", self._file, str(self.inputs), "--weights", str(self.weights)]

    def find_rate(self) -> list[str]:
        return ["find-rate", self._file, "--steps", "2", "--set", "training.compile=false"]

    def overfit(self) -> list[str]:
        return ["overfit", self._file, "--steps", "2", "--set", "training.compile=false"]

    def data(self) -> list[str]:
        return ["data", self._file]

    def retyped(self) -> list[str]:
        return ["check", self._file, "--set", f"adam={EXPLOIT}", "--set", f"logits.{EXPLOIT}={EXPLOIT}"]

    def swept(self) -> list[str]:
        return ["sweep", self._file, "-p", f"adam={EXPLOIT},optim.SGD", "--steps", "1"]

    def list_runs(self) -> list[str]:
        return ["runs", "list", "digits.gradwire"]

    def show_run(self) -> list[str]:
        return ["runs", "show", "digits.gradwire", "hostile"]

    def export_runs(self) -> list[str]:
        return ["runs", "export", "digits.gradwire", "-o", "points.csv"]

    def resume_run(self) -> list[str]:
        return [
            "run",
            "digits.gradwire",
            "--resume",
            "hostile",
            "--steps",
            str(self.commands + 2),
            "--no-compile",
            "--quiet",
        ]

    def resume_sweep(self) -> list[str]:
        return ["sweep", "digits.gradwire", "--resume", "hostile"]

    def new(self) -> list[str]:
        return ["new", EXPLOIT, "-o", "made.gradwire"]

    def start_from_bomb(self) -> list[str]:
        return ["run", "digits.gradwire", "--steps", "1", "--no-compile", "--quiet", "--start-from", "bomb.pt"]

    def evaluate_bomb(self) -> list[str]:
        return ["evaluate", "digits.gradwire", "--weights", "bomb.pt"]

    def predict_bomb(self) -> list[str]:
        return ["predict", "digits.gradwire", "bomb.npy", "bomb.npz", "--weights", str(self.weights)]

    def explain(self) -> list[str]:
        return ["explain", self._file, "--source"]

    def sweep(self) -> list[str]:
        return ["sweep", self._file, "-p", "adam.lr=0.1", "--steps", "1", "-j", "1"]

    def resume(self) -> list[str]:
        """A run whose graph was replaced."""
        for graph in self.folder.glob("digits.runs/*/graph.gradwire"):
            graph.write_bytes((self.folder / self._file).read_bytes())
        return ["run", "digits.gradwire", "--resume", "--steps", str(self.commands + 2), "--no-compile", "--quiet"]

    def nodes(self) -> list[str]:
        return ["nodes"]

    def schema(self) -> list[str]:
        return ["schema"]

    def templates(self) -> list[str]:
        return ["templates"]


COMMANDS = (
    *(Attack.check, Attack.run, Attack.evaluate, Attack.predict, Attack.find_rate, Attack.overfit, Attack.data),
    *(Attack.retyped, Attack.swept, Attack.list_runs, Attack.show_run, Attack.export_runs, Attack.resume_run),
    *(Attack.resume_sweep, Attack.new, Attack.start_from_bomb, Attack.evaluate_bomb, Attack.predict_bomb),
    *(Attack.run_named, Attack.run),
)
RARE = (Attack.explain, Attack.resume, Attack.sweep, Attack.nodes, Attack.schema, Attack.templates)
"""What takes longer, or no file."""


def words(text: str) -> Iterator[str]:
    """The names of a file's nodes, blocks and their parameters, and what generated code makes of them."""
    with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError):
        content = json.loads(text)
        yield from _variants(content["nodes"])
        for name, block in content["blocks"].items():
            yield class_name(name)
            yield from _variants([*block["nodes"], *block.get("params", ())])


def _variants(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield from (name, f"{name}_", f"{name}_block", f"{name}_block_")


def classes(stem: str) -> set[str]:
    """The classes that are generated for a file of this name."""
    return {name for model in (class_name(stem), class_name(None)) for name in (model, f"{model}Training")}


def unguarded() -> None:
    """Disable the protection of generated code from text in files, to test that the audit hook reports an attack."""
    program.verify_source = lambda source, *_: ast.parse(source)
    syntax_trees.identifier = str
    structure_checks._unknown_types = lambda graph: iter(())
    source_writer.SourceWriter.facts = lambda self, name, scope=None: self.flow.facts[name]
    schedule_chains.schedules_behind = schedule_checks.schedules_behind = lambda graph, name: [
        end.node
        for port in graph.types[name].outputs
        for end in graph.readers(schedule_checks.Endpoint(name, port.name))
    ]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    options.add_argument("--documents", type=int, default=1000)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--commands", type=int, default=3, help="run a command for one in N buildable files")
    options.add_argument("--unguarded", action="store_true", help="only the known exploits, without what stops them")
    parsed = options.parse_args()
    begun = time.monotonic()
    attack = Attack(parsed.folder.resolve(), learns=not parsed.unguarded)
    if parsed.unguarded:
        unguarded()
    cases = named()
    for number, case in enumerate(cases):
        attack(case, number, 0)
    if not parsed.unguarded:
        for number in range(parsed.first, parsed.first + parsed.documents):
            attack(hostile(parsed.seed, number), number, parsed.commands)
    report = {
        "documents": len(cases) + (0 if parsed.unguarded else parsed.documents),
        "seconds": round(time.monotonic() - begun, 1),
        "violations": attack.audit.violations,
        "pwned": [str(path) for path in parsed.folder.rglob("pwned*")],
        "found": dict(sorted(attack.found.items())),
        "crashes": attack.crashes,
    }
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
