"""Peak memory of a training step relative to PyTorch: growth of the process beyond model, data and optimizer state.

python benchmarks/memory.py                 every step of train_step.py
python benchmarks/memory.py --only mlp-64   one of them; repeatable
python benchmarks/memory.py --json          one JSON object per line

Each library trains in a separate process. The peak is `VmHWM` of Linux, which can be reset; other systems are not
supported.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import models
import train_step

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
STEPS = 5
MB = 1024


def main() -> None:
    options = parse()
    if options.inside:
        print(memory_growth(options.only[0], options.inside, options.threads))
        return
    if not RESET.exists():
        print("peak memory can only be measured on Linux", file=sys.stderr)
        return
    libraries = ["engine", *(["torch"] if importlib.util.find_spec("torch") else [])]
    for name in options.only or models.EAGER:
        report(
            name,
            {library: measure_in_process(name, library, options.threads) / MB for library in libraries},
            options.json,
        )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(models.BENCHMARKS), help="repeatable")
    parser.add_argument("--threads", type=int, default=2, help="threads per library")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument("--inside", choices=("engine", "torch"), help=argparse.SUPPRESS)
    return parser.parse_args()


def measure_in_process(name: str, library: str, threads: int) -> int:
    """Measure the kB that `library` needs, in a separate process."""
    command = [sys.executable, __file__, "--inside", library, "--only", name, "--threads", str(threads)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def memory_growth(name: str, library: str, threads: int, *, is_compiled: bool = False) -> int:
    """kB from before the first step, plus optimizer state, to the peak of some steps.

    Compiled steps run once before, so that memory of the compiler is not counted; buffers of the plan are.
    """
    train_step.set_threads(threads)
    module = train_step.load(library)
    if library == "torch":
        module.set_num_threads(threads)
    benchmark = models.BENCHMARKS[name]
    # A first step with a small batch loads libraries and creates the optimizer state.
    model = benchmark.model(module.nn)
    optimizer = module.optim.Adam(model.parameters(), lr=1e-3)
    small = benchmark._replace(input=(2, *benchmark.input[1:]))
    first = train_step.step_of(module, model, optimizer, *train_step.batch_of(module, small))
    step = train_step.step_of(module, model, optimizer, *train_step.batch_of(module, benchmark))
    if is_compiled:
        first, step = (train_step.compiled(one, by="fit") for one in (first, step))
    for _ in range(4 if is_compiled else 1):
        first()
    if is_compiled:
        module.compiler.wait()
        first()
    gc.collect()
    RESET.write_text("5", encoding="ascii")
    before = kilobytes("VmRSS")
    for _ in range(STEPS):
        step()
    return kilobytes("VmHWM") - before


def kilobytes(field: str) -> int:
    line = next(line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1])


def report(name: str, peaks: dict[str, float], as_json: bool) -> None:
    ratio = peaks["engine"] / peaks["torch"] if peaks.get("torch") else None
    if as_json:
        figures = {f"{library}_mb": round(peak, 2) for library, peak in peaks.items()}
        print(json.dumps({"benchmark": name, "ratio": ratio} | figures), flush=True)
        return
    values = ", ".join(f"{library} {peak:.1f} MB" for library, peak in peaks.items())
    print(f"{name:<8} {f'{ratio:5.2f}x PyTorch' if ratio else ''}   {values}", flush=True)


if __name__ == "__main__":
    main()
