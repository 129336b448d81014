"""Syntax highlighting for Python."""

from __future__ import annotations

import builtins
import keyword
import re

from PySide6.QtGui import QSyntaxHighlighter, QTextCharFormat, QTextDocument

from studio.ui.theme.theme import Theme

_TOKEN = re.compile(
    r"""
    (?P<comment>\#.*)
  | (?P<string>[rbfRBF]{0,2}(?:\"(?:[^"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'))
  | (?P<number>\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b)
  | (?P<defined>(?<=\bdef\ )\w+|(?<=\bclass\ )\w+)
  | (?P<word>[^\W\d]\w*)
    """,
    re.VERBOSE,
)
_BUILTINS = frozenset(dir(builtins)) | {"self"}


class PythonHighlighter(QSyntaxHighlighter):
    """Highlights line by line, because generated code has no multi-line strings."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._formats: dict[str, QTextCharFormat] = {}
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Rehighlight after a theme change."""
        tokens = {
            "comment": "code-comment",
            "string": "code-string",
            "number": "code-number",
            "defined": "code-name",
            "keyword": "code-keyword",
            "builtin": "code-comment",
        }
        for kind, token in tokens.items():
            self._formats[kind] = QTextCharFormat()
            self._formats[kind].setForeground(theme.color(token))
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup or ""
            if kind == "word":
                kind = "keyword" if keyword.iskeyword(match[0]) else "builtin" if match[0] in _BUILTINS else ""
            if kind:
                self.setFormat(match.start(), len(match[0]), self._formats[kind])
