"""Random healthy projects of all families, in which no rule may report anything.

Try a new rule on them, and add the seed that it prints if it is wrong:

    PYTHONPATH=. .venv/bin/python -m tests.studio.mistakes.healthy_graphs 150        # check
    PYTHONPATH=. .venv/bin/python -m tests.studio.mistakes.healthy_graphs 30 --run   # check, and train for 2 epochs
    PYTHONPATH=. .venv/bin/python -m tests.studio.mistakes.healthy_graphs 30 --run --epochs 12
    PYTHONPATH=. .venv/bin/python -m tests.studio.mistakes.healthy_graphs --seed 17  # one project, written to a file

The test takes their number from HEALTHY_GRAPHS.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from msgspec.structs import replace

from studio.document.code_trust import TRUST
from studio.document.edits import set_param
from studio.document.files import project_files
from studio.document.files.project_templates import templates
from studio.document.model import Document, Json
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.training import Failed, TrainingSession, Warned
from tests.studio.mistakes.healthy_builder import GraphBuilder
from tests.studio.mistakes.healthy_training import add_training

RUN_EPOCHS = 2
_FOR_SEQUENCES = ("Adam", "AdamW", "NAdam", "RAdam", "RMSprop")
"""Optimizers of recurrent networks, which plain gradient descent trains too slowly."""
_FOR_SMALL_GRADIENTS = (*_FOR_SEQUENCES, "Adamax", "Adagrad", "Adafactor")
"""Optimizers for means over many outputs: plain gradient descent with usual rates gains 5 % in 100 steps."""
_CLASS_SOURCES = ("Moons", "Circles", "Blobs", "Spirals")


def healthy_graph(seed: int) -> tuple[str, Document]:
    """The family and the project of a seed. Successive seeds go through all families."""
    family = FAMILIES[seed % len(FAMILIES)]
    return family.__name__, family(Random(seed))


# -- data -----------------------------------------------------------------------------------------


def _images(random: Random, *, full_batch: bool = False) -> GraphBuilder:
    graph = GraphBuilder(random).add("data.Digits", "digits")
    mean, std = random.choice(((0.0, 16.0), (4.88, 6.0), (8.0, 8.0)))
    graph.add("transforms.Normalize", "scale", mean=mean, std=std)
    if not full_batch and graph.chance(0.2):
        graph.add("transforms.RandomAffine", degrees=5.0)
    return _batches(graph, 1438, full_batch=full_batch)


def _batches(graph: GraphBuilder, samples: int, *, full_batch: bool = False) -> GraphBuilder:
    if full_batch:
        return graph.add("data.Batches", "batches", batch_size=samples, shuffle=False)
    size = graph.random.choice((16, 32, 50, 64, 100))
    return graph.add("data.Batches", "batches", batch_size=size, drop_last=graph.chance(0.3))


def _points(random: Random, *, full_batch: bool = False) -> tuple[GraphBuilder, int]:
    """Points in the plane, and the number of their classes."""
    source = random.choice(_CLASS_SOURCES)
    classes = 2 if source == "Moons" else random.choice((2, 3, 4))
    params: dict[str, Json] = {} if source == "Moons" else {"classes": classes}
    graph = GraphBuilder(random).add(f"data.{source}", "points", samples=random.choice((400, 1000)), **params)
    return _batches(graph, 1000, full_batch=full_batch), classes


def _hidden(graph: GraphBuilder, layers: int) -> GraphBuilder:
    for _ in range(layers):
        width = graph.random.choice((16, 24, 32, 64))
        norm = graph.random.choice(("", "", "nn.BatchNorm1d", "nn.LayerNorm"))
        graph.add("nn.Linear", out_features=width, bias=norm != "nn.BatchNorm1d")
        if norm:
            graph.add(norm)
        graph.activation().dropout()
    return graph


def _classify(
    graph: GraphBuilder, classes: int, *, full_batch: bool = False, layer: bool = True, optimizer: str = ""
) -> Document:
    """End a graph with scores of classes and one of the losses for them."""
    if layer:
        graph.add("nn.Linear", "scores", out_features=classes)
    scores = graph.last
    loss = graph.random.choice(("cross", "cross", "cross", "smooth", "nll", "margin"))
    if loss == "nll":
        graph.add("nn.LogSoftmax", dim=1).join("nn.NLLLoss", "batches.target", "target")
    elif loss == "margin":
        graph.join("nn.MultiMarginLoss", "batches.target", "target")
    else:
        smoothing = 0.1 if loss == "smooth" else 0.0
        graph.join("nn.CrossEntropyLoss", "batches.target", "target", label_smoothing=smoothing)
    end, metric = graph.last, graph.random.choice(("", "accuracy", "accuracy"))
    _judge(graph, metric, "metrics.Accuracy", scores, "batches.target")
    return graph.document(add_training(graph, end, full_batch=full_batch, metric=metric, optimizer=optimizer))


def _judge(graph: GraphBuilder, name: str, type: str, scores: str, target: str) -> None:
    if name:
        graph.last = scores
        graph.add(type, name).wire(target, f"{name}.target")


def _estimate(
    graph: GraphBuilder, target: str = "batches.target", *, full_batch: bool = False, optimizer: str = ""
) -> Document:
    """End a graph with a loss for numbers."""
    output = graph.last
    key = graph.random.choice(("MSELoss", "L1Loss", "HuberLoss", "SmoothL1Loss"))
    graph.join(f"nn.{key}", target, "target")
    end = graph.last
    if graph.chance(0.5):
        _judge(graph, "error", "metrics.MeanAbsoluteError", output, target)
    full_batch = full_batch and key != "L1Loss"
    return graph.document(add_training(graph, end, full_batch=full_batch, regression=True, optimizer=optimizer))


# -- families -------------------------------------------------------------------------------------


def template(random: Random) -> Document:
    """A template with another seed and size of batches."""
    document = random.choice(templates()).document
    loader = next(name for name, node in document.nodes.items() if node.type == "data.Batches")
    document = set_param(document, loader, "batch_size", random.choice((24, 32, 48, 64)))
    return replace(document, training=replace(document.training, seed=random.randrange(1000)))


def adversarial(random: Random) -> Document:
    """The generative adversarial network, with other sizes."""
    document = next(each.document for each in templates() if each.key == "digits-gan")
    document = set_param(document, "noise", "size", random.choice((8, 16, 32)))
    for name in ("generator_hidden", "discriminator_hidden"):
        document = set_param(document, name, "out_features", random.choice((32, 64, 128)))
    return document


def perceptron(random: Random) -> Document:
    graph, classes = _points(random)
    return _classify(_hidden(graph, random.choice((1, 2, 3))), classes)


def binary(random: Random) -> Document:
    """One score, for the classes 0 and 1."""
    graph = _batches(GraphBuilder(random).add("data.Moons", "points"), 800)
    _hidden(graph, 2).add("nn.Linear", "score", out_features=1)
    score = graph.last
    if random.random() < 0.4:
        graph.add("nn.Sigmoid", "probability")
    is_probability = graph.last != score
    output = graph.last
    graph.last = "batches.target"
    graph.add("Tensor.to", "number", dtype="float32").add("ops.unsqueeze", "column", dim=1)
    graph.last = output
    graph.join("nn.BCELoss" if is_probability else "nn.BCEWithLogitsLoss", "column.output", "target")
    end = graph.last
    if not is_probability:
        _judge(graph, "accuracy", "metrics.BinaryAccuracy", score, "column.output")
    return graph.document(add_training(graph, end))


def linear_model(random: Random) -> Document:
    """Logistic or linear regression, perhaps on the whole set at once."""
    full_batch = random.random() < 0.5
    if random.random() < 0.5:
        return _classify(_images(random, full_batch=full_batch).add("nn.Flatten"), 10, full_batch=full_batch)
    graph = GraphBuilder(random).add("data.Regression", "rows", features=random.choice((3, 5, 8)))
    _batches(graph, 1000, full_batch=full_batch).add("nn.Linear", "estimate", out_features=1)
    return _estimate(graph, full_batch=full_batch)


def full_batch_perceptron(random: Random) -> Document:
    graph, classes = _points(random, full_batch=True)
    graph.add("nn.Linear", out_features=24).add("nn.Tanh")
    return _classify(graph, classes, full_batch=True)


def convolutional(random: Random) -> Document:
    graph = _images(random)
    for width in random.choice(((8,), (8, 16), (16, 32))):
        norm = random.choice(("", "", "nn.BatchNorm2d", "nn.InstanceNorm2d"))
        graph.add("nn.Conv2d", out_channels=width, kernel_size=3, padding=1, bias=not norm)
        if norm:
            graph.add(norm)
        graph.activation().add(f"nn.{random.choice(('MaxPool2d', 'AvgPool2d'))}", kernel_size=2)
    if graph.chance(0.3):
        graph.add("nn.AdaptiveAvgPool2d", output_size=[2, 2])
    graph.add("nn.Flatten").dropout()
    return _classify(graph, 10)


def separable(random: Random) -> Document:
    """Depthwise and pointwise convolutions without an activation between them."""
    graph = _images(random).add("nn.Conv2d", out_channels=8, kernel_size=3, padding=1).activation()
    for width in (16, 24):
        channels = 8 if width == 16 else 16
        graph.add("nn.Conv2d", out_channels=channels, kernel_size=3, padding=1, groups=channels)
        graph.add("nn.Conv2d", out_channels=width, kernel_size=1).activation()
    graph.add("nn.AdaptiveAvgPool2d", output_size=[1, 1]).add("nn.Flatten")
    return _classify(graph, 10)


def residual(random: Random) -> Document:
    graph, classes = _points(random)
    graph.add("nn.Linear", out_features=32).activation()
    for _ in range(random.choice((1, 2, 3))):
        before = graph.last
        graph.add("nn.LayerNorm").add("nn.Linear", out_features=32).activation().add("nn.Linear", out_features=32)
        graph.join("ops.add", before, "y")
    return _classify(graph.add("nn.LayerNorm"), classes)


def shipped_blocks_of_images(random: Random) -> Document:
    graph = _images(random).block("conv_bn_relu", out_channels=random.choice((8, 16)))
    name = random.choice(("residual", "inverted_residual", "squeeze_excite", "residual_down", "bottleneck_down"))
    width: dict[str, dict[str, Json]] = {
        "residual_down": {"out_channels": 16},
        "bottleneck_down": {"width": 8, "out_channels": 16},
    }
    graph.block(name, **width.get(name, {}))
    graph.add("nn.AdaptiveAvgPool2d", output_size=[1, 1]).add("nn.Flatten")
    return _classify(graph, 10)


def recurrent(random: Random) -> Document:
    task = random.choice(("sum", "parity", "sine", "series"))
    graph = GraphBuilder(random)
    if task == "series":
        graph.add("data.MackeyGlass", "sequences", values=1000)
    else:
        graph.add("data.Sequences", "sequences", task=task)
    _batches(graph, 800)
    two_ways = random.random() < 0.3
    cell = random.choice(("LSTM", "GRU", "RNN"))
    graph.add(f"nn.{cell}", hidden_size=random.choice((12, 16, 32)), bidirectional=two_ways)
    if two_ways:
        graph.add("ops.mean", dim=1)
    else:
        graph.add("ops.select", dim=1, index=-1)
    if task == "parity":
        return _classify(graph, 2, optimizer=random.choice(_FOR_SEQUENCES))
    graph.add("nn.Linear", "estimate", out_features=1)
    return _estimate(graph, optimizer=random.choice(_FOR_SEQUENCES))


def lstm_block(random: Random) -> Document:
    graph = _batches(GraphBuilder(random).add("data.Sequences", "sequences", task="parity"), 800)
    graph.block("lstm_classifier", classes=2, hidden=random.choice((16, 32)), bidirectional=random.random() < 0.3)
    return _classify(graph, 2, layer=False, optimizer=random.choice(_FOR_SEQUENCES))


def transformer(random: Random) -> Document:
    graph = _images(random)
    width = random.choice((16, 32))
    graph.block("patch_embedding", features=width, size=random.choice((2, 4))).add("nn.LearnedPositions")
    if random.random() < 0.5:
        graph.block("encoder_block", heads=random.choice((2, 4)), dropout=0.1)
    else:
        graph.add("nn.TransformerEncoderLayer", d_model=width, nhead=2, dim_feedforward=2 * width)
    graph.add("nn.LayerNorm").add("ops.mean", dim=1)
    return _classify(graph, 10)


def language_model(random: Random) -> Document:
    graph = GraphBuilder(random).add("data.Shakespeare", "text", length=32, stride=32)
    _batches(graph, 2800).add("nn.Embedding", num_embeddings=62, embedding_dim=16)
    if random.random() < 0.5:
        graph.add("nn.LearnedPositions").block("causal_block", heads=2).add("nn.LayerNorm")
    else:
        graph.add(f"nn.{random.choice(('LSTM', 'GRU'))}", hidden_size=32)
    graph.add("nn.Linear", out_features=62).add("ops.transpose", dim0=1, dim1=2)
    graph.join("nn.CrossEntropyLoss", "batches.target", "target")
    return graph.document(add_training(graph, graph.last, optimizer=random.choice(("Adam", "AdamW"))))


def regression(random: Random) -> Document:
    function = random.choice(("linear", "sines", "friedman"))
    graph = GraphBuilder(random).add("data.Regression", "rows", function=function, features=5)
    _hidden(_batches(graph, 800), random.choice((1, 2))).add("nn.Linear", "estimate", out_features=1)
    return _estimate(graph)


def table(random: Random) -> Document:
    """Body masses or species of penguins."""
    graph = GraphBuilder(random)
    if random.random() < 0.5:
        graph.add("data.Penguins", "penguins")
        mean, std = [43.81, 17.23, 200.3, 4190.0], [5.54, 1.93, 13.8, 800.0]
        graph.add("transforms.Normalize", mean=[*mean, *[0] * 5], std=[*std, *[1] * 5])
        return _classify(_hidden(_batches(graph, 266), 1), 3)
    graph.add("data.Penguins", "penguins", target="body_mass_g")
    graph.add("transforms.Normalize", mean=[43.81, 17.23, 200.3, *[0] * 8], std=[5.54, 1.93, 13.8, *[1] * 8])
    graph.add("transforms.Normalize", "kilograms", std=1000.0, on="targets")
    return _estimate(_hidden(_batches(graph, 266), 2).add("nn.Linear", "mass", out_features=1))


def autoencoder(random: Random) -> Document:
    """The inputs are the targets."""
    graph = GraphBuilder(random).add("data.Digits", "digits").add("transforms.Normalize", "scale", std=16.0)
    _batches(graph, 1438).add("nn.Flatten", "pixels").add("nn.Linear", out_features=32).activation()
    graph.add("nn.Linear", "code", out_features=random.choice((4, 8)))
    if random.random() < 0.5:
        graph.activation()
    else:
        graph.add("nn.LayerNorm")
    graph.add("nn.Linear", out_features=32).activation().add("nn.Linear", out_features=64)
    if random.random() < 0.5:
        graph.add("nn.Sigmoid", "image")
    return _estimate(graph, "pixels.output", optimizer=random.choice(_FOR_SMALL_GRADIENTS))


def frozen_features(random: Random) -> Document:
    """Fine-tuning: the features are frozen, the last layers are trained."""
    graph = _images(random)
    for index, width in enumerate((8, 16)):
        graph.add("nn.Conv2d", f"features_{index}", out_channels=width, kernel_size=3, padding=1)
        graph.change(f"features_{index}", frozen=True).add("nn.ReLU").add("nn.MaxPool2d", kernel_size=2)
    graph.add("nn.Flatten")
    return _classify(_hidden(graph, random.choice((0, 1))), 10)


def siamese(random: Random) -> Document:
    """Two branches with the same weights."""
    graph = _images(random)
    graph.add("nn.Flatten", "left_pixels").add("nn.Linear", "left", out_features=16)
    graph.last = "batches.input"
    graph.add("ops.roll", "next_image", shifts=1, dims=0).add("nn.Flatten", "right_pixels")
    graph.add("nn.Linear", "right", out_features=16).change("right", shares="left")
    graph.last = "batches.target"
    graph.add("ops.roll", "next_label", shifts=1, dims=0).join("ops.eq", "batches.target", "y")
    graph.add("Tensor.to", dtype="float32").add("ops.unsqueeze", "same", dim=1)
    graph.last = "left.output"
    graph.join("ops.sub", "right.output", "y").add("ops.abs").add("nn.Linear", "score", out_features=1)
    graph.join("nn.BCEWithLogitsLoss", "same.output", "target")
    return graph.document(add_training(graph, graph.last))


def several_losses(random: Random) -> Document:
    """Classes and a reconstruction from one code, added with weights."""
    graph = _images(random).add("nn.Flatten", "pixels").add("nn.Linear", "code", out_features=16).activation()
    code = graph.last
    graph.add("nn.Linear", "scores", out_features=10).join("nn.CrossEntropyLoss", "batches.target", "target")
    first, graph.last = graph.last, code
    graph.add("nn.Linear", "image", out_features=64).join("nn.MSELoss", "pixels.output", "target")
    graph.join("studio.LossSum", first, "b", weight_a=random.choice((0.1, 0.5, 1.0)), weight_b=1.0)
    return graph.document(add_training(graph, graph.last))


def summed_loss(random: Random) -> Document:
    """A loss that sums over the batch, with an optimizer that divides gradients by their size."""
    graph, classes = _points(random)
    _hidden(graph, 1).add("nn.Linear", out_features=classes)
    graph.join("nn.CrossEntropyLoss", "batches.target", "target", reduction="sum")
    return graph.document(add_training(graph, graph.last, optimizer="Adam"))


def split_data(random: Random) -> Document:
    """A split by a node, instead of that of the source."""
    graph = GraphBuilder(random).add("data.Blobs", "points", validation=0.0)
    if random.random() < 0.5:
        graph.add("data.HoldOut", stratify=random.random() < 0.5)
    else:
        graph.add("data.KFold", folds=4, fold=random.randrange(4))
    return _classify(_hidden(_batches(graph, 800), 1), 3)


_GATED = """\
class Gated(nn.Module):
    def __init__(self, width: int = 24):
        super().__init__()
        self.value = nn.Linear(24, width)
        self.gate = nn.Linear(24, width)

    def forward(self, x):
        return self.value(x) * engine.sigmoid(self.gate(x))
