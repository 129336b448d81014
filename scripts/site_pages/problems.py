"""The reference of problem codes of the check and of runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from studio.lowering.problems.diagnoses import AREAS, DIAGNOSES
from studio.lowering.problems.diagnosis import Diagnosis
from studio.reference import problem_pages
from studio.reference.block_picture import picture
from studio.reference.markdown import escaped, fence, joined, table

FIELDS = (
    (
        "event",
        "`problem` (of the check), `warning` (of a run) or `failed` (what ends it); not in `gradwire data`",
    ),
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
    ("dismissed", "whether the project hides problems of this code at this node; text output leaves them out"),
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
    yield (
        problem_pages.PATH,
        joined(
            [
                "# Problem codes",
                (
                    "Look up why a problem matters and how it is fixed, by the code that the Problems panel and "
                    f"`--json` show. There are {len(DIAGNOSES)} codes, which do not change between versions. The "
                    "message of a problem names the node, the values and the next step."
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
                *(part for area, diagnoses in AREAS.items() for part in _area(problem_pages.TITLES[area], diagnoses)),
            ]
        ),
    )


def _area(title: str, diagnoses: Iterable[Diagnosis]) -> Iterator[str]:
    """A heading, a table of the codes, and a section for each."""
    yield f"## {title}"
    yield table(("Code", "Problem"), [(f"[`{each.code}`](#{each.code})", escaped(each.title)) for each in diagnoses])
    for each in diagnoses:
        yield f"### {each.title} {{ #{each.code} }}"
        yield f"Code `{each.code}`"
        yield problem_pages.problem_section(each, _drawing(each.code))


def _drawing(problem_code: str) -> str:
    example = problem_pages.example_of(problem_code)
    if example is None or not example.document.nodes:
        return ""
    drawing = picture(example.document, f"Graph of the example: {example.title}")
    return f'<figure style="overflow-x: auto">\n{drawing}\n</figure>'
