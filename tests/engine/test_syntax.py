"""Source is read in several threads at once."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from engine.system.syntax import format_traceback, parse_source

SOURCE = "\n".join(f"value_{number} = [first + second * (third - {number})]" for number in range(300))


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads switch as often as possible, also within the parser, where only a garbage collection lets others run."""

    def pause(phase: str, info: object) -> None:
        time.sleep(0)

    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(1000, 10, 10)
    gc.callbacks.append(pause)
    yield
    gc.callbacks.remove(pause)
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


def by_threads(read: Callable[[], object]) -> list[BaseException]:
    """Errors in four threads that read repeatedly."""
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                read()
        except BaseException as error:  # noqa: BLE001 - whatever it is
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


@pytest.mark.usefixtures("hurried")
def test_threads_parse_at_the_same_time() -> None:
    assert by_threads(partial(parse_source, SOURCE)) == []


@pytest.mark.usefixtures("hurried")
def test_threads_report_errors_at_the_same_time() -> None:
    try:
        raise ValueError("of the test")
    except ValueError as error:
        raised = error

    def read() -> None:
        parse_source(SOURCE)
        assert format_traceback(raised).endswith("ValueError: of the test\n")

    assert by_threads(read) == []


def test_a_dropped_file_that_is_not_a_source_is_reported() -> None:
    with pytest.raises(SyntaxError):
        parse_source("1 +")
