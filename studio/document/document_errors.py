"""Errors of edits and of reading or writing files."""

from __future__ import annotations

import errno
import os
from typing import Self


class DocumentError(Exception):
    """Base of all errors of this package. The message is shown to the user."""


class EditError(DocumentError, ValueError):
    """An edit is not possible. The message names the node, wire or value; the document is unchanged."""


class FileError(DocumentError):
    """A file that cannot be read or written.

    Args:
        path: the file, or another name of the source
        location: a path into its JSON such as "nodes.hidden.at[0]", "line 3, column 7", or empty for the file itself
        problem: the rest of a sentence that begins with the path: "is not a run", "cannot be saved: the disk is full"
        remedy: what to do, as a sentence; may be empty
    """

    def __init__(self, path: str, location: str, problem: str, remedy: str) -> None:
        self.path = path
        self.location = location
        self.problem = problem
        self.remedy = remedy
        subject = f"{path}, {location}:" if location else path
        super().__init__(f"{subject} {problem}. {remedy}".rstrip())

    def __reduce__(self) -> tuple[type[FileError], tuple[str, str, str, str]]:
        return type(self), (self.path, self.location, self.problem, self.remedy)

    @classmethod
    def from_os_error(cls, path: str | os.PathLike[str], action: str, error: OSError) -> Self:
        """The error for an action that failed, such as "cannot be saved", with the reason and the next step."""
        reason, remedy = _REASONS.get(
            error.errno or 0, (_uncapitalized(error.strerror or str(error)), "Choose another file or folder.")
        )
        return cls(printable(path), "", f"{action}: {reason}", remedy)


def _uncapitalized(text: str) -> str:
    return text[:1].lower() + text[1:]


def printable(path: str | os.PathLike[str]) -> str:
    """A path as valid text: bytes of a file name that are not UTF-8 are escaped."""
    return os.fspath(path).encode(errors="backslashreplace").decode()


_FULL = ("the disk is full", "Free some space, or choose another disk. Existing files are unchanged.")
_QUOTA = ("the disk quota or file size limit is exceeded", "Free some space. Existing files are unchanged.")
_FORBIDDEN = ("permission denied", "Choose another folder, or change the permissions of this one.")
_REASONS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _QUOTA,
    errno.EFBIG: _QUOTA,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: ("the disk is read-only", "Choose another disk."),
    errno.ENOENT: ("no such file or folder", "Check the path."),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "Check the path."),
    errno.EISDIR: ("it is a folder", "Choose a file."),
    errno.ENAMETOOLONG: ("the name is too long", "Choose a shorter name."),
    errno.ELOOP: ("the path contains a cycle of symbolic links", "Remove the links."),
    errno.EIO: ("the disk reports an I/O error", "Choose another disk, and check this one."),
}
