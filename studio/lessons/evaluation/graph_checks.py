"""Conditions of the graph, its check, its settings and its selection."""

from __future__ import annotations

from collections.abc import Iterable

from studio.lessons.conditions import (
    FlagIs,
    NodeExists,
    NoProblems,
    ParameterIs,
    ParametersAre,
    ProblemExists,
    SelectionIs,
    SettingIs,
    ShapeIs,
    WireExists,
)
from studio.lessons.evaluation.comparisons import (
    fits,
    label,
    place_of_change,
    port_name,
    range_text,
    result,
    sentence,
    setting_title,
    value_text,
    wanted_text,
    within,
    without_article,
)
from studio.lessons.feedback import Feedback
from studio.lessons.graph_view import GraphView, name_of
from studio.lessons.situation import Situation
from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.lowering.problems.diagnosis import SEVERITIES


def check_node(condition: NodeExists, situation: Situation, graph: GraphView) -> Feedback:
    found = graph.find(condition.node)
    if condition.after is not None:
        found = [path for path in found if path in graph.after(graph.find(condition.after))]
    if condition.before is not None:
        found = [path for path in found if path in graph.before(graph.find(condition.before))]
    name, path = name_of(condition.node), _between(condition)
    most = condition.at_most
    if most == 0:
        goal = f"There is no {without_article(name)}{path}"
        return result(not found, goal, f"{found[0]} is there." if found else "", f"Remove {(found or [''])[0]}.")
    if not condition.node.startswith("@"):
        action = f"Wire it so that it lies{path}." if path else "Add it, with this name."
        found_text = f"{name} does not lie there." if path else "It is missing."
        return result(bool(found), f"{name} lies{path}" if path else f"{name} exists", found_text, action, name)
    least = condition.at_least
    goal = f"There is {name}{path}" if least <= 1 else f"There are {least} nodes like {name}{path}"
    if most is not None and len(found) > most:
        action = f"Remove {len(found) - most} of them."
        return Feedback(is_met=False, goal=f"{goal}, at most {most}", found=f"There are {len(found)}.", action=action)
    missing = (
        "There is none." if not found else "There is only 1." if len(found) == 1 else f"There are only {len(found)}."
    )
    return result(len(found) >= least, goal, missing, f"Add {name}{path}.")


def _between(condition: NodeExists) -> str:
    ends = [name_of(ref) for ref in (condition.after, condition.before) if ref is not None]
    if len(ends) == 2:
        return f" on the path from {ends[0]} to {ends[1]}"
    if not ends:
        return ""
    return f" after {ends[0]}" if condition.after is not None else f" before {ends[0]}"


def check_parameter(condition: ParameterIs, situation: Situation, graph: GraphView) -> Feedback:
    name, param, wanted = name_of(condition.node), label(condition.param), wanted_text(condition)
    goal = f"{param} of {name} is {wanted}"
    found = graph.find(condition.node)
    if not found:
        return Feedback(is_met=False, goal=goal, found=f"There is no {without_article(name)}.", action="Add it.")
    values = {path: graph.argument(path, condition.param) for path in found}
    if any(fits(value, condition) for value in values.values()):
        return Feedback(is_met=True, goal=goal)
    path, value = next(iter(values.items()))
    is_wrong = f"{param} of {path} is {value_text(value)}."
    return Feedback(is_met=False, goal=goal, found=is_wrong, action=f"Set {param} to {wanted}.", node=path)


def check_flag(condition: FlagIs, situation: Situation, graph: GraphView) -> Feedback:
    name, state = name_of(condition.node), condition.flag if condition.equals else f"not {condition.flag}"
    goal, found = f"{name} is {state}", graph.find(condition.node)
    if not found:
        return Feedback(is_met=False, goal=goal, found=f"There is no {without_article(name)}.", action="Add it.")
    is_met = any(getattr(graph.nodes[path], condition.flag) == condition.equals for path in found)
    verb = {"muted": "Mute", "frozen": "Freeze", "recomputed": "Recompute"}[condition.flag]
    action = f"{verb if condition.equals else 'Un' + verb.lower()} {found[0]}."
    return result(
        is_met, goal, f"{found[0]} is {'not ' if condition.equals else ''}{condition.flag}.", action, found[0]
    )


