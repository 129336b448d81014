"""Files as authors of tutorials write them become blocks that compute the same."""

from __future__ import annotations

import pytest

import engine
from engine import nn
from studio.document import edits
from studio.document.blocks.block_edits import with_blocks
from studio.document.blocks.block_expansion import flat_document
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering import check, lower
from studio.lowering.source_import.module_import import import_module, module_classes
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.lowering.user_code.document_code import document_code, untrusted_code
from studio.nodes import catalogue
from tests.studio.code import trusting

HEAD = """
import math
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import datasets
"""

FUNCTIONAL = """
HIDDEN = 32

class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(64, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, 10)

    def forward(self, x):
        x = x.view(x.size(0), -1)  # flatten
        return self.fc2(F.relu(self.fc1(x)))

def train(args, model):
    model.train()

if __name__ == "__main__":
    train(argparse.ArgumentParser().parse_args(), Net())
"""

MODULE_LIST = """
class Net(nn.Module):
    def __init__(self, hidden=16, num_layers=3, dropout=0.0):
        super().__init__()
        assert num_layers > 0
        self.first = nn.Linear(64, hidden)
        self.layers = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(num_layers)])
        self.norms = nn.ModuleList()
        for _ in range(num_layers):
            self.norms.append(nn.LayerNorm(hidden))
        self.out = nn.Linear(hidden, 10)

    def forward(self, x):
        batch = x.shape[0]
        x = torch.relu(self.first(x.reshape(batch, -1)))
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms)):
            x = norm(layer(x))
            if i < len(self.layers) - 1:
                x = F.gelu(x)
        return self.out(x)
"""

CONFIG = """
config = {"channels": [4, 8], "classes": 10, "norm": True}

class Net(nn.Module):
    def __init__(self, config=config):
        super().__init__()
        self.use_norm = config["norm"]
        self.features = nn.Sequential(
            nn.Conv2d(1, config["channels"][0], 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(*config["channels"], 3, padding=1),
        )
        if self.use_norm:
            self.norm = nn.BatchNorm2d(config["channels"][-1])
        self.head = nn.Linear(config["channels"][1] * 8 * 8, config.get("classes", 2))

    def forward(self, x):
        x = self.features(x)
        if self.use_norm:
            x = self.norm(x)
        return self.head(torch.flatten(x, 1))
"""

HELPERS = """
def conv_block(channels_in, channels_out, kernel_size=3, act=nn.ReLU):
    layers = [nn.Conv2d(channels_in, channels_out, kernel_size, padding=kernel_size // 2)]
    if act is not None:
        layers.append(act())
    return nn.Sequential(*layers)

class Net(nn.Module):
    def __init__(self, sizes=(256, 32, 10)):
        super().__init__()
        self.body = nn.Sequential(conv_block(1, 4), conv_block(4, 4, act=None))
        layers = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            layers += [nn.Linear(a, b), nn.Tanh()]
        layers.pop()
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(self.body(x).view(-1, 4 * 8 * 8))
"""

INHERITANCE = """
class Base(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.flatten = nn.Flatten()
        self.fc1 = nn.Linear(64, hidden)
        self.fc2 = nn.Linear(hidden, 10)

    def features(self, x):
        return torch.tanh(self.fc1(self.flatten(x)))

    def forward(self, x):
        return self.fc2(self.features(x))

class Net(Base):
    def __init__(self, hidden=24):
        super().__init__(hidden)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, x):
        return self.fc2(self.norm(self.features(x)))
"""

