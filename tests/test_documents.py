"""What the documents say is true: their code runs and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "assets").rglob("*.md")]
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(document: Path) -> None:
    links = LINK.findall(document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_code_in_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    snippets = CODE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert snippets
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), {"__name__": "readme"})
    assert float(capsys.readouterr().out) < 0.01