def check_wire(condition: WireExists, situation: Situation, graph: GraphView) -> Feedback:
    sources, targets = graph.ports(condition.source), set(graph.ports(condition.target))
    found = [wire for wire in graph.wires if wire.target in targets and wire.source in sources]
    ends = f"{port_name(condition.source)} to {port_name(condition.target)}"
    if not condition.exists:
        node = found[0].target.node if found else None
        return result(not found, f"There is no wire from {ends}", "The wire is there.", "Remove it.", node)
    node = next(iter(targets)).node if targets else None
    other = next((wire for wire in graph.wires if wire.target in targets), None)
    is_wrong = "There is no such wire." if other is None else f"{other.target} is connected to {other.source}."
    return result(bool(found), f"A wire leads from {ends}", is_wrong, f"Drag from {ends}.", node)


def check_shape(condition: ShapeIs, situation: Situation, graph: GraphView) -> Feedback:
    shape, dtype = condition.shape, condition.dtype
    texts = ([] if shape is None else ["×".join(map(str, shape)) or "scalar"]) + ([dtype] if dtype else [])
    goal = sentence(f"{port_name(condition.output)} is {' '.join(texts)}")
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
    return result(is_met, goal, f"{end} is {spec}.", f"Change {place_of_change(end.node, graph)}.", end.node)


def _has_shape(shape: Iterable[object], wanted: tuple[int | str, ...]) -> bool:
    sizes = tuple(shape)
    return len(sizes) == len(wanted) and all(
        each in ("*", size) or (each == "N" and not isinstance(size, int))
        for size, each in zip(sizes, wanted, strict=True)
    )


def check_no_problems(condition: NoProblems, situation: Situation, graph: GraphView) -> Feedback:
    worst = SEVERITIES.index(condition.severity)
    words = " or ".join(f"{each}s" for each in SEVERITIES[: worst + 1])
    found = [problem for problem in situation.report.problems if problem.rank <= worst]
    found = [problem for problem in found if problem.node is not None] if condition.at_nodes else found
    goal = f"The check finds no {words}" + (" of nodes" if condition.at_nodes else "")
    if not found:
        return Feedback(is_met=True, goal=goal)
    return Feedback(is_met=False, goal=goal, found=found[0].message, node=found[0].node)


def check_problem(condition: ProblemExists, situation: Situation, graph: GraphView) -> Feedback:
    nodes = None if condition.node is None else graph.find(condition.node)
    is_met = any(
        problem.code == condition.code and (nodes is None or problem.node in nodes or problem.affected in nodes)
        for problem in situation.report.problems
    )
    title = DIAGNOSES[condition.code].title if condition.code in DIAGNOSES else condition.code
    at = "" if condition.node is None else f" at {name_of(condition.node)}"
    return result(
        is_met, f'The check reports "{title}"{at}', "It does not report that.", "Follow the text of the step."
    )


def check_parameters(condition: ParametersAre, situation: Situation, graph: GraphView) -> Feedback:
    nodes = situation.report.checked.document.nodes
    info = situation.report.nodes
    count = sum(info[path].parameters for path, node in nodes.items() if path in info and not node.frozen)
    goal = f"The network has {range_text(condition.at_least, condition.at_most)} trainable parameters"
    is_met = within(count, condition.at_least, condition.at_most)
    is_more = condition.at_most is not None and count > condition.at_most
    action = "Make layers smaller or remove some." if is_more else "Make layers larger or add some."
    return result(is_met, goal, f"It has {count:,}.", action)


def check_setting(condition: SettingIs, situation: Situation, graph: GraphView) -> Feedback:
    title = setting_title(condition.setting)
    wanted, value = wanted_text(condition), getattr(situation.document.training, condition.setting, None)
    action = f"Set it to {wanted} in the inspector, with no node selected."
    return result(fits(value, condition), f'"{title}" is {wanted}', f"It is {value_text(value)}.", action)


def check_selection(condition: SelectionIs, situation: Situation, graph: GraphView) -> Feedback:
    found, name = graph.find(condition.node), name_of(condition.node)
    is_met = bool(situation.selection & set(found))
    return result(is_met, f"{name} is selected", "It is not selected.", f"Click {name}.", found[0] if found else None)


__all__ = [
    "check_flag",
    "check_no_problems",
    "check_node",
    "check_parameter",
    "check_parameters",
    "check_problem",
    "check_selection",
    "check_setting",
    "check_shape",
    "check_wire",
]