RESNET = """
class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != self.expansion * planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, self.expansion * planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(self.expansion * planes),
            )

    def forward(self, x):
        out = self.bn1(self.conv1(x))
        out += self.shortcut(x)
        return F.relu(out)

class Net(nn.Module):
    def __init__(self, block=BasicBlock, num_classes=10):
        super().__init__()
        self.in_planes = 4
        self.conv1 = nn.Conv2d(1, 4, kernel_size=3, padding=1)
        self.layer1 = self._make_layer(block, 4, 2, stride=1)
        self.layer2 = self._make_layer(block, 8, 2, stride=2)
        self.linear = nn.Linear(8 * block.expansion, num_classes)

    def _make_layer(self, block, planes, num_blocks, stride):
        strides = [stride] + [1] * (num_blocks - 1)
        layers = []
        for stride in strides:
            layers.append(block(self.in_planes, planes, stride))
            self.in_planes = planes * block.expansion
        return nn.Sequential(*layers)

    def forward(self, x):
        out = self.layer2(self.layer1(self.conv1(x)))
        out = F.avg_pool2d(out, 4)
        return self.linear(out.view(out.size(0), -1))
"""
SIZES = """
class Net(nn.Module):
    def __init__(self, heads=2, head=8, depth=(16, 16)):
        super().__init__()
        width = heads * head
        self.scale = head ** -0.5
        self.use_norm = depth[0] > 8
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.body = nn.Sequential(*[nn.Linear(each, width) for each in (128, *depth)])
        options = dict(width=int(math.sqrt(width * width)))
        self.norm = nn.LayerNorm(**{"normalized_shape": options["width"]})
        self.out = nn.ModuleList([nn.Linear(width, 4 * width), nn.Linear(4 * width, 10)])

    def forward(self, x):
        batch, _, _, _ = x.shape
        N = x.size(0)
        x = self.conv(x)
        x = x.view(N, -1)
        x = self.body(x) * self.scale
        x = self.norm(x) if self.use_norm else x
        x = x.reshape(batch, 1, -1)
        for layer in self.out[:-1]:
            x = F.relu(layer(x))
        if len(self.out) == 2:
            return torch.flatten(self.out[-1](x), 1)
        return x
"""
PYTHON_NODES = """
from torch.nn import Linear as Lin

SCALE = 2.0

def squash(x, gain=1.5):
    # known when it runs
    if x.ndim > 3:
        return x
    return torch.tanh(x) * gain * SCALE

class Odd(nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()
        self.fc = Lin(width, width)
        self.depth = depth

    def forward(self, x):
        total = 0
        while total < self.depth:
            x = F.relu(self.fc(x)) / math.sqrt(2)
            total += 1
        return x

class Net(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.first = nn.Linear(64, hidden)
        self.odd = Odd(16, depth=3)
        self.tail = nn.Sequential(Odd(16), nn.ReLU())
        self.out = nn.Linear(hidden, 10)

    def forward(self, x):
        x = self.first(torch.flatten(x, 1))
        x = squash(self.odd(x), gain=2.0)
        return self.out(self.tail(x))
"""
FILES = {
    "python nodes": PYTHON_NODES,
    "sizes": SIZES,
    "functional": FUNCTIONAL,
    "module list": MODULE_LIST,
    "config": CONFIG,
    "helpers": HELPERS,
    "inheritance": INHERITANCE,
    "resnet": RESNET,
}


def with_digits(text: str, title: str | None = None) -> Document:
    """A project in which the imported block classifies digits."""
    has_code = text.endswith(PYTHON_NODES)
    document, made = with_blocks(Document(), import_module(text, catalogue(), title, python_nodes=has_code))
    (name,) = made.nodes
    nodes = {
        "digits": Node("data.Digits"),
        "scale": Node("transforms.Normalize", {"std": 16.0}),
        "batches": Node("data.Batches"),
        name: made.nodes[name],
        "loss": Node("nn.CrossEntropyLoss"),
        "adam": Node("optim.Adam"),
    }
    for title, node in nodes.items():
        document = edits.add(document, title, node)
    output = next(title for title, node in document.blocks["Net"].nodes.items() if node.type == "port.Output")
    for source, target in (
        (("digits", "samples"), ("scale", "samples")),
        (("scale", "samples"), ("batches", "samples")),
        (("batches", "input"), (name, "x")),
        ((name, output), ("loss", "input")),
        (("batches", "target"), ("loss", "target")),
        (("loss", "loss"), ("adam", "loss")),
    ):
        document = edits.connect(document, Wire(Endpoint(*source), Endpoint(*target)))
    return document


