"""What each code of a problem means: one sentence that holds wherever the problem is found."""

from __future__ import annotations

from collections.abc import Mapping

HELP: Mapping[str, str] = {
    # the parts of a run
    "empty": "A run needs data, a loader, layers, a loss and an optimizer.",
    "no-data": "A run reads its samples from a data source.",
    "no-loader": "A loader makes the batches that layers compute with.",
    "no-loss": "Training makes a loss small; without one it has no goal.",
    "no-optimizer": "An optimizer changes the parameters so that its loss becomes smaller.",
    "several-loaders": "All tensors of a step come from one batch, so from one loader.",
    "loss-not-scalar": "Gradients are computed for one number; reduction mean or sum makes one of many.",
    "nothing-to-train": "An optimizer changes parameters of layers that its loss depends on and that are not frozen.",
    "shared-layers": "Two optimizers that change the same parameters undo each other's steps.",
    "unknown-layer": "The list of layers that an optimizer trains names layers that its loss depends on.",
    "left-alone": "A layer that no optimizer trains keeps its random initial values.",
    "unknown-figure": "The best weights are those with the best value of a figure that the run computes.",
    # names and wires
    "bad-name": "A node's name is an identifier in the generated code and the prefix of its parameters.",
    "reserved-name": "A node's name becomes an attribute of a generated class and must not replace a method of it.",
    "unknown-type": "Nodes of types that this version does not have are kept in the file but cannot run.",
    "stray-wire": "A wire joins an output to an input of the same type; an input takes one wire.",
    "missing-wire": "Every input that is not optional needs a wire.",
    "muted-source": "A muted node that cannot pass its input on gives nothing.",
    "not-wired": "A node without wires takes no part in a run.",
    "unused": "Only nodes that an optimizer's loss or a metric depends on take part in a run.",
    "cycle": "Nodes are computed in the order of their wires, which a loop does not have.",
    # parameters and shapes
    "bad-parameter": "A parameter has a value outside its declared type or bounds.",
    "missing-parameter": "A parameter without a default needs a value.",
    "unknown-parameter": "The file sets a parameter that this type of node does not have.",
    "bad-arguments": "The parameters are allowed one by one but not together.",
    "bad-data": "The files of a data source cannot be read as this source expects them.",
    "shape-mismatch": "The shape that arrives is not one that the node can compute with.",
    "wrong-dtype": "Layers compute with float32; whole numbers and float64 are converted before them.",
    "wrong-target": "A loss for classes takes class numbers as targets; a loss for numbers takes numbers to learn.",
    "wrong-encoding": "One-hot encoding makes a vector of each class number, with one place for each class.",
    "open-sizes": "Samples of one batch need the same size.",
    "too-large": "Parameters, activations or data would take more memory than this machine has.",
    # divisions and schedules
    "bad-division": "The division of the samples leaves a part empty or cannot be made.",
    "no-batch": "The loader drops the last batch and there is no other, so no step would be taken.",
    "rare-class": "A class needs samples to train with, to be learned, and samples to validate with, to be judged.",
    "two-followers": "An optimizer's learning rate follows one figure at a time.",
    "schedule-alone": "A schedule changes the learning rate of the optimizer that it is wired behind.",
    "mixed-counting": "Schedules in one chain count the same unit: epochs or steps.",
    "schedules-overrule": "Of two schedules side by side the later one replaces the other's learning rate.",
    "schedule-late": "A schedule that begins after the last step has no effect.",
    "schedule-short": "A schedule of a fixed length ends with an error once the training is longer.",
    "schedule-rises": "Beyond its half period a cosine rises again.",
    # mistakes that train badly
    "no-activation": "Two linear layers in a row compute one linear map.",
    "squashed-scores": "The loss contains softmax or a sigmoid already; applying it twice makes gradients small.",
    "relu-on-scores": "Scores below 0 say that a class is unlikely; a ReLU removes them.",
    "dropout-on-scores": "Dropout regularizes hidden layers; on scores it only adds noise to the loss.",
    "no-probabilities": "Binary cross entropy takes logarithms of probabilities between 0 and 1.",
    "one-class": "With one class every answer is right.",
    "too-few-classes": "The loss looks up one score for each class of the data.",
    "too-many-classes": "Scores for classes that the data do not have cost parameters and are never right.",
    "in-place-shared": "An operation in place overwrites the tensor for all nodes that read it.",
    "joined-batches": "Dimension 0 holds the samples; features are joined along another one.",
    "learning-rate-high": "Adaptive optimizers change each weight by about the learning rate in each step.",
    "not-shuffled": "Batches in a fixed order give correlated gradients.",
    "batch-norm-single": "Batch normalization needs the mean and the variance of several values of each feature.",
    # data
    "rows-left-out": "Rows without a value in a column that is read are not learned from.",
    "missing-category": "A missing value in a categorical column is a category, or its row is left out.",
    "identifier": "A column that numbers the rows lets a network memorize samples instead of learning from them.",
    "unseen-category": "A category that training did not have is encoded as zeros.",
    "header-values": "The first line of a table is read as names of columns unless header is off.",
    "leading-zeros": "A column read as numbers loses leading zeros; read as categories it keeps them.",
    "merged-numbers": "float32 tells whole numbers apart up to 16,777,216.",
    # while a run goes on
    "run-failed": "The run ended with an error.",
    "check-failed": "The check itself failed, so the graph was not examined.",
    "unsafe-code": "Generated code is verified before it runs; this code would do more than the nodes do.",
    "diverged": "A loss that grows without bound means steps that are too long.",
    "slow-data": "The training waits for batches longer than it computes.",
    "computing": "The engine warned while it read data or computed.",
    "disk": "Writing the run's files failed or works again.",
    "start-from": "Weights are taken over by name and shape; the others keep their initial values.",
    "resume": "A resumed run goes on from its last checkpoint.",
    "no-lock": "A lock keeps a second process from writing the same run.",
    "no-autograd-graph": "The autograd graph is recorded from one step; the run itself goes on.",
    "answers": "Predictions are written as the network gives them.",
}
"""By code."""

__all__ = ["HELP"]
