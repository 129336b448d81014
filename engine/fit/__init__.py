"""Training as a generator of events: requesting the next event continues training, and closing it stops training.

class Digits(fit.Task):
    def data(self):
        return data.Batches(data.Digits().map(transforms.Normalize(0.0, 16.0)))

    def configure(self):
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        self.accuracy = metrics.Accuracy()
        self.adam = optim.Adam(self.model.parameters())

    def losses(self, batch):
        images, labels = batch
        logits = self.model(images)
        self.measure(self.accuracy, logits, labels)
        return {self.adam: functional.cross_entropy(logits, labels)}

for event in fit.fit(Digits(seed=1), epochs=5):
    ...

The receiving loop replaces callbacks: print, plot or save after `if isinstance(event, fit.Epoch)`, and break to stop
training. It can use and change the task between two events. To save and resume a training:

    training = fit.fit(Digits(seed=1), epochs=5)
    ...
    engine.save(training.state_dict(), "half.safetensors")

    training = fit.fit(Digits(seed=1), epochs=5)
    training.load_state_dict(engine.load("half.safetensors"))
"""

from engine.compiler.compile_progress import CompileState as CompileState
from engine.compiler.compile_progress import Tier as Tier
from engine.fit.early_stopping import EarlyStopping as EarlyStopping
from engine.fit.events import Done as Done
from engine.fit.events import Epoch as Epoch
from engine.fit.events import Observed as Observed
from engine.fit.events import Started as Started
from engine.fit.events import Step as Step
from engine.fit.events import TrainingEvent as TrainingEvent
from engine.fit.events import Validated as Validated
from engine.fit.events import ValidationStep as ValidationStep
from engine.fit.schedule_replanning import ReplannedSchedule as ReplannedSchedule
from engine.fit.schedule_replanning import replan_schedules as replan_schedules
from engine.fit.step_functions import compute_gradients as compute_gradients
from engine.fit.step_functions import compute_losses as compute_losses
from engine.fit.step_functions import preserve_modes as preserve_modes
from engine.fit.step_functions import preserve_state as preserve_state
from engine.fit.step_functions import step as step
from engine.fit.step_rewind import StepRewind as StepRewind
from engine.fit.task import Task as Task
from engine.fit.task_state import WeightMatch as WeightMatch
from engine.fit.task_state import load_matching as load_matching
from engine.fit.task_state import match_weights as match_weights
from engine.fit.training_loop import Training as Training
from engine.fit.training_loop import evaluate as evaluate
from engine.fit.training_loop import fit as fit
from engine.fit.trial_runs import LearningRateSuggestion as LearningRateSuggestion
from engine.fit.trial_runs import LearningRateTrial as LearningRateTrial
from engine.fit.trial_runs import OverfitStep as OverfitStep
from engine.fit.trial_runs import cycle_batches as cycle_batches
from engine.fit.trial_runs import find_rate as find_rate
from engine.fit.trial_runs import overfit_one_batch as overfit_one_batch
from engine.fit.trial_runs import trial as trial

__all__ = [
    "OverfitStep",
    "CompileState",
    "Done",
    "EarlyStopping",
    "Epoch",
    "TrainingEvent",
    "WeightMatch",
    "LearningRateSuggestion",
    "LearningRateTrial",
    "Observed",
    "ReplannedSchedule",
    "Started",
    "Step",
    "StepRewind",
    "Task",
    "Tier",
    "Training",
    "Validated",
    "ValidationStep",
    "compute_gradients",
    "compute_losses",
    "cycle_batches",
    "evaluate",
    "find_rate",
    "fit",
    "match_weights",
    "overfit_one_batch",
    "replan_schedules",
    "step",
    "load_matching",
    "preserve_modes",
    "preserve_state",
    "trial",
]
