"""Standard output and standard error of a command, guarded: one that cannot be written is no traceback.

A reader that has closed the pipe ends the command as SIGPIPE would, without a word and with exit code 141. Other errors
of standard output are one sentence and exit code 1. Messages that standard error does not take are dropped; the exit
code is then 1 at least, except where standard error was closed from the beginning.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from studio.cli.error_output import CLOSED_PIPE, FAILED, print_error

_ERRORS = "backslashreplace"
"""A console that lacks a sign must not end the command."""
_READER_GONE = frozenset({errno.EPIPE, *([errno.EINVAL] if sys.platform == "win32" else [])})


class OutputError(Exception):
    """Standard output cannot be written, or its reader closed it.

    Args:
        error: what the system says
    """

    def __init__(self, error: OSError) -> None:
        reason, remedy = os.strerror(error.errno or errno.EIO), "Redirect it to a file on another disk."
        if error.errno == errno.EBADF:
            reason, remedy = "it is closed", "Redirect it to a file."
        super().__init__(f"standard output cannot be written: {reason}. {remedy}")
        self.code = CLOSED_PIPE if error.errno in _READER_GONE else FAILED


class _GuardedStream(io.RawIOBase):
    """Passes on what is written until that fails for the first time; what comes later is dropped.

    Args:
        raw: where to; None for a stream that was closed before the process began
        raises: raise OutputError when it fails
    """

    def __init__(self, raw: Any, *, raises: bool) -> None:
        self._raw = raw
        self._raises = raises
        self.error: OSError | None = None
        """Why nothing more is written."""

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._raw is not None and self._raw.isatty()

    def fileno(self) -> int:
        if self._raw is None:
            raise io.UnsupportedOperation("fileno")
        return self._raw.fileno()

    def write(self, data: Any, /) -> int:
        if self.error is None:
            try:
                return self._write(data)
            except OSError as error:
                self.error = error
                if self._raises:
                    raise OutputError(error) from None
        return len(data)

    def _write(self, data: Any) -> int:
        if self._raw is None:
            if not self._raises:
                return len(data)
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        while (count := self._raw.write(data)) is None:  # a pipe that does not block is full
            select.select([], [self._raw.fileno()], [])
        return count


@contextmanager
def guard_streams() -> Iterator[None]:
    """Guards both streams of a process. Those that a test put in their place stay as they are."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _guard_stream(sys.stdout, raises=True), _guard_stream(sys.stderr, raises=False)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def flush_streams(code: int) -> int:
    """Write what waits. Returns the exit code of a command that would have ended with this one."""
    try:
        sys.stdout.flush()
    except OutputError as error:
        code = report_output_error(error)
    sys.stderr.flush()
    return code or (FAILED if _stream_error(sys.stderr) is not None else 0)


def report_output_error(error: OutputError) -> int:
    """Say why standard output cannot be written, unless its reader has closed it. Returns the exit code."""
    if error.code != CLOSED_PIPE:
        print_error(str(error))
    return error.code


def check_reader() -> None:
    """Raises OutputError if whoever read standard error has closed it."""
    error = _stream_error(sys.stderr)
    if error is not None and error.errno in _READER_GONE:
        raise OutputError(error)


def _stream_error(stream: TextIO) -> OSError | None:
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return raw.error if isinstance(raw, _GuardedStream) else None


def _guard_stream(stream: Any, *, raises: bool) -> Any:
    if stream is None:
        return _text_stream(_GuardedStream(None, raises=raises), "utf-8", is_by_line=True)
    try:
        stream.fileno()
        raw = getattr(stream.buffer, "raw", stream.buffer)
    except (AttributeError, OSError, ValueError):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)
        return stream
    stream.flush()
    return _text_stream(
        _GuardedStream(raw, raises=raises), stream.encoding, is_by_line=stream.line_buffering or not raises
    )


def _text_stream(raw: _GuardedStream, encoding: str, *, is_by_line: bool) -> TextIO:
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, _ERRORS, line_buffering=is_by_line)


__all__ = ["OutputError", "check_reader", "flush_streams", "guard_streams", "report_output_error"]
