"""The lesson model: frozen plain data. A lesson is a start project and steps; a file has one lesson."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from studio.document import LESSON_SUFFIX as SUFFIX
from studio.document.model import Document, Json
from studio.lessons.conditions import Condition, NodeRef, PortRef, Statistic, Which

Text: TypeAlias = Annotated[str, Meta(max_length=4000)]
Line: TypeAlias = Annotated[str, Meta(min_length=1, max_length=300)]
StepId: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]

Target: TypeAlias = Literal[
    "canvas",
    "palette",
    "inspector",
    "problems",
    "runs",
    "data",
    "autograd",
    "compile",
    "code",
    "run button",
    "figures",
]
"""The part of the window that a step points at."""

Course: TypeAlias = Literal["falls", "rises", "stays flat", "falls, then rises", "oscillates", "diverges"]
COURSES: tuple[Course, ...] = ("falls", "rises", "stays flat", "falls, then rises", "oscillates", "diverges")


class Choice(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="choice"):
    """A prediction that is one of several options. The answer is the index of an option."""

    question: Line
    """What is asked."""
    options: Annotated[tuple[Line, ...], Meta(min_length=2, max_length=6)]
    """The possible answers."""
    right: Annotated[int, Meta(ge=0, le=5)] | None = None
    """Index of the right option; None if the explanation of the step compares."""


class Number(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="number"):
    """A prediction of a number: a figure of the last run, a value of a tensor, or a number that the author gives."""

    question: Line
    """What is asked."""
    figure: str = ""
    """Figure of the last run to compare with, such as "val_accuracy"."""
    which: Which = "final"
    """Which value of the figure."""
    output: PortRef | None = None
    """Output whose tensor to compare with, as "NODE.PORT"."""
    statistic: Statistic = "value"
    """Statistic of the tensor; "value" if all its elements are equal."""
    right: float | None = None
    """The number to compare with, if it is not measured."""
    tolerance: Annotated[float, Meta(ge=0)] = 0.0
    """Distance from the measured number up to which the prediction counts as close."""


class Curve(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="curve"):
    """A prediction of the course of a figure. The answer is a course, or a list of heights from 0 to 1 over the run."""

    question: Line
    """What is asked."""
    figure: str = "train_loss"
    """Figure of the last run to compare with."""


Prediction: TypeAlias = Choice | Number | Curve


class Step(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step: text, a question to predict, conditions that complete it, hints, and what is said afterwards."""

    id: StepId
    """Identifies the step in the learner's progress."""
    title: Line
    """Heading of the step."""
    text: Text
    """A few sentences of Markdown: emphasis, code, lists."""
    target: Target | None = None
    """The part of the window that it points at."""
    nodes: tuple[NodeRef, ...] = ()
    """Nodes that it points at on the canvas, each by name or as "@TYPE"."""
    keys: str = ""
    """How to do it with the keyboard."""
    prediction: Prediction | None = None
    """A question that is answered before the run."""
    conditions: tuple[Condition, ...] = ()
    """All must be met. A step without conditions and prediction is completed by going on."""
    hints: Annotated[tuple[Line, ...], Meta(max_length=3)] = ()
    """What is missing, what to do, and why; shown one after the other."""
    explanation: Text = ""
    """Shown once the step is done."""
    solution: tuple[dict[str, Json], ...] = ()
    """Edits in the JSON form of fixes, and "run", "resume", "predict" and "select"; absent in the student's file."""

    @property
    def is_read_only(self) -> bool:
        """Whether the step asks for nothing, so that going on completes it."""
        return self.prediction is None and not self.conditions


class LessonContent(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A lesson without its start project."""

    title: Line
    """Title in lists and above the steps."""
    goal: Line
    """What the learner can do afterwards: the rest of "After this lesson you can …"."""
    minutes: Annotated[int, Meta(ge=1, le=120)]
    """Time that a learner needs."""
    steps: Annotated[tuple[Step, ...], Meta(min_length=1, max_length=60)]
    """The steps, in order."""
    terms: dict[str, str] = field(default_factory=dict[str, str])
    """Terms that the lesson explains or uses, each with its meaning; empty for the meaning in the glossary."""
    locked: tuple[str, ...] = ()
    """Paths of nodes that the learner cannot change or remove."""
    task: Step | None = None
    """The open task at the end: conditions only, which many solutions meet."""


class Lesson(LessonContent, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A lesson with its start project."""

    key: str = ""
    """File name without suffix."""
    document: Document = Document()

    @property
    def all_steps(self) -> tuple[Step, ...]:
        """The steps, then the open task."""
        return self.steps if self.task is None else (*self.steps, self.task)


def student(lesson: Lesson) -> Lesson:
    """The lesson without its solutions, for learners."""
    steps = tuple(replace(step, solution=()) for step in lesson.steps)
    task = None if lesson.task is None else replace(lesson.task, solution=())
    return replace(lesson, steps=steps, task=task)


__all__ = [
    "COURSES",
    "SUFFIX",
    "Choice",
    "Course",
    "Curve",
    "Lesson",
    "LessonContent",
    "Number",
    "Prediction",
    "Step",
    "Target",
    "student",
]
