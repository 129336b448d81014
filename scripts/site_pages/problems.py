"""The reference of problem codes of the check and of runs."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.reference.markdown import escaped, fence, joined, table

FIELDS = (
    ("event", "`problem` (of the check), `warning` (of a run) or `failed` (what ends the command); not in findings"),
    ("severity", "`error` (no run is possible), `warning` (it trains badly, or figures mislead) or `hint`"),
    ("code", "stable code of the problem; see below"),
    ("message", "expected and actual values, and the next step"),
    ("node, port, wire", "location, if the problem has one; a wire is `NODE.PORT -> NODE.PORT`"),
    ("fix", "label of the fix in the window; null without a fix"),
    ("set", "equivalent `--set` options; empty if the fix changes nodes or wires"),
    ("edits", "the fix as changes of the project file, in order"),
    ("reason", "why this fix is recommended before the others, or what a trial of it measured"),
    ("others", "other fixes: for each `fix`, `set`, `edits` and `reason`"),
    ("evidence", "what was measured, by name"),
    ("help", "why the problem matters"),
)
"""Fields of a record."""

EDITS = (
    ('{"set": NODE, "param": PARAM, "value": VALUE}', "set a parameter"),
    (
        '{"clear": NODE, "param": PARAM}',
        "remove a parameter, which resets it to its default or to the value inferred from wires",
    ),
    ('{"change": NODE, FIELD: VALUE}', "set fields of a node, such as `type`, `muted`, `frozen` or `trains`"),
    ('{"connect": [OUTPUT, INPUT]}', "add a wire between two ports, each `NODE.PORT`"),
    ('{"disconnect": [OUTPUT, INPUT]}', "remove a wire"),
    (
        '{"insert": TYPE, "name": NODE, "params": {}, "wire": [OUTPUT, INPUT], "ports": [IN, OUT]}',
        "insert a new node into a wire, using these ports of the node",
    ),
    ('{"add": TYPE, "name": NODE, "params": {}}', "add a node; its wires are further `connect` edits"),
    ('{"remove": NODE}', "remove a node with its wires"),
    ('{"rename": NODE, "name": NEW}', "rename a node; its wires are kept"),
    ('{"training": {SETTING: VALUE}}', "change settings of the run"),
    ('{"block": NAME, "edits": [EDIT, …]}', "change the nodes and wires of a block; all its instances follow"),
)
"""Edits of a fix."""


def pages() -> Iterator[tuple[str, str]]:
    rows = [(f"`{problem}`{{ #{problem} }}", escaped(each.help)) for problem, each in DIAGNOSES.items()]
    yield (
        "reference/problems.md",
        joined(
            [
                "# Problem codes",
                (
                    f"Look up why a problem matters, by the code that the Problems panel and `--json` show. There are "
                    f"{len(DIAGNOSES)} codes, which do not change between versions. The message of a problem names "
                    "the node, the values and the next step."
                ),
                fence("sh", "gradwire check digits.gradwire --json"),
                "## The record",
                (
                    "With `--json`, every command prints one JSON object per problem. Findings of `data` also "
                    "have `examples`: the part and the row of samples."
                ),
                table(("Field", "Contents"), [(f"`{name}`", text) for name, text in FIELDS]),
                "Each entry of `edits` is one of:",
                table(("Edit", "Description"), [(f"`{edit}`", text) for edit, text in EDITS]),
                "## Codes",
                table(("Code", "Why it matters"), rows),
            ]
        ),
    )
