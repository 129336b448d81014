"""List every text of the project, or the constructions in it that the writing style bans.

    python3 scripts/wording.py studio/cli          every text of a folder, with its file and line
    python3 scripts/wording.py --shown studio/cli  only strings, without docstrings and comments
    python3 scripts/wording.py --check             banned constructions in the whole tree

The style: plain technical English, the field's own terms, active voice, one idea a sentence.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("engine", "studio", "scripts", "benchmarks", "examples", "docs", "assets/templates", "main.py")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")

BANNED = {
    r"\btold\b": "name the actor: 'X passes', 'the user sets', 'the message says'",
    r"\bnobody\b|\bno one\b": "'not used', 'no caller', or name the actor",
    r"\bno more\b(?! than)": "'no longer' or a plain negation",
    r"\b(whence|hence|whereby|wherein|thereby|therein|thereof|hereby|hitherto|henceforth)\b": "so, from which, by this",
    r"\b(whilst|amongst|upon|nought|albeit|lest|betwixt|forthwith)\b": "while, among, on, zero, although",
    r"\b(shall|ought)\b": "must, will",
    r"\bkin\b": "name the related thing",
    r"\bof which\b|\bof whom\b": "two sentences, or 'whose', 'N of them'",
    r"\bas it was\b|\bas they were\b": "'unchanged'",
    r"\banew\b": "again, from the start",
    r"\b(goes|go|went) by\b": "uses, is named",
    r"\b(its|their) own\b": "'own' is almost always superfluous: 'its', 'separate', 'a … of the project'",
    r"\bfrom (its|the) beginning\b": "'from the start', 'from epoch 0'",
    r"\bfollows? from\b": "'depends on', 'is computed from'",
    r"\bso many\b": "N",
    r"\bwho(so)?ever\b": "'a caller that', 'code that'",
    r"\b(is|are) due\b": "'must', 'runs next'",
    r"\bby heart\b": "remembers, caches",
    r"\bsaid (anew|again|before|above|once)\b": "repeated",
    r"\bknows? of\b": "has, supports, lists",
    r"\bbut for\b": "except for, without",
    r"\b(for its|for their) (part|sake)\b": "leave it out",
    r"\bin vain\b": "'without effect'",
    r"\b(takes?|taken|took|mistakes?|mistaken) for\b": "'treats as'",
    r"\bis no (number|value|name|file|folder|tensor|module|integer|list|text)\b": "'is not a …'",
    r"\b(are|is) of no use\b": "'has no effect'",
    r"\bwithout a word\b": "'unexpectedly', 'without a message'",
    r"\bone another\b": "each other",
    r"\bnone but\b|\ball but (one|the last|the first)\b": "'only', 'except'",
    r"\b(it|that|this|they) (would )?(says?|tells?) so\b": "name the message",
    r"\bthe like\b": "list them, or 'and similar'",
    r"\bthat much\b": "name the amount",
    r"\bin its stead\b|\bin (his|her|their) stead\b": "instead",
    r"\bwhat (every|each|all) \w+ (follows|is|are|has|have)\b": "a noun: 'Random seed'",
}
"""Regular expressions (case is ignored) and what to write instead."""


@dataclass(frozen=True)
class Text:
    path: Path
    line: int
    kind: str
    """docstring, comment, string or page"""
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT).as_posix()}:{self.line}: {self.kind}: {self.text}"


def files(paths: list[str]) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *paths],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    chosen = [ROOT / name for name in listed if name.endswith((".py", ".md", ".gradwire"))]
    return [path for path in chosen if path.is_file() and path != Path(__file__).resolve()]


def texts(path: Path) -> Iterator[Text]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _python_texts(path, source)
    else:
        yield from _page_texts(path, source)


def _python_texts(path: Path, source: str) -> Iterator[Text]:
    tree = ast.parse(source)  # noqa: TID251  (one thread)
    docstrings = _docstrings(tree)
    parts_of_fstrings = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found: list[Text] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append(Text(path, node.lineno, "string", _one_line(_template(node))))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts_of_fstrings:
            kind = "docstring" if id(node) in docstrings else "string"
            found.append(Text(path, node.lineno, kind, _one_line(node.value)))
    found += _comments(path, source)
    yield from sorted(
        (text for text in found if text.kind != "string" or _is_prose(text.text)), key=lambda text: text.line
    )


def _docstrings(tree: ast.Module) -> set[int]:
    """Identities of the string constants that stand alone as statements: docstrings, also those below attributes."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }


def _template(node: ast.JoinedStr) -> str:
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "{" + ast.unparse(part.value) + "}"
        for part in node.values
        if isinstance(part, ast.Constant | ast.FormattedValue)
    )


def _comments(path: Path, source: str) -> Iterator[Text]:
    """Comments, consecutive lines joined."""
    first, last, words = 0, -1, [""]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            text = token.string.lstrip("#: ")
            alone = not token.line[: token.start[1]].strip()
            if alone and line == last + 1:
                words.append(text)
            else:
                if first:
                    yield Text(path, first, "comment", _one_line(" ".join(words)))
                first, words = line, [text]
            last = line if alone else -1
    if first:
        yield Text(path, first, "comment", _one_line(" ".join(words)))


def _page_texts(path: Path, source: str) -> Iterator[Text]:
    """Paragraphs, items and rows of a page, without code blocks."""
    line = 1
    for part in re.split(r"(\n\s*\n|\n(?=[-|\d])|^```.*?^```$)", source, flags=re.MULTILINE | re.DOTALL):
        if part.strip() and not part.startswith("```"):
            yield Text(path, line + len(part) - len(part.lstrip("\n")), "page", _one_line(part))
        line += part.count("\n")


def _is_prose(text: str) -> bool:
    """Whether people may read it: two words, or one capitalized word."""
    return bool(re.search(r"[A-Za-z]{2,}[,.:;]? [A-Za-z({]", text) or re.fullmatch(r"[A-Z][a-z]+[.:…]?", text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def banned(text: str) -> Iterator[tuple[str, str]]:
    """Banned constructions in a text, each with what to write instead. Quoted code (`...`) is not searched."""
    prose = re.sub(r"`[^`]*`", "``", text)
    for pattern, advice in BANNED.items():
        for match in re.finditer(pattern, prose, re.IGNORECASE):
            yield match.group(), advice


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=[*FOLDERS, *PAGES], help="files or folders (default: all)")
    parser.add_argument("--check", action="store_true", help="print banned constructions; exit status 1 if any")
    parser.add_argument("--shown", action="store_true", help="leave out docstrings and comments")
    options = parser.parse_args()
    listed = [text for path in files(options.paths) for text in texts(path)]
    if options.shown:
        listed = [text for text in listed if text.kind in ("string", "page")]
    if not options.check:
        print(*listed, sep="\n")
        return 0
    found = [(text, words, advice) for text in listed for words, advice in banned(text.text)]
    for text, words, advice in found:
        print(f"{text}\n    '{words}': {advice}")
    print(f"{len(found)} banned constructions in {len(listed)} texts")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
