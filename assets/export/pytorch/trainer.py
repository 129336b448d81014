"""The training loop. `if HAS_…:` are decided when a project is exported."""

import argparse
import json
import math
from pathlib import Path

import data
import torch
from layers import carried_states
from model import Model
from safetensors.torch import load_file, save_file
from torch import optim

HERE = Path(__file__).resolve().parent
CHECKPOINTS = HERE / "checkpoints"


class Trainer:
    """Trains a task: steps, epochs, validation and checkpoints."""

    def __init__(self, task, device):
        self.task = task
        self.device = device
        self.epoch = 0
        self.steps = 0
        self.history = []
        self.best = math.inf
        if HAS_EARLY_STOPPING:
            self.threshold = math.inf
            self.waited = 0
        if HAS_SCALER:
            self.scaler = torch.amp.GradScaler(device.type)

    # -- one batch

    def step(self, batch, first=True, last=True, share=1.0):
        """Train on one batch. Returns the losses.

        With accumulation, `first` and `last` say whether the batch begins and ends a
        group, and `share` is its weight in the group.
        """
        self.task.model.train()
        if HAS_CLOSURE:
            seed = int(torch.randint(2**31, ()))
            torch.manual_seed(seed)
        losses = self.losses(batch)
        if first:
            for optimizer in losses:
                optimizer.zero_grad()
        self.backward(losses, share)
        if last:
            for optimizer, loss in losses.items():
                if HAS_SCALER:
                    self.scaler.unscale_(optimizer)
                if HAS_CLIPPING:
                    clip_gradients(optimizer)
                if HAS_SCALER:
                    self.scaler.step(optimizer)
                elif HAS_CLOSURE:
                    if isinstance(optimizer, optim.LBFGS):
                        optimizer.step(self.closure(batch, optimizer, loss, seed))
                    else:
                        optimizer.step()
                else:
                    optimizer.step()
            if HAS_SCALER:
                self.scaler.update()
        self.steps += 1
        return [loss.item() for loss in losses.values()]

    def losses(self, batch):
        """The loss of each optimizer."""
        batch = [part.to(self.device) for part in batch]
        if HAS_AUTOCAST:
            with torch.autocast(self.device.type, dtype=PRECISION):
                return self.task.losses(batch)
        else:
            return self.task.losses(batch)

    def backward(self, losses, share):
        """Add the gradients of a batch; each optimizer gets those of its loss only."""
        if HAS_ONE_OPTIMIZER:
            [loss] = losses.values()
            if HAS_SCALER:
                loss = self.scaler.scale(loss)
            (loss * share).backward()
        else:
            for number, (optimizer, loss) in enumerate(losses.items(), start=1):
                parameters = trained(optimizer)
                if HAS_SCALER:
                    loss = self.scaler.scale(loss)
                gradients = torch.autograd.grad(
                    loss * share,
                    parameters,
                    retain_graph=number < len(losses),
                    allow_unused=True,
                )
                for parameter, gradient in zip(parameters, gradients):
                    if parameter.grad is None:
                        parameter.grad = gradient
                    elif gradient is not None:
                        parameter.grad = parameter.grad + gradient

    if HAS_CLOSURE:

        def closure(self, batch, optimizer, loss, seed):
            """Computes the loss of a batch and its gradients for the current weights.

            The first call returns the loss that is known. Later calls use the same random
            numbers and leave buffers and metrics as they are.
            """
            known = [loss]
            model = self.task.model

            def evaluate():
                if known:
                    return known.pop()
                buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
                if HAS_METRICS:
                    metrics = {name: getattr(self.task, name) for name in METRICS}
                    sums = {name: vars(each).copy() for name, each in metrics.items()}
                torch.manual_seed(seed)
                current = self.losses(batch)[optimizer]
                parameters = trained(optimizer)
                gradients = torch.autograd.grad(current, parameters, allow_unused=True)
                for parameter, gradient in zip(parameters, gradients):
                    parameter.grad = gradient
                if HAS_CLIPPING:
                    clip_gradients(optimizer)
                with torch.no_grad():
                    for buffer, value in buffers:
                        buffer.copy_(value)
                if HAS_METRICS:
                    for name, each in metrics.items():
                        vars(each).update(sums[name])
                return current

            return evaluate

    # -- epochs

    def train(self, batches, validation, epochs, steps=None):
        """Train until a number of epochs or steps. Returns one record per epoch."""
        stopped = False
        while self.epoch < epochs and not stopped:
            if steps is not None and self.steps >= steps:
                break
            mean, complete = self.train_epoch(batches, validation, steps)
            record = {"epoch": self.epoch + 1, "train_loss": mean}
            if HAS_METRICS:
                record |= measured(self.task, "train")
            is_last = self.epoch + 1 == epochs or not complete
            if HAS_RARE_VALIDATION:
                is_regular = (self.epoch + 1) % max(VALIDATE_EPOCHS, 1) == 0
                is_wanted = VALIDATE_EPOCHS > 0 and (is_regular or is_last)
                is_due = is_wanted and validation is not None
            else:
                is_due = validation is not None
            if is_due:
                record |= self.validate(validation)
            if HAS_TRAIN_FOLLOW:
                is_tracked = True
            else:
                is_tracked = is_due or validation is None
            if is_tracked and (complete or self.best == math.inf):
                self.track(record)
            if HAS_EARLY_STOPPING:
                stopped = self.waited > PATIENCE
            if complete:
                self.epoch += 1
                if HAS_EPOCH_SCHEDULES:
                    step_schedules(
                        self.task, EPOCH_SCHEDULES, record.get("val_loss", mean)
                    )
            else:
                stopped = True
            self.history.append(record)
            print(", ".join(f"{name} {value:.4g}" for name, value in record.items()))
            self.save(is_last or stopped)
        return self.history

    def train_epoch(self, batches, validation, steps):
        """Train on all batches. Returns the mean loss and whether all were used."""
        total = count = 0
        if HAS_METRICS:
            for name in METRICS:
                getattr(self.task, name).reset()
        if HAS_STATES:
            for state in carried_states(self.task.model):
                state.reset()
        for number, batch in enumerate(batches):
            if steps is not None and self.steps >= steps:
                return total / max(count, 1), False
            if HAS_ACCUMULATION:
                position = number % ACCUMULATE
                size = min(ACCUMULATE, len(batches) - number + position)
                is_stepped = position == size - 1
                losses = self.step(batch, position == 0, is_stepped, 1 / size)
            else:
                losses = self.step(batch)
            total += sum(losses) * len(batch[0])
            count += len(batch[0])
            if HAS_STEP_SCHEDULES:
                if HAS_ACCUMULATION:
                    if is_stepped:
                        step_schedules(self.task, STEP_SCHEDULES, total / count)
                else:
                    step_schedules(self.task, STEP_SCHEDULES, total / count)
            if HAS_STEP_VALIDATION:
                is_due = (number + 1) % VALIDATE_STEPS == 0
                if validation is not None and is_due and number + 1 < len(batches):
                    record = {"train_loss": total / count}
                    if HAS_METRICS:
                        record |= measured(self.task, "train")
                        sums = {
                            name: vars(getattr(self.task, name)).copy()
                            for name in METRICS
                        }
                    self.track(record | self.validate(validation))
                    if HAS_METRICS:
                        for name, values in sums.items():
                            vars(getattr(self.task, name)).update(values)
                    if HAS_EARLY_STOPPING:
                        if self.waited > PATIENCE:
                            return total / count, False
        return total / max(count, 1), True

    @torch.no_grad()
    def validate(self, batches):
        """Loss and metrics of the validation batches."""
        self.task.model.eval()
        total = count = 0
        if HAS_METRICS:
            for name in METRICS:
                getattr(self.task, name).reset()
        if HAS_STATES:
            states = carried_states(self.task.model)
            kept = [state.kept for state in states]
            for state in states:
                state.reset()
        for batch in batches:
            losses = self.losses(batch).values()
            total += sum(loss.item() for loss in losses) * len(batch[0])
            count += len(batch[0])
        if HAS_STATES:
            for state, value in zip(states, kept):
                state.kept = value
        self.task.model.train()
        found = {"val_loss": total / count} if count else {}
        if HAS_METRICS:
            found |= measured(self.task, "val")
        return found

    def track(self, record):
        """Save the weights if FOLLOW is the best so far."""
        value = record.get(FOLLOW, record.get(FOLLOW.replace("val_", "train_", 1)))
        if HAS_FOLLOW_METRIC:
            if getattr(self.task, FOLLOW.partition("_")[2]).higher_is_better:
                value = -value
        if value < self.best:
            self.best = value
            save_weights(self.task.model, CHECKPOINTS / "best.safetensors")
        if HAS_EARLY_STOPPING:
            if value < self.threshold:
                self.threshold = value - MIN_CHANGE
                self.waited = 0
            else:
                self.waited += 1

    # -- files

    def save(self, finished):
        """Save what the next epoch needs, and the last weights of the training."""
        state = {
            "epoch": self.epoch,
            "steps": self.steps,
            "best": self.best,
            "history": self.history,
            "random": torch.get_rng_state(),
            "model": self.task.model.state_dict(),
            "parts": {
                name: getattr(self.task, name).state_dict() for name in STATEFUL
            },
        }
        if HAS_EARLY_STOPPING:
            state["patience"] = [self.threshold, self.waited]
        if HAS_SCALER:
            state["scaler"] = self.scaler.state_dict()
        CHECKPOINTS.mkdir(exist_ok=True)
        torch.save(state, CHECKPOINTS / "last.pt")
        text = json.dumps(self.history, indent=1)
        (CHECKPOINTS / "history.json").write_text(text, encoding="utf-8")
        if finished:
            save_weights(self.task.model, CHECKPOINTS / "last.safetensors")

    def resume(self):
        """Continue from the last checkpoint."""
        file = CHECKPOINTS / "last.pt"
        state = torch.load(file, map_location=self.device, weights_only=True)
        self.epoch, self.steps = state["epoch"], state["steps"]
        self.best, self.history = state["best"], state["history"]
        torch.set_rng_state(state["random"].cpu())
        self.task.model.load_state_dict(state["model"])
        for name, values in state["parts"].items():
            getattr(self.task, name).load_state_dict(values)
        if HAS_EARLY_STOPPING:
            self.threshold, self.waited = state["patience"]
        if HAS_SCALER:
            self.scaler.load_state_dict(state["scaler"])


