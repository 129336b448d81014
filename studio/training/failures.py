"""Error messages for failed runs."""

from __future__ import annotations

from engine.errors import DataError, DeviceError, EngineError, WeightsError
from engine.system.syntax import format_traceback
from studio.document.document_errors import FileError
from studio.lowering.program import LoweringError, Program
from studio.training.session_events import Failed


def failure_event(error: Exception, program: Program | None, *, refused: bool = False) -> Failed:
    """The Failed event for an error: message, node and traceback."""
    node = None if program is None else program.node_of(error)
    if isinstance(error, LoweringError):
        node = error.problems[0].node
    detail = format_traceback(error)
    by_input = isinstance(error, (LoweringError, DataError, FileError, DeviceError, WeightsError))
    message = error_message(error, program)
    code = None if program is None else program.code_line_of(error)
    if code is not None and node is not None:
        message = f"{node}, line {code[0]}: {message.rstrip('.')}. Code: {code[1]}"
    elif program is not None and node is not None and not by_input:
        message = f"{message.rstrip('.')}. Program line: {program.line_of(node)}"
    return Failed(message, node, detail, by_input, refused)


def error_message(error: Exception, program: Program | None = None) -> str:
    """The error as one line for the user."""
    match error:
        case EngineError() if program is not None:
            return program.translate_error(error)
        case EngineError() | LoweringError() | FileError():
            return str(error)
        case MemoryError():
            return "Out of memory. Reduce the batch size or the layer sizes, or close other programs."
        case _:
            return f"{type(error).__name__}: {error}"


__all__ = ["failure_event", "error_message"]
