"""Write `data.py` of a PyTorch package."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import cast

from studio.export.data_plan import DataPlan, TransformStep
from studio.export.import_lines import RESERVED, import_lines
from studio.export.shipped_source import decided, names_in, shipped, shipped_text, split
from studio.export.source_format import source_of
from studio.export.stored_samples import StoredSamples
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.safe_identifiers import Locals

SAMPLES = "pytorch/samples.py"
PARTS = ("train", "validation")


def data_file(plan: DataPlan, samples: Sequence[StoredSamples]) -> str:
    """The text of `data.py`, whose function `loaders` returns the training and validation batches."""
    function = _Loaders(plan, samples).function()
    is_random = any(step.is_random for each in samples for step in each.applied)
    parts = split(decided(shipped_text(SAMPLES), {"HAS_AUGMENTATION": is_random}, {}))
    used = names_in(function) & parts.definitions.keys()
    body = f"{parts.selected(sorted(used))}\n\n\n{source_of([function])}"
    return f'"""The data: samples, transforms and batches."""\n\n{import_lines(body)}\n\n\n{body}\n'


class _Loaders:
    def __init__(self, plan: DataPlan, samples: Sequence[StoredSamples]) -> None:
        self._plan, self._samples = plan, samples
        self._names = Locals({*RESERVED, *shipped(SAMPLES).definitions, "zip", "range", "loaders"})
        self._has_validation = all(each.has_validation for each in samples)

    def function(self) -> ast.FunctionDef:
        """`def loaders():`"""
        body: list[ast.stmt] = [ast.Expr(ast.Constant("Training and validation batches; None without validation."))]
        made: dict[str, list[ast.expr]] = {part: [] for part in PARTS}
        for each in self._samples:
            body += self._loader(each, made)
        results = [self._joined(made[part]) for part in PARTS]
        return syntax_trees.function("loaders", (), [*body, syntax_trees.returns(results)])

    def _joined(self, loaders: list[ast.expr]) -> ast.expr:
        if not loaders or len(loaders) < len(self._samples):
            return ast.Constant(None)
        if len(loaders) == 1:
            return loaders[0]
        epoch = {"epoch": self._plan.joint["epoch"]} if "epoch" in self._plan.joint else {}
        return syntax_trees.call(syntax_trees.name("JointLoader"), [ast.List(loaders, ast.Load())], epoch)

    def _loader(self, samples: StoredSamples, made: dict[str, list[ast.expr]]) -> Iterator[ast.stmt]:
        """The statements that read the samples of a loader; adds the loaders to `made`."""
        plan = samples.plan
        arrays = self._names.new(plan.source)
        path = ast.BinOp(syntax_trees.name("FOLDER"), ast.Div(), ast.Constant(samples.file.rpartition("/")[2]))
        yield _assign(arrays, syntax_trees.call(syntax_trees.attribute("np", "load"), [path]))
        transforms: dict[str, list[ast.expr]] = {"inputs": [], "targets": []}
        for step in samples.applied:
            name = self._names.new(step.node)
            yield _assign(name, _transform(step))
            transforms[step.on].append(syntax_trees.name(name))
        prefix = f"{plan.loader}_" if len(self._samples) > 1 else ""
        for part in PARTS if samples.has_validation and self._has_validation else PARTS[:1]:
            name = self._names.new(f"{prefix}{part}")
            yield _assign(name, _data_set(samples, arrays, transforms, part))
            if part == "train" and any(step.is_random for step in samples.applied):
                yield syntax_trees.assign([syntax_trees.attribute(name, "training")], ast.Constant(value=True))
            made[part].append(self._batches(samples, name, part))

    def _batches(self, samples: StoredSamples, data_set: str, part: str) -> ast.expr:
        """`DataLoader(train, batch_size=64, shuffle=True)`."""
        plan, name = samples.plan, syntax_trees.name(data_set)
        size = cast("int", plan.setting("batch_size", 64))
        options: dict[str, object] = {"batch_size": size}
        shuffles = part == "train" and plan.setting("shuffle", default=True)
        if plan.setting("contiguous", default=False):
            options["sampler"] = syntax_trees.call(syntax_trees.name("ContiguousSampler"), [name, ast.Constant(size)])
        elif shuffles and self._plan.joint.get("order") == "paired":
            options["sampler"] = syntax_trees.call(syntax_trees.name("PairedSampler"), [name])
        elif shuffles:
            options["shuffle"] = True
        if part == "train" and plan.setting("drop_last", default=False):
            options["drop_last"] = True
        if workers := plan.setting("workers", 0):
            options["num_workers"] = workers
        return syntax_trees.call(syntax_trees.name("DataLoader"), [name], options)


def _data_set(samples: StoredSamples, arrays: str, transforms: dict[str, list[ast.expr]], part: str) -> ast.expr:
    """`Samples(digits["train_inputs"], digits["train_targets"], [scale], training=True)`."""
    if samples.window is not None and not samples.applied:
        tokens = _item(arrays, f"{part}_tokens")
        return syntax_trees.call(syntax_trees.name("Windows"), [tokens, *map(ast.Constant, samples.window)])
    if samples.window is not None:
        tokens = _item(arrays, f"{part}_tokens")
        windows = syntax_trees.call(syntax_trees.name("Windows"), [tokens, *map(ast.Constant, samples.window)])
        pairs: list[ast.expr] = [ast.Starred(syntax_trees.call(syntax_trees.member(windows, "arrays")), ast.Load())]
    else:
        pairs = [_item(arrays, f"{part}_inputs"), _item(arrays, f"{part}_targets")]
    options: dict[str, ast.expr] = {
        f"on_{side}": ast.List(listed, ast.Load()) for side, listed in transforms.items() if listed
    }
    return syntax_trees.call(syntax_trees.name("Samples"), pairs, options)


def _transform(step: TransformStep) -> ast.expr:
    return syntax_trees.call(syntax_trees.name(step.kind), (), step.keywords)


def _item(arrays: str, key: str) -> ast.expr:
    return ast.Subscript(syntax_trees.name(arrays), ast.Constant(key), ast.Load())


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return syntax_trees.assign([syntax_trees.name(name)], value)


__all__ = ["data_file"]
