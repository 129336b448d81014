"""Samples, splits and loaders."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

DATA = (
    Diagnosis(
        "bad-division",
        "Impossible split",
        "The split leaves a part empty or is not possible.",
    ),
    Diagnosis(
        "no-batch",
        "No batch",
        "The loader drops its only batch, so no training step is possible.",
    ),
    Diagnosis(
        "rare-class",
        "Class too rare to split",
        "Each class needs samples in both training and validation data.",
    ),
    Diagnosis(
        "not-shuffled",
        "Not shuffled",
        "Batches in a fixed order give correlated gradients.",
    ),
    Diagnosis(
        "rows-left-out",
        "Skipped rows",
        "Rows without a target are skipped; if missing is drop, so are all incomplete rows.",
    ),
    Diagnosis(
        "missing-category",
        "Missing category",
        "A missing value in a categorical column is encoded as zeros, unless missing is drop.",
    ),
    Diagnosis(
        "identifier",
        "Identifier among the inputs",
        "A column of row numbers lets a network memorize samples.",
    ),
    Diagnosis(
        "unseen-category",
        "Category only in validation data",
        "A category that is not in the training data is encoded as zeros.",
    ),
    Diagnosis(
        "header-values",
        "Header contains values",
        "The first line of a table is read as names of columns unless header is off.",
    ),
    Diagnosis(
        "leading-zeros",
        "Lost leading zeros",
        "A column read as numbers loses leading zeros; read as categories it keeps them.",
    ),
    Diagnosis(
        "merged-numbers",
        "Numbers too large for float32",
        "float32 represents integers exactly up to 16,777,216.",
    ),
    Diagnosis(
        "stray-class",
        "Invalid class index",
        "Class indices start at 0 and are smaller than the number of classes.",
    ),
    Diagnosis(
        "unreadable",
        "Unreadable sample",
        "A sample that cannot be read ends a run when its batch is made.",
    ),
    Diagnosis(
        "skipped",
        "Skipped images",
        "An image that cannot be decoded is replaced by another one.",
    ),
    Diagnosis(
        "missing",
        "Missing values",
        "One NaN makes the loss of its batch NaN.",
    ),
    Diagnosis(
        "infinite",
        "Infinite values",
        "One infinite value makes the loss of its batch NaN.",
    ),
    Diagnosis(
        "overlap",
        "Training samples in the validation data",
        "Validation on training samples does not measure how well a network generalizes.",
    ),
    Diagnosis(
        "numbers-as-classes",
        "Quantities as classes",
        "Quantities need a regression loss; as classes they have no order.",
    ),
    Diagnosis(
        "missing-class",
        "Class without samples",
        "A class without samples in training is never predicted.",
    ),
    Diagnosis(
        "imbalance",
        "Class imbalance",
        "A network that always predicts the largest class has a high accuracy.",
    ),
    Diagnosis(
        "constant",
        "Constant input",
        "A constant input carries no information about the target.",
    ),
    Diagnosis(
        "narrow",
        "Small range of inputs",
        "Inputs with a small range slow learning down.",
    ),
    Diagnosis(
        "unscaled-inputs",
        "Inputs not normalized",
        "Weights start for inputs of about 1; larger ones dominate the others and make steps too large.",
    ),
    Diagnosis(
        "unscaled-targets",
        "Targets not normalized",
        "Outputs of a network start near 0, and a loss of large distances has large gradients.",
    ),
    Diagnosis(
        "misfit-normalization",
        "Normalization for other data",
        "Mean and standard deviation of other data leave inputs far from 0 or with another spread.",
    ),
    Diagnosis(
        "target-among-inputs",
        "Target among the inputs",
        "A network that reads its target learns to copy it and fails where the target is unknown.",
    ),
    Diagnosis(
        "identifier-as-target",
        "Identifier as target",
        "A class with one sample cannot be learned; an identifier says nothing about new samples.",
    ),
    Diagnosis(
        "target-convention",
        "Targets outside the convention of the loss",
        "A loss has its minimum for the targets that it is made for: 0 and 1, or -1 and 1.",
    ),
    Diagnosis(
        "no-validation",
        "No validation data",
        "Only samples that are not trained on show how well a network generalizes.",
    ),
    Diagnosis(
        "split-twice",
        "Samples split twice",
        "A split divides all samples again, so an earlier split has no effect.",
    ),
    Diagnosis(
        "fitted-to-validation",
        "Statistics of validation data",
        "Statistics that validation samples influence make validation results slightly too good.",
    ),
    Diagnosis(
        "stale-statistics",
        "Statistics of other data",
        "A transform whose parameters were computed from earlier data shifts and scales the present samples wrongly.",
    ),
    Diagnosis(
        "sorted-samples",
        "Sorted samples without shuffling",
        "In sorted data each batch has similar targets, so training forgets the others.",
    ),
    Diagnosis(
        "single-batch",
        "One batch holds all samples",
        "With one step per epoch training needs many epochs.",
    ),
    Diagnosis(
        "label-changed",
        "Augmentation that changes the class",
        "A changed image with the old label teaches the network a wrong class.",
    ),
)

__all__ = ["DATA"]
