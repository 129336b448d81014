"""The progress of a learner: kept between sessions, and independent of damage."""

from __future__ import annotations

from pathlib import Path

from studio.document import edits
from studio.document.files import project_files
from studio.lessons.lesson_files import shipped_lesson
from studio.lessons.progress import LessonProgress, Progress

LESSON = shipped_lesson("01-tensors-and-shapes")


def test_progress_and_project_are_kept_until_the_lesson_starts_again(tmp_path: Path) -> None:
    first = LessonProgress(LESSON, folder=tmp_path)
    assert first.read() == Progress()
    project = first.prepare()
    changed = edits.set_param(project_files.load(project), "total", "dim", [0])
    project_files.save(changed, project)
    progress = Progress().with_done("table").with_answer("total", 21).with_hint("total").at("columns")
    first.write(progress)
    again = LessonProgress(LESSON, folder=tmp_path)
    assert again.read() == progress and again.read().share(LESSON) == 1 / len(LESSON.all_steps)
    assert project_files.load(again.prepare()) == changed
    again.start_again()
    assert again.read() == Progress() and not again.project.exists()
    assert project_files.load(again.prepare()) == LESSON.document


def test_damaged_progress_counts_as_none_and_unknown_steps_are_ignored(tmp_path: Path) -> None:
    stored = LessonProgress(LESSON, folder=tmp_path)
    stored.write(Progress(step="removed", done=("table", "removed")))
    assert stored.read() == Progress(done=("table",))
    for content in (b"", b"[]", b'{"done": 3}', b"\xff"):
        (stored.folder / "progress.json").write_bytes(content)
        assert stored.read() == Progress()


def test_lessons_of_files_with_the_same_name_have_separate_progress(tmp_path: Path) -> None:
    folders = {
        LessonProgress(LESSON, source, tmp_path).folder
        for source in (None, tmp_path / "a" / "x.gradlesson", tmp_path / "b" / "x.gradlesson")
    }
    assert len(folders) == 3
