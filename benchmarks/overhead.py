"""Call overhead: µs per op on tensors of four numbers, relative to PyTorch.

python benchmarks/overhead.py                  the table
python benchmarks/overhead.py --only view      one group; repeatable
python benchmarks/overhead.py --json           one JSON object per line

One thread, CPU time, interleaved in one process, best of many rounds; other load has little effect.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from train_step import load, set_threads

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

Call = Callable[[], Any]


def main() -> None:
    options = parse()
    set_threads(1)
    libraries = {"engine": load("engine")}
    if importlib.util.find_spec("torch"):
        libraries["torch"] = load("torch")
        libraries["torch"].set_num_threads(1)
    for group, rows in GROUPS.items():
        if options.only and group not in options.only:
            continue
        if not options.json:
            print(f"\n{group:<34}" + "".join(f"{name + ' µs':>12}" for name in libraries) + "     ratio")
        calls = {name: rows(library) for name, library in libraries.items()}
        for title in calls["engine"]:
            times = measure({name: by_title[title] for name, by_title in calls.items()}, options.seconds)
            report(f"{title}, {group}" if options.json else title, times, options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(GROUPS), help="measure this group; repeatable")
    parser.add_argument("--seconds", type=float, default=0.3, help="seconds per row")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    return parser.parse_args()


# -- what is measured -------------------------------------------------------------------------


def ops(library: Any) -> dict[str, Call]:
    """Ops without gradients."""
    x, y = pair(library)
    m, integers = library.ones(2, 2), library.arange(4)
    return {
        "x + y": lambda: x + y,
        "x * 2": lambda: x * 2,
        "1 - x": lambda: 1 - x,
        "integers + integers": lambda: integers + integers,
        "x.exp()": x.exp,
        "x.add(y, alpha=2)": lambda: x.add(y, alpha=2),
        "x > y": lambda: x > y,
        "x.sum()": x.sum,
        "m @ m": lambda: m @ m,
    }


def ops_with_gradients(library: Any) -> dict[str, Call]:
    """Ops with gradients."""
    x, y = pair(library)
    x.requires_grad_()
    m = library.ones(2, 2).requires_grad_()
    return {
        "x + y": lambda: x + y,
        "x * y": lambda: x * y,
        "x * 2": lambda: x * 2,
        "x.exp()": x.exp,
        "x.sum()": x.sum,
        "m @ m": lambda: m @ m,
    }


def in_place(library: Any) -> dict[str, Call]:
    x, y = pair(library)
    return {
        "x.add_(y)": lambda: x.add_(y),
        "x.mul_(1.0)": lambda: x.mul_(1.0),
        "x.add_(y, alpha=0.0)": lambda: x.add_(y, alpha=0.0),
        "x.lerp_(y, 0.1)": lambda: x.lerp_(y, 0.1),
        "x.addcmul_(y, y, value=0.1)": lambda: x.addcmul_(y, y, value=0.1),
        "x.addcdiv_(y, y, value=0.1)": lambda: x.addcdiv_(y, y, value=0.1),
        "x.zero_()": x.zero_,
        "x.copy_(y)": lambda: x.copy_(y),
    }


def views(library: Any) -> dict[str, Call]:
    x = library.ones(2, 3)
    return {
        "x.unsqueeze(0)": lambda: x.unsqueeze(0),
        "x.reshape(3, 2)": lambda: x.reshape(3, 2),
        "x.view(3, 2)": lambda: x.view(3, 2),
        "x.transpose(0, 1)": lambda: x.transpose(0, 1),
        "x.T": lambda: x.T,
        "x[0]": lambda: x[0],
        "x.detach()": x.detach,
    }


def backward(library: Any) -> dict[str, Call]:
    """Forward and backward of small graphs."""
    x, y = pair(library)
    x.requires_grad_()

    def deep() -> None:
        z = x
        for _ in range(20):
            z = z * y
        z.sum().backward()

    return {
        "x.sum().backward()": lambda: x.sum().backward(),
        "(x * y).sum().backward()": lambda: (x * y).sum().backward(),
        "20 products, sum, backward": deep,
    }


def steps(library: Any) -> dict[str, Call]:
    """One optimizer step for one parameter of four numbers."""
    return {
        name: step_of(library, name, options)
        for name, options in {"SGD": {"lr": 0.1}, "SGD momentum": {"lr": 0.1, "momentum": 0.9}, "Adam": {}}.items()
    }


GROUPS: dict[str, Callable[[Any], dict[str, Call]]] = {
    "no gradient": ops,
    "with gradient": ops_with_gradients,
    "in place": in_place,
    "view": views,
    "backward": backward,
    "optimizer": steps,
}


def pair(library: Any) -> tuple[Any, Any]:
    return library.tensor([1.0, 2.0, 3.0, 4.0]), library.ones(4)


def step_of(library: Any, name: str, options: dict[str, Any]) -> Call:
    x, y = pair(library)
    x.requires_grad_()
    x.grad = y
    return getattr(library.optim, name.partition(" ")[0])([x], **options).step


# -- measuring --------------------------------------------------------------------------------


def measure(calls: dict[str, Call], duration: float) -> dict[str, float]:
    """The least CPU time per call of each library in µs, averaged over a round of calls."""
    counts = {name: round_of(call) for name, call in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    end = time.perf_counter() + duration * len(calls)
    while time.perf_counter() < end:
        for name, call in calls.items():
            best[name] = min(best[name], timed(call, counts[name]))
    return {name: seconds * 1e6 for name, seconds in best.items()}


def round_of(call: Call) -> int:
    """Return the number of calls that take about 5 ms."""
    for _ in range(20):
        call()
    return max(10, int(5e-3 / timed(call, 50)))


def timed(call: Call, count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def report(title: str, microseconds: dict[str, float], options: argparse.Namespace) -> None:
    ratio = microseconds["engine"] / microseconds["torch"] if "torch" in microseconds else None
    if options.json:
        print(
            json.dumps(
                {"call": title, "ratio": ratio} | {f"{name}_us": round(us, 3) for name, us in microseconds.items()}
            )
        )
        return
    cells = "".join(f"{us:12.2f}" for us in microseconds.values())
    print(f"  {title:<32}{cells}{f'{ratio:9.2f}x' if ratio else ''}", flush=True)


if __name__ == "__main__":
    main()
