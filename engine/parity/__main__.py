"""Print which of PyTorch's public names the engine has.

python -m engine.parity                            every name
python -m engine.parity --namespace nn.functional  names of one namespace
python -m engine.parity --namespace "import paths" paths of PyTorch's modules
python -m engine.parity --left-out                 names left out, with reasons
python -m engine.parity --missing                  names that are missing without a reason
python -m engine.parity --json                     output as JSON
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence

from engine.parity.names import MODULES, Name, names, stored, version


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    all_names = list(names(options.namespace))
    shown = [name for name in all_names if options.state in (None, name.state)]
    sys.stdout.write(as_json(all_names, shown) if options.json else as_table(all_names, shown))
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m engine.parity", description="PyTorch's public names, and whether the engine has them."
    )
    spaces = [*(space.removeprefix("torch.") for space in stored()), MODULES]
    parser.add_argument(
        "--namespace", type=lambda text: text.removeprefix("torch."), choices=spaces, help="show only this namespace"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--missing", dest="state", action="store_const", const="missing", help="only names without a reason"
    )
    which.add_argument("--left-out", dest="state", action="store_const", const="left out", help="only names left out")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(arguments)


def as_json(all_names: Sequence[Name], shown: Sequence[Name]) -> str:
    rows = [{"name": name.path, "state": name.state, "reason": name.reason} for name in shown]
    return json.dumps({"pytorch": version(), "summary": counts(all_names), "names": rows}, indent=1) + "\n"


def as_table(all_names: Sequence[Name], shown: Sequence[Name]) -> str:
    width = max((len(name.path) for name in shown), default=0)
    lines = [f"{name.path:<{width}}  {'yes' if name.there else name.reason or 'missing'}" for name in shown]
    summary = [
        f"{space:<32}{count['there']:>6}{count['left out']:>10}{count['missing']:>9}"
        for space, count in counts(all_names).items()
    ]
    head = f"{'PyTorch ' + version():<32}{'there':>6}{'left out':>10}{'missing':>9}"
    return "\n".join([*lines, *([""] if lines else []), head, *summary]) + "\n"


def counts(all_names: Sequence[Name]) -> dict[str, dict[str, int]]:
    """Print the counts per namespace, and in total."""
    spaces = dict.fromkeys(name.namespace for name in all_names)
    groups = {space: [name for name in all_names if name.namespace == space] for space in spaces} | {
        "all": list(all_names)
    }
    states = {space: Counter(name.state for name in group) for space, group in groups.items()}
    return {space: {state: n[state] for state in ("there", "left out", "missing")} for space, n in states.items()}


if __name__ == "__main__":
    raise SystemExit(main())
