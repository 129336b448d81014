"""Optimizers and schedules."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

OPTIMIZERS = (
    Diagnosis(
        "learning-rate-zero",
        "Learning rate of 0",
        "With a learning rate of 0 the weights never change.",
    ),
    Diagnosis(
        "summed-loss",
        "Sum over the batch with a usual learning rate",
        "The gradient of a sum grows with the batch size. Learning rates are usually meant for a mean.",
    ),
    Diagnosis(
        "ascent",
        "The loss is maximized",
        "Losses measure errors. maximize, or a negative weight of a loss, makes the network worse.",
    ),
    Diagnosis(
        "momentum",
        "Momentum out of range",
        "Momentum repeats earlier steps. With 1 or more they add up without bound; usual values are 0.8 to 0.99.",
    ),
    Diagnosis(
        "averages",
        "Averages out of range",
        "Adaptive optimizers average gradients over about 10 steps and their squares over about 1,000. Other lengths "
        "make steps noisy or late.",
    ),
    Diagnosis(
        "epsilon",
        "eps out of range",
        "eps only prevents a division by 0. With 0 there is none; a large one replaces the adaptation to each weight.",
    ),
    Diagnosis(
        "weight-decay",
        "High weight decay",
        "Weight decay pulls weights towards 0 in every step. A strong one keeps the network from learning.",
    ),
    Diagnosis(
        "two-followers",
        "Two following schedules",
        "Only one schedule can start when another one ends.",
    ),
    Diagnosis(
        "schedule-alone",
        "Schedule that must be alone",
        "One-cycle and plateau schedules cover the whole training and cannot follow another one.",
    ),
    Diagnosis(
        "mixed-counting",
        "Schedules count epochs and steps",
        "Schedules in one chain count the same unit: epochs or steps.",
    ),
    Diagnosis(
        "schedules-overrule",
        "Competing schedules",
        "Of two parallel schedules the later one overrides the learning rate of the other.",
    ),
    Diagnosis(
        "schedule-late",
        "Schedule begins too late",
        "A schedule that begins after the last step has no effect.",
    ),
    Diagnosis(
        "schedule-short",
        "Schedule too short",
        "A schedule of fixed length raises an error in the first step after its end.",
    ),
    Diagnosis(
        "schedule-rises",
        "Learning rate rises again",
        "A cosine schedule rises again after T_max.",
    ),
    Diagnosis(
        "schedule-zero",
        "Schedule to 0 at once",
        "With a learning rate of 0 the weights do not change.",
    ),
    Diagnosis(
        "schedule-grows",
        "Growing learning rate",
        "Training converges with smaller steps towards its end. A growing rate lets it diverge.",
    ),
    Diagnosis(
        "schedule-falls",
        "Learning rate falls too early",
        "When the learning rate is almost 0 long before the end, the remaining time is wasted. Often a schedule counts "
        "steps but was meant for epochs.",
    ),
    Diagnosis(
        "schedule-slow",
        "Warm-up longer than the training",
        "A warm-up that the training ends before never reaches the chosen learning rate.",
    ),
    Diagnosis(
        "schedule-idle",
        "Schedule without effect",
        "A schedule whose first change comes after the end leaves the learning rate constant.",
    ),
    Diagnosis(
        "never-validated",
        "Validation turned off",
        "The best weights, early stopping and plateau schedules are decided by validations.",
    ),
    Diagnosis(
        "single-evaluation",
        "Optimizer needs one batch per step",
        "LBFGS evaluates the loss of one batch several times, which excludes accumulation and loss scaling.",
    ),
    Diagnosis(
        "accumulates-epoch",
        "Accumulation longer than an epoch",
        "Gradients are accumulated up to the end of an epoch at most, so a longer one makes one step per epoch.",
    ),
    Diagnosis(
        "clips-to-nothing",
        "Gradients clipped to almost nothing",
        "Clipping limits rare large gradients. A bound below the usual ones shrinks every step.",
    ),
    Diagnosis(
        "patience-unused",
        "Patience longer than the run",
        "Early stopping can only act if the run has more validations than its patience.",
    ),
    Diagnosis(
        "cannot-improve",
        "Metric that cannot improve",
        "Early stopping and the choice of the best weights need a metric that training improves.",
    ),
)

__all__ = ["OPTIMIZERS"]
