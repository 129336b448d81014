"""The Lesson panel: predictions, checks with feedback, hints, terms, locks, progress and files, by mouse and keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QMimeData, QPointF, QRectF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files.document_reader import read_wire
from studio.document.model import Node
from studio.lessons import lesson_files
from studio.lessons.conditions import ParameterIs, RunExists, SettingIs
from studio.lessons.lesson import Choice, Curve, Lesson, Number, Step
from studio.lessons.lesson_files import shipped_lesson
from studio.lowering.user_code.code_loader import is_trusted
from studio.nodes.python_node import PYTHON
from studio.ui import dialogs
from studio.ui.canvas.level_of_detail import FULL_SCALE
from studio.ui.panels.lesson.lesson_panel import LessonView
from studio.ui.panels.lesson.lesson_text import linked, plain_text
from studio.ui.project.lesson_session import LessonSession
from studio.ui.window.help_page import HelpPage
from studio.ui.window.lessons.lesson_actions import FIRST
from studio.ui.window.main_window import MainWindow
from tests.ui.conftest import MakeWindow
from tests.ui.lessons.lesson_driver import LessonDriver


def small_lesson() -> Lesson:
    """A lesson with each kind of prediction."""
    first = shipped_lesson(FIRST)
    document = edits.set_param(edits.set_training(first.document, epochs=1), "hidden", "out_features", 8)
    steps = (
        Step(
            "choice",
            "Choose",
            "The *loss* falls. See `loss` and <b>bold</b>.",
            prediction=Choice("Which?", ("this", "that"), right=1),
            conditions=(ParameterIs(node="logits", param="out_features", equals=12),),
            hints=("What is missing.", "What to do.", "Why."),
            explanation="It was that.",
        ),
        Step("number", "Count", "Count them.", prediction=Number("How many?", right=3, tolerance=0)),
        Step(
            "curve",
            "Draw",
            "Draw it.",
            prediction=Curve("How?", "train_loss"),
            conditions=(SettingIs(setting="epochs", equals=4), RunExists()),
        ),
        Step("end", "The end", "Read this."),
    )
    document = edits.add(document, "relu", Node("nn.ReLU"))
    for ends in ("hidden.output -> relu.input", "relu.output -> dropout.input"):
        document = edits.connect(document, read_wire(ends, ""))
    return Lesson(
        key="small",
        title="Small lesson",
        goal="do little",
        minutes=1,
        steps=steps,
        document=document,
        terms={"loss": "How wrong the answers are."},
        locked=("hidden",),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "small.gradlesson"
    lesson_files.save(small_lesson(), path)
    return path


@pytest.fixture
def driver(window: MainWindow, qtbot: QtBot, path: Path) -> LessonDriver:
    window.open_file(path)
    driver = LessonDriver(window, qtbot)
    driver.wait_for_check()
    return driver


@pytest.fixture
def session(driver: LessonDriver) -> LessonSession:
    return driver.session


@pytest.fixture
def view(driver: LessonDriver) -> LessonView:
    return driver.view


def test_a_wrong_choice_is_kept_and_does_not_block(driver: LessonDriver, view: LessonView, qtbot: QtBot) -> None:
    driver.predict(0)
    assert view.prediction is not None and not view.prediction.keep.isVisible()
    assert view.prediction.result.text() == "Kept. Now do the step, and compare."
    driver.set_parameter("logits", "out_features", 12)
    qtbot.waitUntil(view.done.isVisible)
    assert "Not as you predicted. Your prediction: this. Answer: that." in view.prediction.result.text()
    assert view.explanation.toPlainText() == "It was that."
    driver.user.click(view.prediction.options[1])
    assert driver.session.answer == 0, "a kept prediction is not changed"


def test_check_says_what_was_found_and_the_next_step(driver: LessonDriver, view: LessonView, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: len(view.checks.rows) == 1)
    assert view.checks.rows[0].text == ""
    driver.scroll_to(view.check)
    driver.user.click(view.check)
    assert view.checks.rows[0].text == "out features of logits is 10. Set out features to 12."
    assert view.checks.rows[0].accessibleName().startswith("Open: ")
    driver.set_parameter("logits", "out_features", 12)
    qtbot.waitUntil(lambda: view.checks.rows[0].feedback.is_met)
    assert not driver.session.is_done(driver.session.step), "the prediction is missing"


def test_three_hints_are_shown_one_by_one(driver: LessonDriver, view: LessonView, session: LessonSession) -> None:
    for number in (1, 2, 3):
        assert view.hint.text() == f"Hint {number} of 3"
        driver.scroll_to(view.hint)
        driver.user.click(view.hint)
        assert view.hints.text().count("\n") == number - 1
    assert not view.hint.isVisible() and session.shown_hints == ("What is missing.", "What to do.", "Why.")


def test_a_number_is_typed_and_kept_with_enter(driver: LessonDriver, view: LessonView, qtbot: QtBot) -> None:
    driver.user.click(view.steps[1])
    assert view.prediction is not None and view.prediction.number is not None
    driver.user.enter(view.prediction.number)
    driver.keys.write("many")
    assert not view.prediction.keep.isEnabled()
    driver.keys.press("Ctrl+A")
    driver.keys.write("3")
    driver.keys.press("Return")
    qtbot.waitUntil(lambda: driver.session.is_done(driver.session.step))
    assert "As you predicted. Your prediction: 3. Answer: 3." in view.prediction.result.text()


def test_a_drawn_curve_is_shown_against_the_measured_one(driver: LessonDriver, view: LessonView, qtbot: QtBot) -> None:
    driver.user.click(view.steps[2])
    driver.predict([0.95, 0.4, 0.2, 0.1, 0.05])
    answer = driver.session.answer
    assert isinstance(answer, list) and len(answer) == 24 and answer[0] > 0.8 > 0.3 > answer[-1]
    driver.run({"epochs": 4})
    qtbot.waitUntil(lambda: driver.session.is_done(driver.session.step))
    assert view.prediction is not None and view.prediction.sketch is not None
    assert "measured" in view.prediction.sketch.accessibleDescription()
    assert "Measured: falls" in view.prediction.result.text()


def test_a_curve_is_drawn_with_keys(driver: LessonDriver, view: LessonView) -> None:
    driver.user.click(view.steps[2])
    assert view.prediction is not None and view.prediction.sketch is not None
    view.prediction.sketch.setFocus()
    driver.keys.press("Up", "Up", "Right", "Right", "Down")
    heights = view.prediction.sketch.heights
    assert heights[0] == pytest.approx(0.7) and heights[2] == pytest.approx(0.6) and len(heights) == 24
    driver.keys.press("Return")
    assert driver.session.answer == list(heights)


def test_locked_nodes_are_refused_with_a_reason(driver: LessonDriver) -> None:
    reasons: list[str] = []
    driver.project.store.refused.connect(reasons.append)
    driver.select("hidden")
    driver.keys.press("Delete")
    assert reasons == ["hidden is locked in this lesson and cannot be removed or renamed. Change other nodes."]
    driver.keys.go_to("relu")
    driver.keys.press("Delete")
    assert "relu" not in driver.project.store.document.nodes
    driver.keys.press("Ctrl+Z")
    assert "relu" in driver.project.store.document.nodes


def test_progress_is_kept_and_start_again_is_undoable(
    driver: LessonDriver, window: MainWindow, path: Path, make_window: MakeWindow, qtbot: QtBot
) -> None:
    driver.predict(1)
    driver.set_parameter("logits", "out_features", 12)
    qtbot.waitUntil(lambda: driver.session.is_done(driver.session.step))
    driver.user.click(driver.view.next)
    window.files.close(driver.project)
    window.open_file(path)
    driver = LessonDriver(window, qtbot)
    assert driver.session.index == 1 and driver.session.progress.done == ("choice",)
    assert driver.project.store.document.nodes["logits"].params["out_features"] == 12
    driver.user.click(driver.view.restart)
    assert driver.session.index == 0 and not driver.session.progress.done and driver.session.answer is None
    assert driver.project.store.document.nodes["logits"].params["out_features"] == 10
    driver.project.store.undo()
    assert driver.project.store.document.nodes["logits"].params["out_features"] == 12
    window.files.close(driver.project)
    other = make_window()
    other.open_file(path)
    assert other.lessons.session is not None and other.lessons.session.index == 0


def test_earlier_runs_count_after_opening_again_but_not_after_starting_again(
    driver: LessonDriver, window: MainWindow, path: Path, qtbot: QtBot
) -> None:
    driver.user.click(driver.view.steps[2])
    driver.run({"epochs": 4})
    qtbot.waitUntil(lambda: met(driver.session) == [True, True])
    window.files.close(driver.project)
    window.open_file(path)
    driver = LessonDriver(window, qtbot)
    qtbot.waitUntil(lambda: met(driver.session) == [True, True])
    driver.user.click(driver.view.restart)
    driver.user.click(driver.view.steps[2])
    driver.set_training({"epochs": 4})
    qtbot.waitUntil(lambda: met(driver.session) == [True, False])
    assert driver.session.feedback[1].text == "No run has finished yet. Press Run."
    driver.run({})
    qtbot.waitUntil(lambda: met(driver.session) == [True, True])


def met(session: LessonSession) -> list[bool]:
    return [each.is_met for each in session.feedback]


@pytest.mark.parametrize("starts_again", [True, False])
def test_a_damaged_project_is_replaced_on_request(
    driver: LessonDriver, window: MainWindow, path: Path, monkeypatch: pytest.MonkeyPatch, *, starts_again: bool
) -> None:
    file, start = driver.project.store.path, driver.session.lesson.document
    assert file is not None
    driver.session.predict(1)
    window.files.close(driver.project)
    file.write_text("{")
    asked: list[str] = []
    monkeypatch.setattr(
        dialogs, "confirm_new_start", lambda _, title, reason: asked.extend((title, reason)) or starts_again
    )
    window.open_file(path)
    assert asked[0] == "Small lesson" and str(file) in asked[1]
    assert (window.lessons.session is not None) is starts_again
    if window.lessons.session is not None:
        assert window.lessons.session.project.store.document == start and window.lessons.session.answer is None
    else:
        assert file.read_text() == "{", "nothing is lost without consent"


def test_code_of_a_shipped_lesson_is_trusted_and_that_of_a_file_is_not(
    window: MainWindow, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    source = "def own(x):\n    return x + 3"
    lesson = small_lesson()
    lesson_files.save(
        replace(lesson, document=edits.add(lesson.document, "own", Node(PYTHON, {"source": source}))), path
    )
    window.open_file(path)
    assert window.project is not None
    assert not is_trusted(source)
    assert window.lessons.open(shipped_lesson("14-compile-and-graph-breaks"))
    assert is_trusted(str(window.project.store.document.nodes["limit"].params["source"]))


def test_a_key_shows_and_hides_the_panel(driver: LessonDriver, window: MainWindow) -> None:
    for is_shown in (False, True):
        driver.keys.press("Alt+L")
        assert window.docks["lesson"].isVisible() is is_shown


def test_a_term_is_explained_and_html_is_text(driver: LessonDriver, view: LessonView) -> None:
    assert "<b>bold</b>" in view.text.toPlainText()
    view.text.anchorClicked.emit(QUrl("term:loss"))
    [page] = [each for each in QApplication.topLevelWidgets() if isinstance(each, HelpPage) and each.isVisible()]
    assert "How wrong the answers are." in page.text.toPlainText()
    page.close()


def test_the_card_shows_text_without_marks_and_names_large_enough_to_read(window: MainWindow, qtbot: QtBot) -> None:
    assert window.lessons.open(shipped_lesson("14-compile-and-graph-breaks"))
    session, guide = window.lessons.session, window.lessons.guide
    assert session is not None and window.canvas is not None
    qtbot.waitUntil(lambda: session.project.store.is_checked)
    window.canvas.camera.zoom_to(0.2, animated=False)
    session.go(1)
    assert guide.card.text.text().endswith("turn on Compile training steps, and run.")
    session.go(3)  # it points at one node
    qtbot.waitUntil(lambda: window.canvas is not None and window.canvas.camera.scale >= FULL_SCALE)


def test_terms_become_links_once_and_not_in_code() -> None:
    terms = ("loss", "loss curve")
    assert linked("`loss`, the loss and losses, a loss curve", terms) == (
        "`loss`, the [loss](term:loss) and losses, a [loss curve](term:loss%20curve)"
    )
    assert linked("Press Run. The Runs panel lists a run.", ("run",)) == (
        "Press Run. The Runs panel lists a [run](term:run)."
    )
    assert linked("**Loss** is a number.", ("loss",)) == "**[Loss](term:loss)** is a number."


def test_a_step_points_at_nodes_that_the_learner_added(window: MainWindow, qtbot: QtBot) -> None:
    assert window.lessons.open(shipped_lesson(FIRST))
    session, canvas, guide = window.lessons.session, window.canvas, window.lessons.guide
    assert session is not None and canvas is not None
    step = next(step for step in session.steps if step.nodes == ("@nn.ReLU", "dropout"))
    session.project.store.edit("Add", lambda document: edits.add(document, "my_relu", Node("nn.ReLU", at=(3000, 0))))
    session.go(session.steps.index(step))
    box = canvas.canvas_scene.boxes(frozenset(["my_relu"]))["my_relu"]
    qtbot.waitUntil(lambda: canvas.camera.visible.contains(QRectF(box.left, box.top, box.width, box.height)))
    assert guide.card.isVisible()


def test_marks_are_left_out_of_plain_text() -> None:
    assert (
        plain_text("Set *out features* of `fc`:\n\n- **all** of 2 * 3 * 4")
        == "Set out features of fc:\n\n• all of 2 * 3 * 4"
    )


def test_the_palette_waits_for_the_prediction(window: MainWindow, qtbot: QtBot) -> None:
    """The palette covers the Lesson panel, where the question is."""
    assert window.lessons.open(shipped_lesson("01-tensors-and-shapes"))
    driver, card = LessonDriver(window, qtbot), window.lessons.guide.card
    window.lessons.guide.show_card()
    index = next(i for i, step in enumerate(driver.session.steps) if step.target == "palette")
    driver.user.click(driver.view.steps[index])
    assert driver.view.isVisible() and not card.isVisible()
    driver.predict(0)
    qtbot.waitUntil(card.isVisible)
    assert not window.docks["palette"].visibleRegion().isEmpty()
    focused = window.focusWidget()
    assert focused is not None and window.docks["palette"].isAncestorOf(focused), "keys go to what the step is about"
    window.docks["lesson"].raise_()
    qtbot.waitUntil(lambda: not card.isVisible())  # it would cover the text
    window.docks["palette"].raise_()
    qtbot.waitUntil(card.isVisible)


def test_a_card_that_covers_the_text_repeats_it(window: MainWindow, qtbot: QtBot) -> None:
    assert window.lessons.open(shipped_lesson(FIRST))
    driver, card = LessonDriver(window, qtbot), window.lessons.guide.card
    window.lessons.guide.show_card()
    for index, step in enumerate(driver.session.steps[:4]):
        driver.session.go(index)
        paragraphs = card.text.text().count("\n\n") + 1
        assert paragraphs == (step.text.count("\n\n") + 1 if step.target == "palette" else 1), step.title


def test_a_lesson_file_is_dropped_and_listed_as_recent(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    window.dropEvent(event)
    assert window.lessons.session is not None and window.lessons.session.lesson.title == "Small lesson"
    assert window.open_projects.recent == (path,)
    project = window.project
    window.open_file(path)
    assert window.project is project and len(window.open_projects.projects) == 1


def test_a_damaged_lesson_is_refused_with_a_message(
    window: MainWindow, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text(path.read_text().replace('"minutes": 1', '"minutes": "x"'))
    messages: list[str] = []
    monkeypatch.setattr(dialogs, "message", lambda *texts: messages.extend(map(str, texts[1:])))
    window.open_file(path)
    assert messages[0] == "Could not open small.gradlesson" and "minutes" in messages[1]
    assert window.project is None


def test_the_start_page_lists_lessons_with_progress(window: MainWindow, qtbot: QtBot) -> None:
    window.commands.run("help.lessons")
    cards = window.welcome.lesson_list.cards
    assert [card.lesson.key for card in cards] == [each.key for each in lesson_files.shipped_lessons()]
    assert cards[0].hasFocus() and cards[0].state.text().startswith(f"{len(cards[0].lesson.all_steps)} steps")
    driver_key = cards[0].lesson
    cards[0].pressed.emit()
    session = window.lessons.session
    assert session is not None and session.lesson is driver_key
    session.progress = replace(session.progress, done=("look",))
    session.go(1)
    window.show_lessons()
    assert cards[0].state.text().startswith(f"1 of {len(session.steps)} steps")
    assert cards[0].accessibleName().startswith("First network, 1 of")
