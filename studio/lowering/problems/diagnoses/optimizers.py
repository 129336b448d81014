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
        "learning-rate-high",
        "High learning rate",
        "Adaptive optimizers change each weight by about the learning rate in each step.",
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
)

__all__ = ["OPTIMIZERS"]
