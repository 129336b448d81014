"""The reference of problem codes: what the check and a run report, by its stable code."""

from __future__ import annotations

from collections.abc import Iterator

from site_pages.markdown import escaped, fence, joined, table
from studio.lowering.help import HELP


def pages() -> Iterator[tuple[str, str]]:
    rows = [(f"`{problem}`{{ #{problem} }}", escaped(text)) for problem, text in HELP.items()]
    yield (
        "reference/problems.md",
        joined(
            [
                "# Problem codes",
                (
                    f"Look up why a problem matters, by the code that the Problems panel and `--json` show. There are "
                    f"{len(HELP)} codes; they stay the same between versions. The message of a problem names the node, "
                    "the values and the next step."
                ),
                fence("sh", "gradwire check digits.gradwire --json"),
                table(("Code", "Why it matters"), rows),
            ]
        ),
    )
