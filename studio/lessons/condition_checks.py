"""Evaluate conditions in a situation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

from msgspec import UNSET
from msgspec.structs import asdict

from studio.document.model import Endpoint, Json, Node
from studio.document.training_settings import TRAINING_SETTINGS
from studio.lessons.conditions import (
    Condition,
    FigureIs,
    FlagIs,
    NodeExists,
    NoProblems,
    ParameterIs,
    ParametersAre,
    ProblemExists,
    RunExists,
    SelectionIs,
    SettingIs,
    ShapeIs,
    ValueIs,
    WireExists,
)
from studio.lessons.feedback import Feedback
from studio.lessons.graph_view import GraphView, name_of, plain
from studio.lessons.lesson import Step
from studio.lessons.situation import MeasuredRun, Situation
from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.lowering.problems.diagnosis import SEVERITIES
from studio.nodes.catalogue import catalogue
from studio.training.probing.tensor_statistics import TensorStatistics


def evaluate(condition: Condition, situation: Situation) -> Feedback:
    """Whether a condition is met, and what to say if not. May compute values: call it off the UI thread."""
    check = cast("Callable[[Condition, Situation, GraphView], Feedback]", _CHECKS[type(condition)])
    found = check(condition, situation, GraphView(situation.report))
    return replace(found, goal=condition.goal or found.goal, override=condition.feedback)


def evaluate_step(step: Step, situation: Situation) -> tuple[Feedback, ...]:
    """The feedback of all conditions of a step, in order."""
    return tuple(evaluate(condition, situation) for condition in step.conditions)


def is_done(step: Step, situation: Situation, answer: Json = None) -> bool:
    """Whether a step is completed: its prediction is answered and its conditions are met."""
    is_answered = step.prediction is None or answer is not None
    return is_answered and all(each.is_met for each in evaluate_step(step, situation))


# -- the graph


def _node(condition: NodeExists, situation: Situation, graph: GraphView) -> Feedback:
    found = graph.find(condition.node)
    if condition.after is not None:
        found = [path for path in found if path in graph.after(graph.find(condition.after))]
    if condition.before is not None:
        found = [path for path in found if path in graph.before(graph.find(condition.before))]
    name, path = name_of(condition.node), _between(condition)
    most = condition.at_most
    if most == 0:
        goal = f"There is no {_bare(name)}{path}"
        return _result(not found, goal, f"{found[0]} is there." if found else "", f"Remove {(found or [''])[0]}.")
    if not condition.node.startswith("@"):
        action = f"Wire it so that it lies{path}." if path else "Add it, with this name."
        found_text = f"{name} does not lie there." if path else "It is missing."
        return _result(bool(found), f"{name} lies{path}" if path else f"{name} exists", found_text, action, name)
    least = condition.at_least
    goal = f"There is {name}{path}" if least <= 1 else f"There are {least} nodes like {name}{path}"
    if most is not None and len(found) > most:
        action = f"Remove {len(found) - most} of them."
        return Feedback(is_met=False, goal=f"{goal}, at most {most}", found=f"There are {len(found)}.", action=action)
    missing = (
        "There is none." if not found else "There is only 1." if len(found) == 1 else f"There are only {len(found)}."
    )
    return _result(len(found) >= least, goal, missing, f"Add {name}{path}.")


def _between(condition: NodeExists) -> str:
    ends = [name_of(ref) for ref in (condition.after, condition.before) if ref is not None]
    if len(ends) == 2:
        return f" on the path from {ends[0]} to {ends[1]}"
    if not ends:
        return ""
    return f" after {ends[0]}" if condition.after is not None else f" before {ends[0]}"


def _parameter(condition: ParameterIs, situation: Situation, graph: GraphView) -> Feedback:
    name, param, wanted = name_of(condition.node), _label(condition.param), _wanted(condition)
    goal = f"{param} of {name} is {wanted}"
    found = graph.find(condition.node)
    if not found:
        return Feedback(is_met=False, goal=goal, found=f"There is no {_bare(name)}.", action="Add it.")
    values = {path: graph.argument(path, condition.param) for path in found}
    if any(_fits(value, condition) for value in values.values()):
        return Feedback(is_met=True, goal=goal)
    path, value = next(iter(values.items()))
    is_wrong = f"{param} of {path} is {_text(value)}."
    return Feedback(is_met=False, goal=goal, found=is_wrong, action=f"Set {param} to {wanted}.", node=path)


def _flag(condition: FlagIs, situation: Situation, graph: GraphView) -> Feedback:
    name, state = name_of(condition.node), condition.flag if condition.equals else f"not {condition.flag}"
    goal, found = f"{name} is {state}", graph.find(condition.node)
    if not found:
        return Feedback(is_met=False, goal=goal, found=f"There is no {_bare(name)}.", action="Add it.")
    is_met = any(getattr(graph.nodes[path], condition.flag) == condition.equals for path in found)
    verb = {"muted": "Mute", "frozen": "Freeze", "recomputed": "Recompute"}[condition.flag]
    action = f"{verb if condition.equals else 'Un' + verb.lower()} {found[0]}."
    return _result(
        is_met, goal, f"{found[0]} is {'not ' if condition.equals else ''}{condition.flag}.", action, found[0]
    )


def _wire(condition: WireExists, situation: Situation, graph: GraphView) -> Feedback:
    sources, targets = graph.ports(condition.source), set(graph.ports(condition.target))
    found = [wire for wire in graph.wires if wire.target in targets and wire.source in sources]
    ends = f"{_port_name(condition.source)} to {_port_name(condition.target)}"
    if not condition.exists:
        node = found[0].target.node if found else None
        return _result(not found, f"There is no wire from {ends}", "The wire is there.", "Remove it.", node)
    node = next(iter(targets)).node if targets else None
    other = next((wire for wire in graph.wires if wire.target in targets), None)
    is_wrong = "There is no such wire." if other is None else f"{other.target} is connected to {other.source}."
    return _result(bool(found), f"A wire leads from {ends}", is_wrong, f"Drag from {ends}.", node)


def _shape(condition: ShapeIs, situation: Situation, graph: GraphView) -> Feedback:
    shape, dtype = condition.shape, condition.dtype
    texts = ([] if shape is None else ["×".join(map(str, shape)) or "scalar"]) + ([dtype] if dtype else [])
    goal = _sentence(f"{_port_name(condition.output)} is {' '.join(texts)}")
    specs = [
        (end, info.outputs[end.port])
        for end in graph.ports(condition.output)
        if (info := situation.report.nodes.get(end.node)) is not None and end.port in info.outputs
    ]
    if not specs:
        if not graph.find(condition.output.rpartition(".")[0]):
            return Feedback(is_met=False, goal=goal, found="There is no such node.", action="Add it.")
        is_wrong = "Its shape is not known."
        return Feedback(is_met=False, goal=goal, found=is_wrong, action="Connect its inputs and solve the problems.")
    is_met = any(
        (shape is None or _has_shape(spec.shape, shape)) and (not dtype or spec.dtype.name == dtype)
        for _, spec in specs
    )
    end, spec = specs[0]
    return _result(is_met, goal, f"{end} is {spec}.", f"Change {_before(end.node, graph)}.", end.node)


def _has_shape(shape: Iterable[object], wanted: tuple[int | str, ...]) -> bool:
    sizes = tuple(shape)
    return len(sizes) == len(wanted) and all(
        each in ("*", size) or (each == "N" and not isinstance(size, int))
        for size, each in zip(sizes, wanted, strict=True)
    )


def _no_problems(condition: NoProblems, situation: Situation, graph: GraphView) -> Feedback:
    worst = SEVERITIES.index(condition.severity)
    words = " or ".join(f"{each}s" for each in SEVERITIES[: worst + 1])
    found = [problem for problem in situation.report.problems if problem.rank <= worst]
    found = [problem for problem in found if problem.node is not None] if condition.at_nodes else found
    goal = f"The check finds no {words}" + (" of nodes" if condition.at_nodes else "")
    if not found:
        return Feedback(is_met=True, goal=goal)
    return Feedback(is_met=False, goal=goal, found=found[0].message, node=found[0].node)


def _problem(condition: ProblemExists, situation: Situation, graph: GraphView) -> Feedback:
    nodes = None if condition.node is None else graph.find(condition.node)
    is_met = any(
        problem.code == condition.code and (nodes is None or problem.node in nodes or problem.affected in nodes)
        for problem in situation.report.problems
    )
    title = DIAGNOSES[condition.code].title if condition.code in DIAGNOSES else condition.code
    at = "" if condition.node is None else f" at {name_of(condition.node)}"
    return _result(
        is_met, f'The check reports "{title}"{at}', "It does not report that.", "Follow the text of the step."
    )


def _parameters(condition: ParametersAre, situation: Situation, graph: GraphView) -> Feedback:
    nodes = situation.report.checked.document.nodes
    info = situation.report.nodes
    count = sum(info[path].parameters for path, node in nodes.items() if path in info and not node.frozen)
    goal = f"The network has {_range(condition.at_least, condition.at_most)} trainable parameters"
    is_met = _within(count, condition.at_least, condition.at_most)
    is_more = condition.at_most is not None and count > condition.at_most
    action = "Make layers smaller or remove some." if is_more else "Make layers larger or add some."
    return _result(is_met, goal, f"It has {count:,}.", action)


# -- measurements


def _figure(condition: FigureIs, situation: Situation, graph: GraphView) -> Feedback:
    goal = f"The {condition.which} {_figure_name(condition.figure)} is {_range(condition.at_least, condition.at_most)}"
    if (missing := _no_current_run(situation)) is not None:
        return replace(missing, goal=goal)
    run = situation.last_run
    assert run is not None
    value = figure_of(run, condition.figure, condition.which)
    if value is None:
        known = ", ".join(sorted(run.figures)) or "none"
        is_wrong = f"The last run has no figure {condition.figure}; it has {known}."
        return Feedback(is_met=False, goal=goal, found=is_wrong, action="Add the metric, and run again.")
    is_met = _within(value, condition.at_least, condition.at_most)
    return _result(is_met, goal, f"It is {_number(value)}.", "Change the network or its training, and run again.")


def figure_of(run: MeasuredRun, figure: str, which: str) -> float | None:
    """A figure of a run; the best loss is the lowest one, the best of other figures the highest."""
    values = run.figures.get(figure, ())
    if not values:
        return None
    if which == "best":
        return min(values) if "loss" in figure or "error" in figure else max(values)
    return values[0] if which == "first" else values[-1]


def _run(condition: RunExists, situation: Situation, graph: GraphView) -> Feedback:
    wanted = [f"{_label(ref.rpartition('.')[2])} {_text(value)}" for ref, value in condition.params.items()]
    wanted += [f"{_setting_title(name)} {_text(value)}" for name, value in condition.settings.items()]
    wanted += [] if condition.epochs is None else [f"at least {condition.epochs} epochs"]
    breaks = _breaks(condition)
    wanted += [breaks] if breaks else []
    end = "was resumed" if condition.resumed else "has finished"
    goal = f"{'The last' if condition.only_last else 'A'} run {end}{' with ' if wanted else ''}{', '.join(wanted)}"
    is_plain = not wanted and not condition.resumed
    if (is_plain or condition.only_last) and (missing := _no_current_run(situation)) is not None:
        return replace(missing, goal=goal)
    if is_plain:
        stopped = _stopped_run(situation)
        return Feedback(is_met=True, goal=goal) if stopped is None else replace(stopped, goal=goal)
    count = sum(_matches(run, condition) for run in situation.runs[-1 if condition.only_last else 0 :])
    if count >= condition.at_least:
        return Feedback(is_met=True, goal=goal)
    if condition.only_last and breaks:
        return Feedback(is_met=False, goal=goal, found=_found_breaks(situation), action="Change that, and press Run.")
    if condition.resumed:
        is_wrong = f"No run{' with these values' if wanted else ''} was resumed."
        action = "Select a run in the Runs panel, and press Resume in its details."
        return Feedback(is_met=False, goal=goal, found=is_wrong, action=action)
    is_wrong = "There is no finished run with these values." if not count else f"There is only {count}."
    return Feedback(is_met=False, goal=goal, found=is_wrong, action="Set them, and press Run.")


def _breaks(condition: RunExists) -> str:
    """The number of graph breaks that a condition asks for, in words; empty for any."""
    least, most = condition.least_graph_breaks, condition.most_graph_breaks
    if least is None and most is None:
        return ""
    if most == 0:
        return "no graph break in its compiled steps"
    if (least, most) == (1, None):
        return "a graph break in its compiled steps"
    return f"{_range(least, most)} graph breaks in its compiled steps"


def _found_breaks(situation: Situation) -> str:
    """What the last run had of graph breaks, as a sentence."""
    run = situation.last_run
    if run is None or run.graph_breaks is None:
        return "The last run did not compile its steps."
    if not run.graph_breaks:
        return "The last run had no graph break."
    return f"The last run had {run.graph_breaks} graph break{'s' if run.graph_breaks > 1 else ''} in each step."


def _no_current_run(situation: Situation) -> Feedback | None:
    run = situation.last_run
    if run is None:
        return Feedback(is_met=False, goal="", found="No run has finished yet.", action="Press Run.")
    if not run.trained(situation.document):
        is_wrong = "The project was changed after the last run."
        return Feedback(is_met=False, goal="", found=is_wrong, action="Press Run again.")
    return None


def _stopped_run(situation: Situation) -> Feedback | None:
    run = situation.last_run
    if run is None or run.is_complete:
        return None
    is_wrong = "The last run was stopped before its end."
    return Feedback(is_met=False, goal="", found=is_wrong, action="Press Run, and wait until it is done.")


def _matches(run: MeasuredRun, condition: RunExists) -> bool:
    if not run.is_complete:
        return False
    settings = asdict(run.document.training)
    if any(not _equal(settings.get(name), value) for name, value in condition.settings.items()):
        return False
    for ref, value in condition.params.items():
        node, _, param = ref.rpartition(".")
        found = run.document.nodes.get(node)
        if found is None or not _equal(_set_or_default(found, param), value):
            return False
    if condition.resumed and not run.is_resumed:
        return False
    if _breaks(condition) and (
        run.graph_breaks is None
        or not _within(run.graph_breaks, condition.least_graph_breaks, condition.most_graph_breaks)
    ):
        return False
    return condition.epochs is None or run.epochs >= condition.epochs


def _set_or_default(node: Node, param: str) -> Json:
    """The value of a parameter in a document. The window removes values that are the default."""
    declared = catalogue()[node.type].param(param) if node.type in catalogue() else None
    return node.params.get(param, None if declared is None else plain(declared.default))


def _value(condition: ValueIs, situation: Situation, graph: GraphView) -> Feedback:
    wanted = _range(condition.at_least, condition.at_most) if condition.equals is None else _number(condition.equals)
    which = "" if condition.statistic == "value" else f"{condition.statistic} of "
    goal = _sentence(f"{which}{_port_name(condition.output)} is {wanted}")
    ends = graph.ports(condition.output)
    measured = [
        (end, value) for end in ends if (value := measured_value(situation, end, condition.statistic)) is not None
    ]
    if not measured:
        is_wrong = f"{_port_name(condition.output)} has no such value."
        return Feedback(is_met=False, goal=goal, found=is_wrong, action="Connect its inputs and solve the problems.")
    is_met = any(
        abs(value - condition.equals) <= condition.tolerance
        if condition.equals is not None
        else _within(value, condition.at_least, condition.at_most)
        for _, value in measured
    )
    end, value = measured[0]
    return _result(is_met, goal, f"It is {_number(value)}.", f"Change {_before(end.node, graph)}.", end.node)


def measured_value(situation: Situation, end: Endpoint, statistic: str) -> float | None:
    """A statistic of the tensor at an output; None if it cannot be computed, or if its elements differ for "value"."""
    found = situation.value(end)
    return None if found is None else _statistic(found, statistic)


def _statistic(found: TensorStatistics, statistic: str) -> float | None:
    match statistic:
        case "value":
            return found.low if found.count and found.low == found.high and not found.nan + found.infinite else None
        case "min":
            return found.low
        case "max":
            return found.high
        case _:
            return float(getattr(found, statistic))


def _setting(condition: SettingIs, situation: Situation, graph: GraphView) -> Feedback:
    title = _setting_title(condition.setting)
    wanted, value = _wanted(condition), getattr(situation.document.training, condition.setting, None)
    action = f"Set it to {wanted} in the inspector, with no node selected."
    return _result(_fits(value, condition), f'"{title}" is {wanted}', f"It is {_text(value)}.", action)


def _selected(condition: SelectionIs, situation: Situation, graph: GraphView) -> Feedback:
    found, name = graph.find(condition.node), name_of(condition.node)
    is_met = bool(situation.selection & set(found))
    return _result(is_met, f"{name} is selected", "It is not selected.", f"Click {name}.", found[0] if found else None)


# -- texts and comparisons


def _result(is_met: bool, goal: str, found: str, action: str, node: str | None = None) -> Feedback:
    return Feedback(is_met=True, goal=goal) if is_met else Feedback(False, goal, found, action, node)


def _label(param: str) -> str:
    """A parameter as the inspector names it."""
    return param.replace("_", " ")


def _setting_title(setting: str) -> str:
    declared = TRAINING_SETTINGS.get(setting)
    return setting if declared is None else declared.title


_SOURCES = {"train": "training", "val": "validation"}


def _figure_name(figure: str) -> str:
    """A figure in words: "validation accuracy"."""
    source, _, quantity = figure.partition("_")
    return f"{_SOURCES.get(source, source)} {_label(quantity)}".strip()


def _before(node: str, graph: GraphView) -> str:
    """Where an output can be changed."""
    return f"{node} or the nodes before it" if len(graph.before([node])) > 1 else node


def _port_name(ref: str) -> str:
    node, _, port = ref.rpartition(".")
    return f"{name_of(node)}.{port}" if not ref.startswith("@") else f"the {port} of {name_of(node)}"


def _bare(name: str) -> str:
    """A name without its article: "no ReLU node"."""
    return name.removeprefix("a ").removeprefix("an ")


def _sentence(text: str) -> str:
    """The text with a capital letter, unless it starts with the name of a port."""
    return text if "." in text.partition(" ")[0] else text[:1].upper() + text[1:]


def _wanted(condition: ParameterIs | SettingIs) -> str:
    return _range(condition.at_least, condition.at_most) if condition.equals is UNSET else _text(condition.equals)


def _fits(value: Json, condition: ParameterIs | SettingIs) -> bool:
    if condition.equals is not UNSET:
        return _equal(value, condition.equals)
    return isinstance(value, (int, float)) and _within(value, condition.at_least, condition.at_most)


def _equal(a: Json, b: object) -> bool:
    """Equality of JSON values: 1, 1.0 and [1] are equal, as in a field; 1 and true are not."""
    if isinstance(a, list) and len(a) == 1 and not isinstance(b, (list, tuple)):
        a = a[0]
    if not isinstance(a, list) and isinstance(b, (list, tuple)) and len(cast("list[Any]", b)) == 1:
        b = cast("list[Any]", b)[0]
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, (list, tuple)):
        others = cast("list[Any]", b)
        return len(a) == len(others) and all(_equal(x, y) for x, y in zip(a, others, strict=True))
    return a == b


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _range(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f"from {_number(least)} to {_number(most)}"
    if least is not None:
        return f"at least {_number(least)}"
    return "any value" if most is None else f"at most {_number(most)}"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _text(value: object) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return "on" if value else "off"
        case int() | float():
            return _number(value)
        case list() | tuple():
            return ", ".join(map(_text, cast("list[Any]", value)))
        case _:
            return str(value)


_CHECKS: dict[type, Callable[..., Feedback]] = {
    NodeExists: _node,
    ParameterIs: _parameter,
    FlagIs: _flag,
    WireExists: _wire,
    ShapeIs: _shape,
    NoProblems: _no_problems,
    ProblemExists: _problem,
    ParametersAre: _parameters,
    FigureIs: _figure,
    RunExists: _run,
    ValueIs: _value,
    SettingIs: _setting,
    SelectionIs: _selected,
}

__all__ = ["evaluate", "evaluate_step", "figure_of", "is_done", "measured_value"]
