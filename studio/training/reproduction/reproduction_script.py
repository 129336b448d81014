"""A minimal reproduction as a script that needs only the engine."""

from __future__ import annotations

from studio.lowering.program import Program
from studio.training.diagnosis.divergence import FACTOR
from studio.training.reproduction.failure_sign import FailureSign

WEIGHTS_FILE = "reproduction.safetensors"

_MAIN = '''

def check(name, tensor):
    """Stop at NaN and infinity."""
    if tensor is not None and not numpy.isfinite(tensor.detach().float().numpy()).all():
        raise FloatingPointError(f"{name} contains NaN or infinity")


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    task = TASK(device="cpu", seed=SEED)
    batch = next(iter(task.setup().train))
    LOADlosses = fit.step(task, batch)
    for loss in losses.values():
        check("the loss", loss)
        if float(loss) > LIMIT:
            raise FloatingPointError(f"the loss is {float(loss):.4g}")
    for name, parameter in task.model.named_parameters():
        check(f"the gradient of {name}", parameter.grad)
    for name, parameter in task.model.named_parameters():
        check(f"{name} after the update", parameter)
    print("The step did not fail.")
'''


def reproduction_script(program: Program, sign: FailureSign, node: str | None, *, seed: int, has_weights: bool) -> str:
    """The text of the script.

    Args:
        program: the program of the reproduction, with paths relative to its folder
        node: the node of the reproduction that fails
        has_weights: whether there is a weights file beside it
    """
    heading = f"Minimal reproduction: {_plain(str(sign))}\n\n"
    if node is not None:
        heading += f"The node is {node}. "
    heading += "Run this file with Python; its data is in the same folder. It ends with the error.\n"
    load = f'task.model.load_state_dict(load("{WEIGHTS_FILE}"))\n    ' if has_weights else ""
    imports = "import os\n\nimport numpy\n" + ("from engine import load\n" if has_weights else "")
    values = {"TASK": program.task_class, "SEED": str(seed), "LOAD": load, "LIMIT": f"{FACTOR:.0f}"}
    main = _MAIN
    for name, value in values.items():
        main = main.replace(name, value)
    return f'"""{heading}"""\n\n{imports}{program.source.rstrip()}\n{main}'


def _plain(text: str) -> str:
    return text.replace("\\", "/").replace('"""', "'''")


__all__ = ["WEIGHTS_FILE", "reproduction_script"]
