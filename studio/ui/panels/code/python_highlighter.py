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
  | [rbfRBF]{0,2}(?P<triple>\"{3}|'{3})
  | (?P<string>[rbfRBF]{0,2}(?:\"(?:[^"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'))
  | (?P<number>\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b)
  | (?P<defined>(?<=\bdef\ )\w+|(?<=\bclass\ )\w+)
  | (?P<word>[^\W\d]\w*)
    """,
    re.VERBOSE,
)
_QUOTES = ("", '"' * 3, "'" * 3)
"""The open quotes at the end of a line, by the state of its block; 0 for none."""
_BUILTINS = frozenset(dir(builtins)) | {"self"}


class PythonHighlighter(QSyntaxHighlighter):
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
        self.setCurrentBlockState(0)
        state = self.previousBlockState()
        start = self._end_string(text, 0, 0, _QUOTES[state]) if state > 0 else 0
        while start < len(text) and (match := _TOKEN.search(text, start)) is not None:
            if match["triple"]:
                start = self._end_string(text, match.start(), match.end(), match["triple"])
                continue
            start = match.end()
            kind = match.lastgroup or ""
            if kind == "word":
                kind = "keyword" if keyword.iskeyword(match[0]) else "builtin" if match[0] in _BUILTINS else ""
            if kind:
                self.setFormat(match.start(), len(match[0]), self._formats[kind])

    def _end_string(self, text: str, first: int, after: int, quotes: str) -> int:
        """Format a string that starts at `first` up to its closing quotes at `after` or later. Returns its end."""
        closing = text.find(quotes, after)
        end = len(text) if closing < 0 else closing + len(quotes)
        self.setFormat(first, end - first, self._formats["string"])
        self.setCurrentBlockState(_QUOTES.index(quotes) if closing < 0 else 0)
        return end
