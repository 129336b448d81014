from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studio.training.runs.run_colors import assign_colors
from studio.training.runs.run_history import Run

COLORS = 8
numbers = st.lists(st.integers(1, 200), unique=True, max_size=30)


def runs(*numbers: int) -> list[Run]:
    return [Run(number) for number in numbers]


def test_a_run_has_the_color_of_its_number_if_it_is_free() -> None:
    made = runs(3, 11, 4, 19)
    assign_colors(made, COLORS)
    assert [run.color for run in made] == [2, 0, 3, 1]


@given(numbers, st.sets(st.integers(0, 29)), st.sets(st.integers(0, 29)))
def test_colors_are_distinct_while_enough_exist_and_are_kept(
    numbers: list[int], first: set[int], second: set[int]
) -> None:
    made = runs(*numbers)
    kept: dict[Run, int | None] = {}
    for shown in (first, second, first):
        for place, run in enumerate(made):
            run.is_shown = place in shown
        assign_colors(made, COLORS)
        colors = [run.color for run in made if run.is_shown]
        assert None not in colors and all(run.color is None for run in made if not run.is_shown)
        assert len(set(colors)) == min(len(colors), 2 * COLORS) or len(colors) > 2 * COLORS
        assert all(run.color == before for run, before in kept.items() if run.is_shown)
        kept = {run: run.color for run in made if run.is_shown}


@given(numbers)
def test_variants_come_after_the_colors_and_repetitions_after_these(numbers: list[int]) -> None:
    made = runs(*numbers)
    assign_colors(made, COLORS)
    colors = [run.color for run in made if run.color is not None]
    assert all(color < COLORS for color in colors[:COLORS])
    assert sorted(colors[: 2 * COLORS]) == sorted(set(colors[: 2 * COLORS]))
    assert all(colors.count(color) <= -(-len(colors) // (2 * COLORS)) for color in colors)


def test_a_run_has_the_color_that_was_chosen_and_another_gives_way() -> None:
    made = runs(1, 2, 3)
    first, third = made[0], made[2]
    assign_colors(made, COLORS)
    third.metadata = {"color": 0}
    assign_colors(made, COLORS)
    assert [run.color for run in made] == [2, 1, 0]
    third.is_shown = False
    assign_colors(made, COLORS)
    assert [run.color for run in made] == [2, 1, None]
    first.metadata, third.is_shown = {"color": 0}, True
    assign_colors(made, COLORS)
    assert [run.color for run in made] == [0, 1, 0], "two may be alike where a person wants it"
    third.metadata = {}
    third.color = None
    assign_colors(made, COLORS)
    assert [run.color for run in made] == [0, 1, 2]


@given(st.lists(st.one_of(st.none(), st.integers(0, 11)), max_size=14))
def test_runs_without_a_choice_keep_out_of_the_way_of_those_that_were_chosen(chosen: list[int | None]) -> None:
    made = runs(*range(1, len(chosen) + 1))
    assign_colors(made, COLORS)
    for run, color in zip(made, chosen, strict=True):
        run.metadata = {} if color is None else {"color": color}
    for _ in range(2):
        assign_colors(made, COLORS)
        wanted = {run: color % COLORS for run, color in zip(made, chosen, strict=True) if color is not None}
        assert all(run.color == color for run, color in wanted.items())
        others = [run.color for run in made if run not in wanted]
        assert None not in others and len(set(others)) == len(others) and not set(others) & set(wanted.values())


def test_an_invalid_color_is_not_chosen() -> None:
    for color in (-1, True, "red", 2.5, None, [], 10**30):
        [run] = made = runs(1)
        run.metadata = {"color": color}
        assign_colors(made, COLORS)
        assert run.color is not None and 0 <= run.color < COLORS
