"""The reference of problem codes: what the check and a run report, by its stable code."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.help import HELP
from studio.reference.markdown import escaped, fence, joined, table

FIELDS = (
    ("event", "`problem` (of the check), `warning` (of a run) or `failed` (what ends the command); not in findings"),
    ("severity", "`error` or `warning`"),
    ("code", "which problem it is; see below"),
    ("message", "what was expected, what was found, what to do"),
    ("node, port, wire", "where it is, as far as it is at one place; a wire is `NODE.PORT -> NODE.PORT`"),
    ("fix", "what the button in the window says; null if there is none"),
    ("set", "what `--set` takes to do the same; empty where nodes or wires change"),
    ("edits", "the fix as changes of the project file, in the order in which they are to be made"),
    ("help", "why the problem matters"),
)
"""Of a record, with what each holds."""

EDITS = (
    ('{"set": NODE, "param": PARAM, "value": VALUE}', "set a parameter"),
    ('{"clear": NODE, "param": PARAM}', "remove a parameter, so that it has its default or follows the wires"),
    ('{"change": NODE, FIELD: VALUE}', "set fields of a node, such as `type`, `muted`, `frozen` or `trains`"),
    ('{"connect": [OUTPUT, INPUT]}', "add a wire between two ends, each `NODE.PORT`"),
    ('{"disconnect": [OUTPUT, INPUT]}', "remove a wire"),
    (
        '{"insert": TYPE, "name": NODE, "params": {}, "wire": [OUTPUT, INPUT], "ports": [IN, OUT]}',
        "put a new node into a wire, by these ports of it",
    ),
    ('{"add": TYPE, "name": NODE, "params": {}}', "add a node; wires follow as `connect`"),
    ('{"remove": NODE}', "remove a node with its wires"),
    ('{"rename": NODE, "name": NEW}', "rename a node; its wires stay"),
    ('{"training": {SETTING: VALUE}}', "change settings of the run"),
)
"""Of a fix, with what each does."""


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
                "## The record",
                (
                    "With `--json`, every command describes each problem by one JSON object. Findings of `data` also "
                    "have `examples`: the part and the row of samples."
                ),
                table(("Field", "What it holds"), [(f"`{name}`", text) for name, text in FIELDS]),
                "Each of the `edits` is one of these:",
                table(("Edit", "What it does"), [(f"`{edit}`", text) for edit, text in EDITS]),
                "## Codes",
                table(("Code", "Why it matters"), rows),
            ]
        ),
    )
