"""The commands `templates`, `new` and `schema`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from studio.cli.error_output import InputError, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.shared_options import Json
from studio.document import SUFFIX
from studio.document.files import project_files
from studio.document.files.project_schema import schema
from studio.document.files.project_templates import template, templates
from studio.document.model import Document
from studio.lessons.lesson_schema import lesson_schema


def list_templates(as_json: Json = False) -> None:
    with report_errors(as_json=as_json):
        found = templates()
    width = max((len(each.key) for each in found), default=0)
    for each in found:
        if as_json:
            print_json({"key": each.key, "title": each.title, "summary": each.summary})
        else:
            print_text(f"{each.key:{width}}  {each.title}")


def new(
    key: Annotated[str, typer.Argument(metavar="TEMPLATE", help="Template name, as listed by `gradwire templates`.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help=f"Project file to create ({SUFFIX}).")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    with report_errors():
        document: Document = template(key).document
        if out.suffix != SUFFIX:
            raise InputError(f"--out {out}: project files end in {SUFFIX}.")
        if os.path.exists(out) and not force:
            raise InputError(f"{out} already exists. Choose another name, or overwrite it with --force.")
        project_files.save(document, out)
    print_text(f"Created {out} from template {key}")


def print_schema(
    lesson: Annotated[bool, typer.Option("--lesson", help="Print the schema of lesson files.")] = False,
) -> None:
    print_text(json.dumps(lesson_schema() if lesson else schema(), indent=2))


__all__ = ["list_templates", "new", "print_schema"]
