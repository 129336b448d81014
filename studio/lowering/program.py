"""The generated program of a document: readable source, and the classes that train."""

from __future__ import annotations

import ast
import itertools
import linecache
import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from engine import fit, nn
from engine.errors import EngineError
from studio.document.model import Endpoint
from studio.lowering.codegen.code_sections import CodeSection, without_code
from studio.lowering.codegen.measured_source import LOSSES, measured_functions
from studio.lowering.codegen.program_source import write_program
from studio.lowering.codegen.program_verification import verify_source
from studio.lowering.codegen.safe_identifiers import UnsafeSyntaxError
from studio.lowering.codegen.source_writer import ModuleNames
from studio.lowering.codegen.statement_watching import (
    StatementWatcher,
    watch_statements,
    watcher_names,
)
from studio.lowering.error_translation import translate_error
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.lowering.sample_pipeline import SamplePipelines, sample_pipelines_of
from studio.lowering.user_code.code_errors import line_in
from studio.lowering.user_code.code_loader import UntrustedCodeError, load_code, show_in_tracebacks
from studio.lowering.user_code.code_problems import failed_code, untrusted_problem
from studio.lowering.user_code.document_code import untrusted_code

_NUMBERS = itertools.count(1)


class LoweringError(Exception):
    """The document has errors, listed in `problems`, so it has no program."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(problem.message for problem in problems))


@dataclass(frozen=True)
class Program:
    """Generated source with a table from lines to nodes."""

    source: str
    filename: str
    """File name in tracebacks and in `engine.inspect`; there is no such file on disk."""
    lines: Mapping[int, str]
    """Line → node."""
    model_class: str
    task_class: str
    names: Mapping[str, ModuleNames]
    """What the names in the classes of the model and its blocks stand for, by class."""
    values: Mapping[str, Mapping[str, Endpoint]]
    """The output of a node that each variable has, by class, with that of the task."""
    reading: SamplePipelines
    warnings: tuple[Problem, ...] = ()
    code: tuple[CodeSection, ...] = ()
    """The sources of Python nodes in `source`."""

    def build(self, device: Any = "cpu", seed: int = 0, watcher: StatementWatcher | None = None) -> fit.Task:
        """Build a new task. `fit.fit` reads the data and makes the model.

        Args:
            watcher: is called around the statements of nodes when the task runs in eager mode

        Raises:
            LoweringError: the source contains code that verification rejects, that the user does not trust, or that
                raised an exception.
        """
        namespace: dict[str, Any] = {"__name__": self.model_class, **self._load_code()}
        tree = self._verified()
        if watcher is not None:
            tree = watch_statements(tree, self.lines)
            namespace |= watcher_names(watcher)
        code = compile(tree, self.filename, "exec", dont_inherit=True)
        exec(code, namespace)  # noqa: S102 - `code` was compiled from the verified tree
        task = namespace[self.task_class](device=device, seed=seed)
        if not self.code and watcher is None:  # verified: these classes contain only calls of the engine
            classes = [value for value in namespace.values() if isinstance(value, type)]
            task.replay_classes = tuple(each for each in classes if each.__module__ == self.model_class)
        return task

    def measured_losses(self, task: fit.Task) -> Callable[..., Mapping[Any, Any]]:
        """The losses of a task of this program, as a function that also reports the output of each node.

        It computes what `task.losses` does for a batch, without metrics. See `measured_source`.
        """
        namespace = dict(type(task).losses.__globals__)
        tree = measured_functions(self._verified(), self.values)
        exec(compile(tree, self.filename, "exec", dont_inherit=True), namespace)  # noqa: S102 - made of the verified tree
        return namespace[LOSSES]

    def _load_code(self) -> dict[str, Any]:
        """The functions and classes of Python nodes by name."""
        loaded: dict[str, Any] = {}
        for section in self.code:
            try:
                loaded[section.entry] = load_code(
                    section.source,
                    self.filename,
                    first_line=section.first_line,
                    changed=(section.text, section.entry),
                )
            except UntrustedCodeError:
                raise LoweringError((untrusted_problem({section.source: list(section.nodes)}),)) from None
            except Exception as error:
                raise LoweringError((failed_code(section, self.filename, error),)) from error
        return loaded

    def _verified(self) -> ast.Module:
        try:
            return verify_source(without_code(self.source, self.code), [section.entry for section in self.code])
        except UnsafeSyntaxError as error:
            raise _unsafe(error, self.lines.get(error.line or 0)) from None

    def code_line_of(self, error: BaseException) -> tuple[int, str] | None:
        """The line of a Python node's source that raised an exception, with its text; None for other errors."""
        line = line_in(error, self.filename)
        section = None if line is None else self.code_at(line)
        if section is None or line is None:
            return None
        number = section.source_line(line)
        return number, self.source.split("\n")[line - 1].strip()

    def line_of(self, node: str) -> str:
        """The first source line of a node, which constructs it with its arguments."""
        number = min(line for line, owner in self.lines.items() if owner == node)
        return self.source.splitlines()[number - 1].strip()

    def translate_error(self, error: BaseException) -> str:
        """The text of an error, with node names instead of locations in generated code."""
        return translate_error(error, self.node_at)

    def node_at(self, filename: str, line: int) -> str | None:
        """The node of a line that `engine.inspect` or a traceback reports; in a block, that of its first instance."""
        return self.lines.get(line) if filename == self.filename else None

    def code_at(self, line: int) -> CodeSection | None:
        """The source of Python nodes that a line of the program belongs to; None for other lines."""
        return next((each for each in self.code if each.first_line <= line <= each.last_line), None)

    def node_of(self, error: BaseException) -> str | None:
        """The node whose line raised an exception: the innermost line of this program that belongs to a node.

        For an exception raised while batches were made, the node that read or transformed the samples.
        """
        found = self.node_at(*error.location) if isinstance(error, EngineError) and error.location is not None else None
        trace: TracebackType | None = error.__traceback__
        model: nn.Module | None = None
        while trace is not None:
            node = self.node_at(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
            if found is not None and self.code_at(trace.tb_lineno) is not None:
                node = None  # the line that calls the code tells which of its nodes it is
            module = trace.tb_frame.f_locals.get("self")
            if node is not None and isinstance(module, nn.Module):
                model = model or module
                instance = next((name for name, each in model.named_modules() if each is module), "")
                node = f"{instance}.{node.rpartition('.')[2]}" if instance else node
            found = node or found
            trace = trace.tb_next
        return self.reading.responsible_node(error) or found if found in (None, *self.reading.loaders) else found


def _unsafe(error: UnsafeSyntaxError, node: str | None = None) -> LoweringError:
    subject = "The code of this project" if node is None else f"The code of {node}"
    message = (
        f"{subject} contains {error}, which is not allowed. It was not run. Restore the project from a trusted copy."
    )
    return LoweringError((Problem("error", "unsafe-code", message, node=node),))


def lower(report: Report, name: str | None = None, *, reserved: Collection[str] = ()) -> Program:
    """Generate the program of a checked document. Checks and infers nothing.

    Args:
        report: the result of `check`
        name: project name, from which the class names are derived
        reserved: names that classes and variables of the program cannot have

    Raises:
        LoweringError: the report has errors.
    """
    if report.errors:
        raise LoweringError(report.errors)
    flow = report.checked
    if untrusted := untrusted_code(flow.document):
        raise LoweringError((untrusted_problem(untrusted),))
    return shown_program(report, name, reserved=reserved)


def shown_program(report: Report, name: str | None = None, *, reserved: Collection[str] = ()) -> Program:
    """The program of a checked document, to be read. Unlike that of `lower`, it may have code that is not trusted.

    `Program.build` refuses such code.

    Raises:
        LoweringError: the report has errors.
    """
    if report.errors:
        raise LoweringError(report.errors)
    flow = report.checked
    try:
        source = write_program(flow, name, reserved)
    except UnsafeSyntaxError as error:
        raise _unsafe(error) from None
    filename = f"<gradwire {source.model_class} {next(_NUMBERS)}>"
    program = Program(
        source.text,
        filename,
        source.lines,
        source.model_class,
        source.task_class,
        source.names,
        source.values,
        sample_pipelines_of(flow.graph),
        report.warnings,
        source.code,
    )
    # Tracebacks show these lines while the program exists. linecache keeps entries without a modification time.
    show_in_tracebacks(filename, source.text)
    weakref.finalize(program, linecache.cache.pop, filename, None)
    return program