"""
_SWISH = "def swish(x, beta: float = 1.0):\n    return x * engine.sigmoid(beta * x)\n"
_NOISE = "def noisy(x, scale: float = 0.1):\n    return x + scale * engine.randn_like(x)\n"
_CENTERED = """\
def centered(x):
    mean = x.mean(dim=-1, keepdim=True)
    scale = (x - mean).pow(2).mean(dim=-1, keepdim=True).sqrt() + 1e-5
    return (x - mean) / scale
"""


def python_nodes(random: Random) -> Document:
    """Code of the user between layers, whose layers are observed."""
    sources = (_GATED, _SWISH, _NOISE, _CENTERED)
    TRUST.allow(sources)
    graph, classes = _points(random)
    for _ in range(random.choice((1, 2))):
        graph.add("nn.Linear", out_features=24).add("studio.Python", source=random.choice(sources))
    return _classify(graph.activation(), classes)


def squashing(random: Random) -> Document:
    """Sigmoids or tanhs in one or two hidden layers, as in old textbooks."""
    graph, classes = _points(random)
    for _ in range(random.choice((1, 2))):
        graph.add("nn.Linear", out_features=random.choice((16, 32))).add(f"nn.{random.choice(('Sigmoid', 'Tanh'))}")
    return _classify(graph, classes, optimizer=random.choice(("Adam", "AdamW", "NAdam", "RMSprop")))


def deep(random: Random) -> Document:
    """Many layers with normalization."""
    graph = _images(random).add("nn.Flatten")
    for _ in range(random.choice((5, 8))):
        graph.add("nn.Linear", out_features=32).add("nn.LayerNorm").activation()
    return _classify(graph, 10, optimizer=random.choice(("Adam", "AdamW", "SGD with momentum")))


def two_inputs(random: Random) -> Document:
    """Features of a convolution and of the pixels, joined."""
    graph = _images(random).add("nn.Conv2d", out_channels=8, kernel_size=3).activation().add("nn.Flatten", "features")
    features, graph.last = graph.last, "batches.input"
    graph.add("nn.Flatten").add("nn.Linear", out_features=16).activation()
    pixels, graph.last = graph.last, features
    graph.add("ops.cat", dim=1).wire(pixels, f"{graph.node}.b")
    return _classify(graph, 10)


FAMILIES: tuple[Callable[[Random], Document], ...] = (
    perceptron,
    template,
    binary,
    linear_model,
    convolutional,
    recurrent,
    regression,
    transformer,
    full_batch_perceptron,
    autoencoder,
    separable,
    residual,
    frozen_features,
    shipped_blocks_of_images,
    lstm_block,
    language_model,
    table,
    siamese,
    adversarial,
    several_losses,
    summed_loss,
    split_data,
    python_nodes,
    squashing,
    deep,
    two_inputs,
)


# -- complaints -----------------------------------------------------------------------------------


def complaints(document: Document, *, run: bool = False, epochs: int = RUN_EPOCHS) -> Iterator[str]:
    """All problems that are reported for a healthy project, as text."""
    for problem in check(document, catalogue(), Path.cwd()).problems:
        yield f"{problem.severity} {problem.code} at {problem.node}: {problem.message}"
    if not run:
        return
    session = TrainingSession(document, catalogue(), epochs=epochs, device="cpu")
    session.start()
    session.join(300)
    for event in session.events():
        if isinstance(event, Warned):
            problem = event.problem
            yield f"run: {problem.severity} {problem.code} at {problem.node}: {problem.message}"
        elif isinstance(event, Failed):
            yield f"run: {event}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=150)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--run", action="store_true", help="also train each")
    parser.add_argument("--epochs", type=int, default=RUN_EPOCHS, help="length of these trainings")
    parser.add_argument("--seed", type=int, help="write the project of one seed to healthy.gradwire")
    options = parser.parse_args()
    if options.seed is not None:
        project_files.save(healthy_graph(options.seed)[1], Path("healthy.gradwire"))
    seeds = range(options.first, options.first + options.count) if options.seed is None else [options.seed]
    wrong = 0
    for seed in seeds:
        family, document = healthy_graph(seed)
        for text in complaints(document, run=options.run, epochs=options.epochs):
            wrong += 1
            sys.stdout.write(f"{seed} {family}: {text}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(seeds)} healthy graphs, {wrong} complaints\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
