"""The commands `lesson list`, `lesson show`, `lesson check` and `lesson student`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from studio.cli.error_output import FAILED, UNTRUSTED, InputError, print_error, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.shared_options import Json, Trust, exit_if_untrusted, project_folder, read_project, runs_folder
from studio.document.blocks.block_expansion import flat_document
from studio.lessons.glossary import meanings, page_of
from studio.lessons.lesson import SUFFIX, Lesson, student
from studio.lessons.lesson_check import check_steps, evaluate_project, lesson_problems
from studio.lessons.lesson_files import load, save, shipped_lesson, shipped_lessons
from studio.lessons.situation import MeasuredRun, finished_runs
from studio.lowering.user_code.document_code import untrusted_code

COMMANDS = {
    "list": ("studio.cli.lesson_commands:list_lessons", "List the shipped lessons."),
    "show": ("studio.cli.lesson_commands:show", "Show the goal, the terms and the steps of a lesson."),
    "check": (
        "studio.cli.lesson_commands:check",
        "Check that the solution of a lesson completes each step, or what a student's project reaches.",
    ),
    "student": ("studio.cli.lesson_commands:write_student", "Write a lesson without its solution."),
}
"""The subcommands of `lesson`."""

Name = Annotated[str, typer.Argument(metavar="LESSON", help=f"Name of a shipped lesson, or a lesson file ({SUFFIX}).")]


def list_lessons(as_json: Json = False) -> None:
    with report_errors(as_json=as_json):
        found = shipped_lessons()
    width = max((len(each.key) for each in found), default=0)
    for each in found:
        if as_json:
            print_json({"key": each.key, "title": each.title, "goal": each.goal, "minutes": each.minutes})
        else:
            print_text(f"{each.key:{width}}  {each.minutes:2} min  {each.title}")


def show(name: Name, as_json: Json = False) -> None:
    with report_errors(as_json=as_json):
        lesson = _lesson(name)
    steps = [{"id": step.id, "title": step.title, "text": step.text} for step in lesson.all_steps]
    terms = meanings(lesson)
    if as_json:
        pages = {term: page_of(term) for term in terms}
        facts = {"title": lesson.title, "goal": lesson.goal, "minutes": lesson.minutes}
        print_json({"key": lesson.key, **facts, "terms": terms, "pages": pages, "steps": steps})
        return
    print_text(f"{lesson.title} ({lesson.minutes} minutes)")
    print_text(f"After this lesson you can {lesson.goal}.")
    for term, meaning in terms.items():
        print_text(f"  {term}: {meaning}")
    for number, step in enumerate(lesson.all_steps, 1):
        print_text(f"{number:2}. {step.title}")


def check(
    name: Name,
    project: Annotated[
        Path | None,
        typer.Option("--project", metavar="FILE", help="Project of a student, with its runs, to evaluate instead."),
    ] = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        lesson = _lesson(name)
        if project is not None:
            is_sound = _check_project(lesson, project, trust=trust, as_json=as_json)
        else:
            is_trusted = trust or not _is_file(name)
            if not is_trusted:
                _exit_if_untrusted(lesson, as_json=as_json)
            is_sound = _check_solution(lesson, trust=is_trusted, as_json=as_json)
    if not is_sound:
        raise typer.Exit(FAILED)


def write_student(
    name: Name,
    out: Annotated[Path, typer.Argument(metavar="OUT", help=f"Lesson file to write ({SUFFIX}).")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        lesson = _lesson(name)
        if out.suffix != SUFFIX:
            raise InputError(f"{out}: lesson files end in {SUFFIX}.")
        if os.path.exists(out) and not force:
            raise InputError(f"{out} already exists. Choose another name, or overwrite it with --force.")
        save(student(lesson), out)
    if as_json:
        print_json({"event": "written", "path": str(out)})
    else:
        print_text(f"Wrote {out} without the solution")


def _lesson(name: str) -> Lesson:
    """A shipped lesson, or that of a file. Raises FileError."""
    return load(Path(name)) if _is_file(name) else shipped_lesson(name)


def _is_file(name: str) -> bool:
    return name.endswith(SUFFIX) or os.sep in name


def _exit_if_untrusted(lesson: Lesson, *, as_json: bool) -> None:
    """Exit with code 3 if the start project has Python code that the user does not trust."""
    found = untrusted_code(flat_document(lesson.document))
    if found:
        nodes = ", ".join(path for paths in found.values() for path in paths)
        message = f"{nodes} contains Python code that is not trusted. Read the code, then pass --trust to run it."
        print_error(f"{lesson.key}: {message}")
        if as_json:
            print_json({"event": "failed", "message": message})
        raise typer.Exit(UNTRUSTED)


def _check_solution(lesson: Lesson, *, trust: bool, as_json: bool) -> bool:
    """Print what is wrong with a lesson. Returns whether nothing is."""
    if not any(step.solution for step in lesson.all_steps):
        raise InputError(
            f"{lesson.key} has no solution. Pass the author's file, or a student's project with --project."
        )
    general = lesson_problems(lesson)
    for problem in general:
        _print_problem("", problem, as_json=as_json)
    is_sound = not general
    with tempfile.TemporaryDirectory(prefix="gradwire-lesson-") as folder:
        for found in check_steps(lesson, Path(folder), trusts_code=trust):
            is_sound = is_sound and not found.problems
            for problem in found.problems:
                _print_problem(found.step.id, problem, as_json=as_json)
            if as_json:
                print_json({"event": "step", "step": found.step.id, "problems": list(found.problems)})
            elif not found.problems:
                print_text(f"{found.step.id}: sound")
    if as_json:
        print_json({"event": "checked", "lesson": lesson.key, "sound": is_sound})
    return is_sound


def _print_problem(step: str, problem: str, *, as_json: bool) -> None:
    if not as_json:
        print_error(f"{step}: {problem}" if step else problem)
    elif not step:
        print_json({"event": "problem", "message": problem})


def _check_project(lesson: Lesson, project: Path, *, trust: bool, as_json: bool) -> bool:
    """Print which conditions a project meets. Returns whether it meets those of the task, or of the last step."""
    document = read_project(project, None, trust=trust)
    exit_if_untrusted(project, document, as_json=as_json)
    runs: tuple[MeasuredRun, ...] = finished_runs(runs_folder(project))
    is_met = True
    for step, feedback in evaluate_project(lesson, document, runs, project_folder(project)):
        is_met = all(each.is_met for each in feedback)
        if as_json:
            conditions = [each.as_dict() for each in feedback]
            print_json({"event": "step", "step": step.id, "done": is_met, "conditions": conditions})
            continue
        print_text(f"{step.title}: {'done' if is_met else 'not done'}")
        for each in feedback:
            print_text(f"  {'met    ' if each.is_met else 'not met'}  {each.goal}")
            if not each.is_met:
                print_text(f"           {each.text}")
    if as_json:
        print_json({"event": "checked", "lesson": lesson.key, "done": is_met})
    return is_met


__all__ = ["COMMANDS", "check", "list_lessons", "show", "write_student"]
