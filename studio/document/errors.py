"""What goes wrong with documents: an edit that cannot be made, a file that cannot be read or written."""

from __future__ import annotations


class DocumentError(Exception):
    """Base of all errors of this package. Its text is meant for the user."""


class EditError(DocumentError, ValueError):
    """An edit that cannot be made; names the node, wire or value. The document is as it was."""


class FileError(DocumentError):
    """A file that cannot be read or written: which file, where in it, what is wrong, what to do."""

    def __init__(self, path: str, place: str, problem: str, remedy: str) -> None:
        self.path = path
        self.place = place
        """A path into the JSON such as "nodes.hidden.at[0]", "line 3, column 7", or empty for the file itself."""
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{path}{', ' if place else ''}{place}: {problem}. {remedy}")

    def __reduce__(self) -> tuple[type[FileError], tuple[str, str, str, str]]:
        return type(self), (self.path, self.place, self.problem, self.remedy)
