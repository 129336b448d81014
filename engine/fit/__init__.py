"""Training as a generator of events. Whoever asks for the next event lets training go on; whoever closes it ends it.

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
"""

from engine.events import CompileState as CompileState
from engine.events import Done as Done
from engine.events import Epoch as Epoch
from engine.events import Event as Event
from engine.events import Started as Started
from engine.events import Step as Step
from engine.events import Tier as Tier
from engine.events import ValidationStep as ValidationStep
from engine.fit.loop import fit as fit
from engine.fit.steps import step as step
from engine.fit.steps import untouched as untouched
from engine.fit.task import Task as Task

__all__ = [
    "CompileState",
    "Done",
    "Epoch",
    "Event",
    "Started",
    "Step",
    "Task",
    "Tier",
    "ValidationStep",
    "fit",
    "step",
    "untouched",
]