def original(text: str, title: str = "Net()") -> nn.Module:
    """The module that the file makes with the engine in place of PyTorch."""
    kept = "import math\n" + text.partition("def train(")[0].replace("from torch.nn import", "from engine.nn import")
    namespace = {"torch": engine, "nn": nn, "F": nn.functional, "__name__": "original"}
    exec(compile(kept, "original", "exec"), namespace)
    made = eval(title, namespace)
    assert isinstance(made, nn.Module)
    return made


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """Copy the weights of each attribute of the file's module to the layers that it became."""
    state = source.state_dict()
    attributes = {key.partition(".")[0] for key in state}
    queues = {name: [key for key in state if key.partition(".")[0] == name] for name in attributes}
    wanted = [key.removeprefix("net.") for key in target.state_dict()]
    owners = [next(name for name in attributes if key.startswith((f"{name}.", f"{name}_"))) for key in wanted]
    target.load_state_dict(
        {f"net.{key}": state[queues[owner].pop(0)] for key, owner in zip(wanted, owners, strict=True)}
    )
    assert not any(queues.values())


@pytest.mark.parametrize("title", FILES)
def test_an_imported_file_computes_the_same(title: str) -> None:
    computes_the_same(FILES[title])


def test_an_imported_call_computes_the_same() -> None:
    computes_the_same(FACTORIES, "small()")


def computes_the_same(text: str, call: str | None = None) -> None:
    document = with_digits(HEAD + text, call)
    with trusting(*document_code(document)):
        report = check(document, catalogue())
        assert not report.errors, report.errors
        task = lower(report).build()
        task.setup()
    before = original(text, call or "Net()")
    copy_weights(before, task.model)
    images = engine.randn(5, 1, 8, 8)
    before.eval()
    task.model.eval()
    assert engine.equal(before(images), task.model(images))


def refusal(text: str, *, python_nodes: bool = False) -> tuple[int, str]:
    with pytest.raises(SourceError) as caught:
        import_module(text, catalogue(), python_nodes=python_nodes)
    return caught.value.line, caught.value.message


def net(constructor: str, forward: str = "return x") -> str:
    body = "\n".join(f"        {line}" for line in constructor.splitlines())
    head = f"class Net(nn.Module):\n    def __init__(self, width=8):\n{body}\n"
    return f"{head}    def forward(self, x):\n        {forward}\n"


def test_arguments_stay_parameters_unless_the_structure_depends_on_them() -> None:
    document = import_module(HEAD + MODULE_LIST, catalogue())
    assert list(document.blocks["Net"].params) == ["hidden"]
    assert sum(node.type == "nn.Linear" for node in document.blocks["Net"].nodes.values()) == 5


def test_what_no_graph_can_say_is_refused_at_its_line() -> None:
    assert refusal(net("self.a = [nn.Linear(8, 8) for _ in range(2)]")) == (
        3,
        "self.a = [nn.Linear(8, 8) for _ in range(2)] is a plain list or dictionary of layers. Use nn.ModuleList.",
    )
    assert refusal(net("layer = nn.ReLU()\nself.a = nn.Sequential(layer, layer)"))[1].startswith("layer is used twice")
    assert refusal(net("for i in range(10 ** 9):\n    pass"))[0] == 3
    assert refusal(net("if open('x'):\n    self.a = nn.ReLU()"))[0] == 3
    assert refusal(net("if FLAG:\n    self.a = nn.ReLU()"))[0] == 3
    assert refusal(net("for i in open('x'):\n    pass"))[0] == 3
    assert refusal(net("for each in self.modules():\n    each.eps = 1.0"))[0] == 3
    assert refusal(net("self.a = nn.Linear(8, 8)\nself.a.weight.requires_grad_(False)", "return self.a(x)"))[0] == 4
    assert refusal(net("if width < 16:\n    raise ValueError"))[0] == 4
    assert refusal(net("pass", "N, T = x.shape\n        return x.reshape(N, T, 2)")) == (
        6,
        "T is not a constant. Write a number, text, or a tuple of numbers.",
    )
    line, message = refusal(net("self.lstm = nn.LSTM(8, 8)", "y, (h, c) = self.lstm(x)\n        return h"))
    assert (line, "takes a state apart" in message) == (5, True)


