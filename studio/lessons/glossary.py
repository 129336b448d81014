"""Terms of deep learning that lessons explain. The reference has the same table."""

from __future__ import annotations

from collections.abc import Mapping

from studio.lessons.lesson import Lesson

PAGE = "reference/terms.md"
"""The page of the documentation with all terms."""

GLOSSARY: Mapping[str, str] = {
    "accuracy": "the share of samples whose class is predicted correctly",
    "activation": "a function such as ReLU that is applied to each element between layers; also its output",
    "autograd": "the part of the engine that records operations and computes gradients from the record",
    "backward pass": "computes the gradients, from the loss back to the parameters",
    "batch": "a group of samples that are computed together; dimension 0 counts them",
    "batch normalization": "shifts and scales each feature to mean 0 and standard deviation 1 over the batch",
    "block": "a graph of nodes with a name, which can be used several times",
    "broadcasting": "dimensions of size 1 are repeated so that tensors of different shapes fit together",
    "chain rule": "the derivative of f(g(x)) is the derivative of f at g(x) times the derivative of g at x",
    "checkpoint": "all values of a training between two steps, from which it can be resumed",
    "compile": "turn the recorded operations of a step into a few fast kernels with the same results",
    "cross-entropy": "a loss for classes: the negative logarithm of the probability that the right class gets",
    "data augmentation": "random changes of training samples, such as shifts, that do not change the label",
    "data set": "samples, each with an input and usually a target",
    "data type": "the type of the elements of a tensor: float32, int64, bool",
    "detach": "pass on the values of a tensor without the record from which gradients are computed",
    "dimension": "one of the directions in which a tensor counts; a table has two: rows and columns",
    "dropout": "sets random elements to 0 in training, so that the network does not depend on single ones",
    "epoch": "one pass over all training samples",
    "evaluation mode": "how layers compute in validation: no dropout, and batch normalization uses stored statistics",
    "feature": "one number that describes a sample, such as the length of a wing",
    "float16": "a 16-bit floating-point number with a small range",
    "forward pass": "computes the outputs and the loss from the inputs",
    "frozen": "a layer whose parameters are not trained",
    "gradient": "the derivative of the loss with respect to a parameter: how the loss changes when the parameter grows",
    "gradient accumulation": "add the gradients of several batches, then take one optimizer step",
    "gradient descent": "change each parameter against its gradient, so that the loss falls",
    "graph break": "a place where a compiled step must leave the kernels and run Python",
    "hyperparameter": "a setting that training does not change, such as the learning rate",
    "label": "the target of a sample: its class, or a number",
    "layer": "a node that transforms a tensor, mostly with parameters",
    "learning rate": "the factor between a gradient and the change of a parameter",
    "linear layer": "computes weighted sums of its inputs, and adds a bias to each",
    "loader": "groups samples into batches, for training in random order",
    "logits": "scores of the classes before softmax; any real numbers",
    "loss": "one number that says how wrong the outputs are; training makes it smaller",
    "loss scaling": "multiply the loss, so that small gradients do not become 0 in float16, and divide them again",
    "mean": "the sum of numbers divided by their count",
    "mean squared error": "a loss for numbers: the mean of the squared differences between outputs and targets",
    "metric": "a number that describes how good outputs are, which is shown but not trained on",
    "mixed precision": "compute products in 16 bits and keep the parameters in 32 bits",
    "module": "a layer or a network: a function with parameters",
    "momentum": "an optimizer keeps a part of the last change, which smooths the path",
    "node": "a box of the canvas: a data source, a transform, a layer, a loss, a metric or an optimizer",
    "non-linearity": "a function whose graph is not a straight line, such as ReLU",
    "normalization": "shift and scale values so that they have a mean near 0 and a spread near 1",
    "optimizer": "changes the parameters after each batch, so that the loss falls",
    "overfitting": "the training loss falls while the validation loss rises: the network fits single samples",
    "parameter": "a number of a layer that training changes; also a field of a node in the inspector",
    "prediction": "the output of a network for a sample",
    "random seed": "a number from which all random numbers of a run follow",
    "ReLU": "max(x, 0): keeps positive numbers and replaces negative ones by 0",
    "run": "one training, with its curves and weights",
    "sample": "one element of a data set, such as an image with its label",
    "scalar": "a tensor with one element and no dimensions",
    "schedule": "a rule that changes the learning rate during training",
    "sequential": "a chain of layers: each layer takes the output of the one before",
    "shape": "the sizes of the dimensions of a tensor: 2×3",
    "shuffle": "put the training samples in a new random order before each epoch",
    "sigmoid": "1 / (1 + exp(−x)): a number between 0 and 1",
    "softmax": "turns scores into probabilities that are positive and sum to 1",
    "standard deviation": "how far values are from their mean, typically",
    "state dict": "all parameters and stored statistics of a network, by name",
    "step": "one change of the parameters by the optimizer",
    "target": "what the network should output for a sample",
    "tensor": "a block of numbers with any number of dimensions",
    "training mode": "how layers compute in training: dropout is on, batch normalization uses the batch",
    "transform": "a node that changes samples before they are grouped into batches",
    "validation": "measure the loss and the metrics on samples that are not trained on",
    "weight": "a parameter that multiplies an input",
    "weight decay": "makes weights a little smaller at each step",
    "wire": "a connection of an output with an input, which carries a tensor or samples",
}
"""Meaning by term."""


def meanings(lesson: Lesson) -> Mapping[str, str]:
    """The meanings of the lesson's terms: the author's, else those of the glossary. Unknown terms are left out."""
    found = {term: meaning or GLOSSARY.get(term, "") for term, meaning in lesson.terms.items()}
    return {term: meaning for term, meaning in found.items() if meaning}


def page_of(term: str) -> str:
    """The place in the documentation that explains a term: "reference/terms.md#tensor"; empty for other terms."""
    return f"{PAGE}#{term.lower().replace(' ', '-')}" if term in GLOSSARY else ""


__all__ = ["GLOSSARY", "PAGE", "meanings", "page_of"]
