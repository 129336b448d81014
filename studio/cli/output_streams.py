"""Error handling for standard output and standard error: write errors become exit codes instead of tracebacks.

A closed pipe ends the command silently with exit code 141, like SIGPIPE. Other errors of standard output print one
message and exit with code 1. Messages that cannot be written to standard error are dropped, and the exit code is at
least 1, unless standard error was closed before the process started.
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
"""A console that cannot encode a character must not fail the command."""
_READER_GONE = frozenset({errno.EPIPE, *([errno.EINVAL] if sys.platform == "win32" else [])})


class OutputError(Exception):
    """Standard output cannot be written, or its pipe was closed.

    Args:
        error: the error of the operating system
    """

    def __init__(self, error: OSError) -> None:
        reason, remedy = os.strerror(error.errno or errno.EIO), "Redirect it to a file on another disk."
        if error.errno == errno.EBADF:
            reason, remedy = "it is closed", "Redirect it to a file."
        super().__init__(f"cannot write to standard output: {reason}. {remedy}")
        self.code = CLOSED_PIPE if error.errno in _READER_GONE else FAILED


class _GuardedStream(io.RawIOBase):
    """Forward writes until the first error, then drop everything.

    Args:
        raw: the target; None for a stream that was closed before the process started
        raises: raise OutputError on the first error
    """

    def __init__(self, raw: Any, *, raises: bool) -> None:
        self._raw = raw
        self._raises = raises
        self.error: OSError | None = None
        """The first write error."""

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
        while (count := self._raw.write(data)) is None:  # a non-blocking pipe is full
            select.select([], [self._raw.fileno()], [])
        return count


@contextmanager
def guard_streams() -> Iterator[None]:
    """Guard sys.stdout and sys.stderr. Streams without a file descriptor, as in tests, are left unchanged."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _guard_stream(sys.stdout, raises=True), _guard_stream(sys.stderr, raises=False)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def flush_streams(code: int) -> int:
    """Flush both streams. Returns `code`, or the exit code of a write error."""
    try:
        sys.stdout.flush()
    except OutputError as error:
        code = report_output_error(error)
    sys.stderr.flush()
    return code or (FAILED if _stream_error(sys.stderr) is not None else 0)


def report_output_error(error: OutputError) -> int:
    """Print the error, except for a closed pipe. Returns the exit code."""
    if error.code != CLOSED_PIPE:
        print_error(str(error))
    return error.code


def check_reader() -> None:
    """Raise OutputError if the pipe of standard error was closed."""
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