def test_parts_that_no_graph_can_express_become_untrusted_python_nodes() -> None:
    assert refusal(HEAD + PYTHON_NODES)[1] == "A graph has no while. Write the calls one after the other."
    document = import_module(HEAD + PYTHON_NODES, catalogue(), python_nodes=True)
    nodes = {name: node for name, node in document.blocks["Net"].nodes.items() if node.type == "studio.Python"}
    assert list(nodes) == ["odd", "python", "tail_odd"]
    assert nodes["odd"].params["depth"] == 3
    source = str(nodes["odd"].params["source"])
    assert source.startswith("import math\nfrom engine.nn import Linear as Lin\n\n\nclass Odd(nn.Module):\n")
    assert "def __init__(self, width: int, depth=2):" in source
    squash = str(nodes["python"].params["source"])
    assert squash.startswith("SCALE = 2.0\n\n\ndef squash(x, gain=1.5):\n    # known when it runs\n")
    assert len(untrusted_code(flat_document(document))) == 2


def test_a_class_without_a_graph_becomes_one_python_node() -> None:
    document = import_module(HEAD + PYTHON_NODES, catalogue(), "Odd", python_nodes=True)
    assert [node.type for node in document.nodes.values()] == ["studio.Python"]
    assert not document.blocks


WHILE = "while x.sum() > 0:\n            x = x - 1\n        return x"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (net("self.a = nn.ReLU()", WHILE).replace("width=8", "config"), 0, ""),
        (
            net("self.a = nn.Linear(config.width, 8)", WHILE).replace("width=8", "config"),
            2,
            "It cannot be a Python node, as its parameter config is neither a number nor a text.",
        ),
        (
            "from einops import reduce\n" + net("pass", "return reduce(x, 'b c -> b', 'mean')"),
            1,
            "Net cannot be a Python node, as it uses einops. Remove what uses it.",
        ),
        (
            "from .other import helper\n" + net("pass", "return helper(x)"),
            1,
            "Net cannot be a Python node, as it uses another file. Remove what uses it.",
        ),
        (
            net("pass", WHILE).replace("width=8", "width=nn.ReLU"),
            1,
            "Net cannot be a Python node; the default of width must be a number",
        ),
    ],
)
def test_parts_that_need_more_than_the_file_are_refused(text: str, line: int, message: str) -> None:
    if not message:
        assert import_module(text, catalogue(), python_nodes=True).nodes
        return
    found = refusal(text, python_nodes=True)
    assert (found[0], found[1][: len(message)]) == (line, message)


def test_a_class_that_derives_from_a_python_node_is_one_too() -> None:
    base = net("self.a = nn.Linear(8, 8)", WHILE).replace("Net", "Base")
    text = f"{base}class Net(Base):\n    def forward(self, x):\n        return super().forward(self.a(x))\n"
    [node] = import_module(text, catalogue(), python_nodes=True).nodes.values()
    assert str(node.params["source"]) == text.replace("):\n        return s", "):\n        return s").rstrip().replace(
        "return x\nclass", "return x\n\n\nclass"
    )


@pytest.mark.parametrize(
    "value", ["{[1]: 2}", "{1: 2}.get([1])", "[1, 2][::0]", "int(1e999)", "round(1e999)", "9 ** 10 ** 9", "(-8) ** 0.5"]
)
def test_values_without_a_result_are_refused(value: str) -> None:
    assert refusal(net(f"self.a = nn.Linear({value}, 8)"))[0] == 3


def test_expansion_is_bounded() -> None:
    loops = "for i in range(1000):\n            for j in range(1000):\n                x = F.relu(x)\n        return x"
    line, message = refusal(net("pass", loops))
    assert (line, "too many layers or calls" in message) == (7, True)


def test_removed_layers_are_not_taken_for_used_ones() -> None:
    lines = "layers = []\nfor i in range(200):\n    layers += [nn.ReLU(), nn.Tanh()]\n    layers.pop()\n"
    document = import_module(net(f"{lines}self.a = nn.Sequential(*layers)", "return self.a(x)"), catalogue())
    assert sum(node.type == "nn.ReLU" for node in document.blocks["Net"].nodes.values()) == 200


