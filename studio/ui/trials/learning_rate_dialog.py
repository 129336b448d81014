"""The learning-rate finder."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from engine import fit
from studio.document import edits
from studio.document.model import Document
from studio.nodes.types import Role
from studio.training.learning_checks import MAX_RATE, MIN_RATE, SEARCH_STEPS, search_learning_rate
from studio.ui.project.project_store import ProjectStore
from studio.ui.trials.trial_dialog import TrialDialog
from studio.ui.trials.trial_plot import TrialPlot

_ABOUT = (
    "Trains a copy of the network with increasing learning rates. A good learning rate is where the loss falls "
    "fastest. Where the loss rises again, training is unstable."
)


class LearningRateDialog(TrialDialog):
    def __init__(self, store: ProjectStore, parent: QWidget) -> None:
        self.plot = TrialPlot("Learning rate", MIN_RATE, MAX_RATE, log_x=True)
        items = search_learning_rate(store.request_report(), name=store.name)
        self._tried: list[fit.LearningRateTrial] = []
        self._found: fit.LearningRateSuggestion | None = None
        super().__init__(store, items, self.plot, "Find a learning rate", _ABOUT, SEARCH_STEPS, parent)

    def show_item(self, item: object) -> None:
        if isinstance(item, fit.LearningRateTrial):
            self._tried.append(item)
            self.progress.setValue(len(self._tried))
            self.verdict.setText(f"Learning rate {item.rate:.2g}, loss {item.smoothed:.3g}")
            tried = self._tried
            self.plot.show_values([t.rate for t in tried], [t.loss for t in tried], [t.smoothed for t in tried])
        elif isinstance(item, fit.LearningRateSuggestion):
            self._found = item

    def show_result(self) -> None:
        self.plot.fit()
        found = self._found
        if found is None:
            return
        if found.rate is None or found.lowest is None:
            self.show_message(
                "The loss does not fall at any of these learning rates. Check whether the network can learn at all.",
                "warning",
            )
            self.add_button("Overfit one batch", self._check_instead, kind="primary")
            return
        rate = float(f"{found.rate:.1g}")
        self.plot.mark(found.rate, f"{rate:g}", "ok")
        self.show_message(f"The loss falls fastest at {found.rate:.2g} and is lowest at {found.lowest:.2g}.", "ok")
        optimizers = self._optimizers()
        if optimizers:
            suffix = "" if len(optimizers) == 1 else f" for all {len(optimizers)} optimizers"
            self.add_button(f"Use {rate:g}{suffix}", lambda: self._use(rate), kind="primary")

    def _optimizers(self) -> list[str]:
        return self._nodes_with("lr", Role.OPTIMIZER)

    def _nodes_with(self, param: str, role: Role) -> list[str]:
        """Names of the nodes of a role that have a parameter."""
        kinds = {name: self.store.catalogue.get(node.type) for name, node in self.store.document.nodes.items()}
        return [name for name, kind in kinds.items() if kind is not None and kind.role is role and kind.param(param)]

    def _use(self, rate: float) -> None:
        optimizers, schedulers = self._optimizers(), self._nodes_with("max_lr", Role.SCHEDULER)

        def change(document: Document) -> Document:
            for name in optimizers:
                document = edits.set_param(document, name, "lr", rate)
            for name in schedulers:  # schedulers that set the learning rate themselves
                document = edits.set_param(document, name, "max_lr", rate)
            return document

        self.store.edit(f"Set learning rate to {rate:g}", change)
        self.close()

    def _check_instead(self) -> None:
        self.other_trial_requested.emit("run.overfit")
        self.close()
