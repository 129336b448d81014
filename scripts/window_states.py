"""The states that `panel_states.py` makes pictures of: a function for each, which brings a new window into it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from PySide6.QtCore import QPointF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

from screenshots import open_template, settle, until
from studio.document import edits, frames
from studio.document.block_grouping import group
from studio.document.model import Document, Frame, Node
from studio.ui import dialogs
from studio.ui.project.project import Project
from studio.ui.window.context_help import show_context_help
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar

LATIN = "a_name_of_a_layer_that_describes_everything_about_it_in_far_more_than_eighty_characters"
CHINESE = "用于图像分类的卷积神经网络的第一个全连接隐藏层的非常长的名称" * 2
ARABIC = "طبقة_مخفية_ذات_اسم_طويل_جدا_يصف_كل_شيء_عن_هذه_الطبقة_وما_تفعله_في_الشبكة"
EMOJI = "🧠🔥 A title with emoji 👩🏽‍🔬 that is much longer than any title should ever be 🚀🚀🚀 and goes on and on"
DOCKS = ("runs", "problems", "data", "autograd", "compile", "code", "log", "history")

State = Callable[[MainWindow, Path], None]
STATES: dict[str, State] = {}


def state(function: State) -> State:
    STATES[function.__name__] = function
    return function


# -- without a project


@state
def welcome(window: MainWindow, folder: Path) -> None:
    settle(window)


@state
def welcome_recent(window: MainWindow, folder: Path) -> None:
    names = ["digits", LATIN, ARABIC, "用于图像分类的卷积神经网络", "🧠 emoji"]
    for name in names:
        project = window.open_projects.new()
        window.open_projects.save(project, folder / f"{name}.gradwire")
    window.show_welcome()


@state
def settings_dialog(window: MainWindow, folder: Path) -> None:
    window.open_settings()


@state
def command_palette(window: MainWindow, folder: Path) -> None:
    open_template(window)
    window.open_palette()


@state
def command_palette_without_match(window: MainWindow, folder: Path) -> None:
    open_template(window)
    window.open_palette()
    QTest.keyClicks(window.command_palette.edit, "zzzz" + LATIN)


@state
def about(window: MainWindow, folder: Path) -> None:
    with _shown_boxes():
        dialogs.about(window, "1.2.3")


@state
def question_with_long_names(window: MainWindow, folder: Path) -> None:
    with _shown_boxes():
        dialogs.save_before_quitting(window, [LATIN, CHINESE, ARABIC, EMOJI], is_running=True, runs=12)


@state
def error_message(window: MainWindow, folder: Path) -> None:
    with _shown_boxes():
        dialogs.message(window, f"Could not open {LATIN}.gradwire", "It is not JSON.", traceback="Traceback\n" * 30)


@contextmanager
def _shown_boxes() -> Iterator[None]:
    """Message boxes open without waiting for an answer."""
    with suppress(RuntimeError):
        ask, dialogs._ask = dialogs._ask, QMessageBox.open  # type: ignore[assignment]
        try:
            yield
        finally:
            dialogs._ask = ask


# -- empty projects


def _empty(dock: str) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = window.open_projects.new()
        until(lambda: project.store.is_checked)
        window.docks[dock].reveal()

    return show


for _dock in DOCKS:
    STATES[f"empty_{_dock}"] = _empty(_dock)


def _unselected(dock: str) -> State:
    """The panel of a project that was not trained."""

    def show(window: MainWindow, folder: Path) -> None:
        open_template(window)
        window.docks[dock].reveal()
        settle(window)
        QTest.qWait(1500)

    return show


for _dock in DOCKS:
    STATES[f"untrained_{_dock}"] = _unselected(_dock)


# -- inspector


def _selected(template: str, *names: str) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window, template)
        project.scope.select(names)
        window.docks["inspector"].reveal()

    return show


_NODES = {
    "dataset": ("digits-mlp", "digits"),
    "loader": ("digits-mlp", "batches"),
    "layer": ("digits-mlp", "hidden"),
    "loss": ("digits-mlp", "cross_entropy"),
    "optimizer": ("digits-mlp", "adam"),
    "optimizer_of_blocks": ("digits-resnet18", "adam"),
    "two": ("digits-mlp", "hidden", "relu"),
    "block": ("digits-resnet18", "stage1"),
    "table": ("penguins-classification", "penguins"),
    "gan": ("digits-gan", "discriminator_adam"),
}
for _name, _arguments in _NODES.items():
    STATES[f"inspector_{_name}"] = _selected(*_arguments)


@state
def inspector_new_block(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-cnn")
    names = [name for name, node in project.store.document.nodes.items() if node.type.startswith("nn.")][:3]
    project.store.edit("Group", lambda document: group(document, names, "features")[0])
    until(lambda: project.store.is_checked)
    project.scope.select(["features"])


@state
def inside_block(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-vit")
    blocks = [name for name, node in project.store.document.nodes.items() if node.type.startswith("block.")]
    window.project_views[project].canvas.reveal(f"{blocks[-1]}.{_first_inner(project.store.document, blocks[-1])}")


def _first_inner(document: Document, name: str) -> str:
    block = document.blocks[document.nodes[name].type.removeprefix("block.")]
    return next(inner for inner, node in block.nodes.items() if not node.type.startswith("port."))


# -- long names and huge numbers


def _long_named(document: Document) -> Document:
    for old, new in zip(
        ("hidden", "relu", "logits", "cross_entropy"), (LATIN, CHINESE, ARABIC, LATIN + "_2"), strict=True
    ):
        if old in document.nodes:
            document = edits.rename(document, old, new)
    document = edits.set_note(document, LATIN, f"{EMOJI} {ARABIC} " * 6)
    document = edits.set_description(document, f"{EMOJI}\n" + f"{LATIN} " * 20)
    at = (document.nodes[LATIN].at[0] - 24.0, document.nodes[LATIN].at[1] - 240.0)
    return frames.add_frame(document, "frame", Frame(EMOJI, f"{ARABIC} {EMOJI} " * 4, "blue", at, (420.0, 200.0)))


def _long(dock: str, selected: str = LATIN) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window)
        project.store.edit(f"Rename {LATIN}", _long_named)
        until(lambda: project.store.is_checked)
        window.open_projects.save(project, folder / f"{LATIN}.gradwire")
        project.scope.select([selected])
        window.docks[dock].reveal()
        QTest.qWait(1500)

    return show


for _dock in ("code", "history", "data", "autograd", "compile"):
    STATES[f"long_{_dock}"] = _long(_dock)
STATES["long_arabic"] = _long("code", ARABIC)
STATES["long_chinese"] = _long("log", CHINESE)


@state
def long_unselected(window: MainWindow, folder: Path) -> None:
    _long("history")(window, folder)
    assert window.project is not None
    window.project.scope.select([])


@state
def long_find(window: MainWindow, folder: Path) -> None:
    _long("history")(window, folder)
    window.commands.run("edit.find")
    QTest.keyClicks(_focused(), LATIN + "x")


def _focused() -> QWidget:
    QTest.qWait(100)
    focused = QApplication.focusWidget()
    assert focused is not None
    return focused


@state
def huge_numbers(window: MainWindow, folder: Path) -> None:
    project = open_template(window)

    def change(document: Document) -> Document:
        document = edits.set_param(document, "hidden", "out_features", 2_000_000_000)
        document = edits.set_param(document, "logits", "in_features", 2_000_000_000)
        return edits.set_training(document, epochs=1_000_000_000, seed=2**60)

    project.store.edit("Set", change)
    until(lambda: project.store.is_checked)
    window.show_problems()


@state
def huge_numbers_of_layer(window: MainWindow, folder: Path) -> None:
    huge_numbers(window, folder)
    assert window.project is not None
    window.project.scope.select(["hidden"])


@state
def heat_map(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-resnet18")
    window.project_views[project].heat_map.show_figure("parameters")


# -- problems


@state
def problems_two(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    until(lambda: bool(project.store.report.errors))
    project.scope.select(["logits"])
    window.show_problems()


@state
def problems_200(window: MainWindow, folder: Path) -> None:
    project = window.open_projects.new()

    def change(document: Document) -> Document:
        kinds = ("nn.Linear", "nn.Conv2d", "nn.LSTM", "losses.cross_entropy", "unknown.Kind")
        for index in range(220):
            name = f"{LATIN}_{index}" if index % 5 == 0 else f"node{index}"
            at = (index % 20 * 200.0, index // 20 * 120.0)
            document = edits.add(document, name, Node(kinds[index % len(kinds)], {}, at))
        return document

    project.store.edit("Add 220 nodes", change)
    until(lambda: bool(project.store.report.errors))
    window.show_problems()
    window.canvas.canvas_actions.fit_all(animated=False)  # type: ignore[union-attr]


# -- data


def _data(template: str, node: str, page: str = "") -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window, template)
        project.scope.select([node])
        window.docks["data"].reveal()
        panel = window.project_views[project].data
        QTest.qWait(2500)
        if page:
            panel._show_chosen_page(page)
            QTest.qWait(1500)

    return show


STATES["data_images"] = _data("digits-cnn", "digits")
STATES["data_statistics"] = _data("digits-cnn", "digits", "Statistics")
STATES["data_table"] = _data("penguins-classification", "penguins")
STATES["data_table_statistics"] = _data("penguins-classification", "penguins", "Statistics")
STATES["data_text"] = _data("shakespeare-gpt", "text")
STATES["data_series"] = _data("series-forecast", "series")


@state
def data_sample(window: MainWindow, folder: Path) -> None:
    _data("digits-cnn", "digits")(window, folder)
    window.project_views[window.project].data._choose(3)  # type: ignore[index]
    QTest.qWait(1000)


@state
def data_missing_file(window: MainWindow, folder: Path) -> None:
    project = window.open_projects.new()
    node = Node("data.CSV", {"path": f"{LATIN}.csv"}, (0.0, 0.0))
    project.store.edit("Add", lambda document: edits.add(document, "table", node))
    until(lambda: project.store.is_checked)
    project.scope.select(["table"])
    window.docks["data"].reveal()
    QTest.qWait(1000)


# -- runs, compiled steps, gradients


def _train(window: MainWindow, epochs: int = 3, template: str = "digits-mlp") -> Project:
    project = open_template(window, template)
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=epochs))
    until(lambda: project.store.is_checked)
    window.start_run()
    return project


def _finish(project: Project) -> None:
    until(lambda: bool(project.runner.runs) and not project.runner.is_active)


@state
def runs_starting(window: MainWindow, folder: Path) -> None:
    _train(window, 100, "digits-cnn")


@state
def runs_paused(window: MainWindow, folder: Path) -> None:
    project = _train(window, 100)
    until(lambda: bool(project.runner.runs) and project.runner.runs[-1].progress.epoch >= 3)
    project.runner.pause()
    until(lambda: project.runner.state == "paused")


@state
def runs_three(window: MainWindow, folder: Path) -> None:
    project = _train(window)
    _finish(project)
    for name in (LATIN, EMOJI):
        window.start_run()
        _finish(project)
        window.run_actions.rename(project.runner.runs[-1], name)  # type: ignore[union-attr]
    panel = window.project_views[project].runs
    panel.list.select(project.runner.runs)
    panel.draw()


@state
def runs_details(window: MainWindow, folder: Path) -> None:
    project = _train(window)
    _finish(project)
    panel = window.project_views[project].runs
    panel.list.select(project.runner.runs)
    panel.draw()


@state
def runs_failed(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set", lambda document: edits.set_param(document, "adam", "lr", 1e30))
    until(lambda: project.store.is_checked)
    window.start_run()
    _finish(project)
    window.project_views[project].runs.draw()


@state
def log_of_runs(window: MainWindow, folder: Path) -> None:
    runs_failed(window, folder)
    window.docks["log"].reveal()
    log = window.project_views[window.project].log  # type: ignore[index]
    log.add(f"{EMOJI} {ARABIC} {LATIN * 4}", "warning")
    log.add("Traceback (most recent call last):\n" + '  File "model.py", line 3, in forward\n' * 20, "error")


@state
def autograd_graph(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.show_autograd_graph()
    until(lambda: bool(window.project_views[project].autograd.view.items_by_id))


@state
def compile_running(window: MainWindow, folder: Path) -> None:
    open_template(window, "digits-cnn")
    window.explain_step()


@state
def compile_explained(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.explain_step()
    until(lambda: project.explainer.explanation is not None)


@state
def trial_learning_rate(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.find_rate()
    trial = window.project_views[project].trial
    assert trial is not None
    until(lambda: not trial.is_running)


@state
def trial_overfit_running(window: MainWindow, folder: Path) -> None:
    open_template(window, "digits-cnn")
    window.overfit()


# -- code, history, comparison, help


@state
def code_with_error(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.docks["code"].reveal()
    editor = window.project_views[project].code.editor
    QTest.qWait(500)
    editor.setPlainText(editor.toPlainText().replace("return", "while True: pass\n        return", 1))
    QTest.qWait(1500)


@state
def history_of_edits(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    for width in range(64, 400, 16):
        project.store.edit(
            f"Set out_features of {LATIN} to {width}",
            lambda document, width=width: edits.set_param(document, "hidden", "out_features", width),
        )
    project.store.undo()
    project.store.undo()
    window.docks["history"].reveal()


@state
def comparison(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-cnn")
    saved = project.store.document
    removed = [name for name, node in saved.nodes.items() if node.type == "nn.ReLU"][:1]
    project.store.edit("Remove", lambda document: edits.remove(document, removed))
    project.store.edit("Set", lambda document: edits.set_training(document, epochs=99))
    project.store.edit("Add", lambda document: edits.add(document, LATIN, Node("nn.Dropout", {}, (300.0, 300.0))))
    until(lambda: project.store.is_checked)
    window.project_views[project].compare_with(EMOJI, saved)


def _help(template: str, name: str) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window, template)
        project.scope.select([name])
        window.canvas.setFocus()  # type: ignore[union-attr]
        show_context_help(window)

    return show


STATES["help_layer"] = _help("digits-cnn", "logits")
STATES["help_block"] = _help("digits-resnet18", "stage1")


# -- the canvas


@state
def search(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.scope.select(["hidden"])
    window.canvas.open_search()  # type: ignore[union-attr]


@state
def search_with_parameters(window: MainWindow, folder: Path) -> None:
    search(window, folder)
    QTest.keyClicks(_focused(), "conv 64 k3 s2 zz")


@state
def search_without_match(window: MainWindow, folder: Path) -> None:
    search(window, folder)
    QTest.keyClicks(_focused(), "zzzz" + LATIN)


@state
def search_blocks(window: MainWindow, folder: Path) -> None:
    search(window, folder)
    QTest.keyClicks(_focused(), "block")


@state
def palette_without_match(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.project_views[project].panels["palette"].field.setText("zzzz" + LATIN)  # type: ignore[attr-defined]


@state
def palette_blocks(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.project_views[project].panels["palette"].field.setText("attention")  # type: ignore[attr-defined]


@state
def notifications(window: MainWindow, folder: Path) -> None:
    open_template(window)
    window.show_notification(
        NotificationBar(f"{LATIN}.gradwire was changed on disk.", [("Reload", print), ("Keep", print)])
    )
    window.show_notification(NotificationBar(f"{EMOJI} " * 4, [("Undo", print)], icon="ok"))


# -- the import page


def _import(make: Callable[[Path], Path], wait_ms: int = 3000) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = window.open_projects.new()
        until(lambda: project.store.is_checked)
        window.imports.start(window.project_views[project].canvas, [make(folder)], QPointF())
        QTest.qWait(wait_ms)

    return show


def _table(folder: Path) -> Path:
    path = folder / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["", "age", "sex", "joined", "comment", "survived"])
        for row in range(300):
            age = "" if row % 9 == 0 else row * 7 % 60
            text = "needs ticket" if row % 2 else "paid in full, twice"
            rows.writerow([row, age, "fm"[row % 2], f"{row % 28 + 1:02}/03/2020", text, int(row % 3 == 0)])
    return path


def _long_table(folder: Path) -> Path:
    path = folder / f"{LATIN}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([LATIN, CHINESE, ARABIC, EMOJI, *(f"{LATIN}_{index}" for index in range(40))])
        for row in range(200):
            rows.writerow([row % 3, f"{LATIN}{row % 3}", ARABIC, EMOJI, *([row * 1e12] * 40)])
    return path


def _constant_table(folder: Path) -> Path:
    path = folder / "constant.csv"
    path.write_text("a,b\n" + "1,1\n" * 50)
    return path


def _no_data(folder: Path) -> Path:
    path = folder / f"{LATIN}.csv"
    path.write_text("")
    return path


STATES["import_table"] = _import(_table)
STATES["import_long_names"] = _import(_long_table)
STATES["import_constant"] = _import(_constant_table)
STATES["import_empty_file"] = _import(_no_data)
STATES["import_reading"] = _import(_long_table, 0)