def test_a_repeated_block_stays_repeated() -> None:
    text = """
WIDTH = 8
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)
    def forward(self, x):
        return F.relu(self.fc(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(WIDTH) for _ in range(3)])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
    document = import_module(text, catalogue())
    assert document.blocks["Net"].nodes["blocks"].params["repeat"] == 3


FACTORIES = """
CONFIG = {"small": [4, (8, 2)]}

def init_weights(m):
    nn.init.zeros_(m.weight)

class Unit(nn.Module):
    def __init__(self, inputs, outputs, stride=1, act=nn.ReLU):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1)
        self.act = act()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride=stride)

    def forward(self, x):
        out = self.conv(x)
        skip = self.shortcut(x) if hasattr(self, "shortcut") else x
        return self.act(out + skip)

class Tree(nn.Module):
    def __init__(self, width, level):
        super().__init__()
        if level > 1:
            self.left = Tree(width, level - 1)
        else:
            self.left = Unit(width, width)
        self.right = nn.Conv2d(width, width, 1)

    def forward(self, x):
        return self.right(self.left(x))

class Net(nn.Module):
    def __init__(self, unit, widths, options, classes=7):
        super().__init__()
        layers, inputs = [], 1
        for each in widths:
            outputs, stride = (each, 1) if isinstance(each, int) else each
            layers.append(unit(inputs, outputs, stride))
            inputs = outputs
        self.groups = options["groups"]
        self.layers = nn.Sequential(*layers)
        self.tree = Tree(inputs, 2)
        self.fc = nn.Linear(inputs, classes)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                n = 3
                nn.init.normal_(m.weight, std=n)
        self.fc.bias.data.zero_()

    def forward(self, x):
        g = self.groups
        x = torch.flatten(self.tree(self.layers(x)).mean((2, 3)), 1)
        return self.fc(x * g)

def _make(key, **kwargs):
    return Net(Unit, CONFIG[key], {"groups": 2}, **kwargs)

def small(classes=10):
    return _make("small", classes=classes)

def other(key):
    return _make(key)
"""


def test_a_call_says_which_arguments_a_module_has() -> None:
    assert module_classes(FACTORIES) == ["small()", "Unit", "Tree", "Net"]
    document = import_module(FACTORIES, catalogue(), "small()")
    node = document.nodes["net"]
    assert node.params == {"classes": 10}
    assert set(document.blocks) == {"Net", "Tree", "Tree2", "Unit", "Unit2", "Unit3"}
    numbered = enumerate(FACTORIES.split("\n"), 1)
    lines = [number for number, line in numbered if "self.modules()" in line or ".zero_" in line]
    note = f"The initial weights that the file sets (line {lines[0]}, {lines[1]}) are not imported."
    assert document.blocks["Net"].description == note
    same = import_module(FACTORIES, catalogue(), 'Net(Unit, [4, (8, 2)], {"groups": 2}, classes=10)')
    assert same.blocks == document.blocks
    assert import_module(FACTORIES, catalogue(), "Unit(3, 5, act=nn.Tanh)").nodes["unit"].type == "block.Unit"


@pytest.mark.parametrize(
    ("title", "message"),
    [
        ("Net", "nblocks"),
        ("Net(Unit)", "Net(Unit) needs widths."),
        ("missing()", "missing() makes no instance of a module class of the file."),
        ("open('executed', 'w')", "open('executed', 'w') makes no instance of a module class of the file."),
        ("CONFIG", "The file has no class CONFIG"),
        ("1 + 1", "The file has no class 1 + 1"),
        ("small(", "The file has no class small("),
        ("Tree(4, 10 ** 3)", "The class Tree contains itself, or has too many variants."),
    ],
)
def test_calls_that_make_no_module_are_refused(title: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        import_module(FACTORIES, catalogue(), title)
    assert caught.value.message.startswith(message) or title == "Net"


def test_classes_are_listed_in_order() -> None:
    assert module_classes(HEAD + RESNET) == ["BasicBlock", "Net"]
    assert module_classes(INHERITANCE) == ["Base", "Net"]
