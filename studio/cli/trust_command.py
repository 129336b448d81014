"""The command `trust`: show the Python code of a project, remember that it may run, and revoke that."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from studio.cli.error_output import InputError, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.shared_options import Json
from studio.document.code_trust import TRUST, source_digest
from studio.document.files import project_files
from studio.lowering.user_code.code_loader import is_trusted
from studio.lowering.user_code.document_code import document_code, trust_code

_DIGITS = 16
"""Shown digits of a digest."""


def trust(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Project file (.gradwire).")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    list_code: Annotated[
        bool, typer.Option("--list", help="List what is trusted: of FILE, or all. Changes nothing.")
    ] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke trust: of the code of FILE, or all.")] = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        if list_code and revoke:
            raise InputError("--list cannot be combined with --revoke.")
        if file is None:
            if not (list_code or revoke):
                raise InputError("FILE is missing. Pass a project file, --list or --revoke.")
            _list_all(as_json=as_json) if list_code else _revoke_all(yes=yes, as_json=as_json)
            return
        document = project_files.load(file)
        code = document_code(document)
        if revoke:
            count = TRUST.store.remove(map(source_digest, code))
            _report(f"{file}: revoked trust of {_sources(count)}.", "revoked", count, as_json=as_json)
            return
        for source, paths in code.items():
            _show(source, paths, as_json=as_json)
        new = [source for source in code if not is_trusted(source)]
        if list_code:
            return
        if not new:
            text = "has no Python code" if not code else "is trusted already"
            _report(f"{file} {text}.", "trusted", 0, as_json=as_json)
            return
        _confirm(f"Code can do everything that you can do. Trust {_sources(len(new))} of {file}?", yes=yes)
        trust_code(document, file.name)
        _report(f"{file}: trusted {_sources(len(new))}.", "trusted", len(new), as_json=as_json)


def _show(source: str, paths: list[str], *, as_json: bool) -> None:
    state = "trusted" if is_trusted(source) else "not trusted"
    digest = source_digest(source)
    if as_json:
        content = {"nodes": paths, "digest": digest, "trusted": is_trusted(source), "source": source}
        print_json({"event": "code", **content})
        return
    print_text(f"-- {', '.join(paths)}: {state}, SHA-256 {digest[:_DIGITS]}")
    for number, line in enumerate(source.replace("\r\n", "\n").rstrip("\n").split("\n"), start=1):
        print_text(f"{number:4}  {line}".replace("\t", "    ").rstrip())


def _list_all(*, as_json: bool) -> None:
    for each in TRUST.store.entries():
        if as_json:
            print_json({"event": "trusted", "digest": each.digest, "label": each.label, "since": each.since})
        else:
            print_text(f"{each.digest[:_DIGITS]}  {each.since}  {each.label}".rstrip())


def _revoke_all(*, yes: bool, as_json: bool) -> None:
    _confirm("Revoke trust of all code?", yes=yes)
    TRUST.store.clear()
    _report("No code is trusted.", "revoked", None, as_json=as_json)


def _report(text: str, event: str, count: int | None, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": event, "sources": count})
    else:
        print_text(text)


def _confirm(question: str, *, yes: bool) -> None:
    """Ask. Raises InputError if there is no terminal, and Abort for no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{question} There is no terminal to answer. Pass --yes after reading the code.")
    typer.confirm(question, abort=True, err=True)


def _sources(count: int) -> str:
    return f"{count} source{'' if count == 1 else 's'}"


__all__ = ["trust"]