def trained(optimizer):
    """The parameters that an optimizer trains."""
    parameters = (each for group in optimizer.param_groups for each in group["params"])
    return [each for each in parameters if each.requires_grad]


def clip_gradients(optimizer):
    """Limit the gradients of an optimizer's parameters."""
    parameters = trained(optimizer)
    if HAS_CLIP_VALUE:
        torch.nn.utils.clip_grad_value_(parameters, CLIP_VALUE)
    if HAS_CLIP_NORM:
        torch.nn.utils.clip_grad_norm_(parameters, CLIP_NORM)


def step_schedules(task, names, loss):
    """Step learning-rate schedules; ReduceLROnPlateau follows the loss."""
    for name in names:
        schedule = getattr(task, name)
        if HAS_PLATEAU:
            if isinstance(schedule, optim.lr_scheduler.ReduceLROnPlateau):
                schedule.step(loss)
            else:
                schedule.step()
        else:
            schedule.step()


def measured(task, part):
    """The metrics since their last reset."""
    return {f"{part}_{name}": getattr(task, name).compute() for name in METRICS}


def save_weights(model, path):
    """Write the weights as safetensors."""
    CHECKPOINTS.mkdir(exist_ok=True)
    values = model.state_dict().items()
    save_file({name: value.clone().contiguous() for name, value in values}, path)


def default_device():
    """CUDA if it is available, otherwise the CPU."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def main():
    """Train with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="number of epochs")
    parser.add_argument("--steps", type=int, default=STEPS, help="most batches")
    parser.add_argument("--device", default=default_device(), help="cpu or cuda")
    parser.add_argument("--seed", type=int, default=SEED, help="random seed")
    parser.add_argument("--weights", default=HERE / "weights.safetensors")
    parser.add_argument("--resume", action="store_true", help="continue a training")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    batches, validation = data.loaders()
    model = Model()
    model.load_state_dict(load_file(options.weights))
    device = torch.device(options.device)
    trainer = Trainer(Task(model.to(device)), device)
    if options.resume:
        trainer.resume()
    trainer.train(batches, validation, options.epochs, options.steps)


if __name__ == "__main__":
    main()
