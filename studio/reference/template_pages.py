"""Reference of the bundled templates: a section with a picture per template."""

from __future__ import annotations

from collections.abc import Iterator

from studio.document.files.project_templates import Template, templates
from studio.lowering import check
from studio.nodes.catalogue import catalogue
from studio.nodes.types import Role
from studio.reference.block_picture import picture
from studio.reference.markdown import code, fence, joined, prose, table

PATH = "reference/templates.md"
_ROLES = {"Data": Role.SOURCE, "Loss": Role.LOSS, "Metrics": Role.METRIC, "Optimizer": Role.OPTIMIZER}


def pages() -> Iterator[tuple[str, str]]:
    found = templates()
    rows = [(f"[{each.title}](#{each.key})", code(each.key), prose(each.summary)) for each in found]
    yield (
        PATH,
        joined(
            [
                "# Templates",
                (
                    "Look up the bundled projects: what each network learns, from which data, and how well. Open one "
                    "on the start page, or create a project file in a terminal:"
                ),
                fence("sh", f"gradwire new {found[0].key} -o first.gradwire\ngradwire run first.gradwire"),
                table(("Template", "Name", "What it learns"), rows),
                *(_section(each) for each in found),
            ]
        ),
    )


def _section(template: Template) -> str:
    drawing = picture(template.document, f"Graph of the template {template.title}")
    return joined(
        [
            f"## {template.title} {{ #{template.key} }}",
            template_section(template),
            f'<figure style="overflow-x: auto">\n{drawing}\n</figure>',
        ]
    ).rstrip()


def template_section(template: Template) -> str:
    """What a template learns, its parts and how to open it, without a heading."""
    document, types = template.document, catalogue()
    report = check(document, types)
    kinds = [kind for node in document.nodes.values() if (kind := types.get(node.type)) is not None]
    titles = {
        title: ", ".join(dict.fromkeys(kind.title for kind in kinds if kind.role is role))
        for title, role in _ROLES.items()
    }
    facts = {
        **titles,
        "Parameters": f"{sum(report.nodes[name].parameters for name in document.nodes if name in report.nodes):,}",
        "Epochs": f"{document.training.epochs:,}",
        "Blocks": ", ".join(code(name) for name in document.blocks),
    }
    return joined(
        [
            prose(template.summary),
            table(("Part", "In this template"), [(title, text) for title, text in facts.items() if text]),
            fence("sh", f"gradwire new {template.key} -o {template.key}.gradwire"),
        ]
    )


__all__ = ["PATH", "pages", "template_section"]
