"""Regression: L-BFGS, parameter groups, schedulers, weight decay, and resuming from a checkpoint."""

from __future__ import annotations

import tempfile
from pathlib import Path

import library
import numpy as np

torch = library.chosen()
nn, optim, lr_scheduler = torch.nn, torch.optim, torch.optim.lr_scheduler

draw = np.random.default_rng(0)
points = draw.uniform(-2, 2, (200, 2)).astype(np.float32)
values = np.sin(points[:, :1]) * points[:, 1:] + 0.05 * draw.standard_normal((200, 1)).astype(np.float32)
x, y = torch.from_numpy(points), torch.from_numpy(values.astype(np.float32))


def new_model():
    return library.start_from(torch, nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1)))


# L-BFGS evaluates the loss several times per step.
model, criterion = new_model(), nn.MSELoss()
optimizer = optim.LBFGS(model.parameters(), lr=1, max_iter=5, history_size=10, line_search_fn="strong_wolfe")
for step in range(4):

    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    print(f"L-BFGS step {step}, loss {loss.item():.3f}")

# Every optimizer takes the same steps in both libraries.
for name, options in {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3},
    "Adam": {"lr": 0.02, "amsgrad": True},
    "AdamW": {"lr": 0.02, "weight_decay": 0.1},
    "RMSprop": {"lr": 0.01, "alpha": 0.9, "centered": True},
    "Adagrad": {"lr": 0.1},
    "Adadelta": {"lr": 1.0},
    "NAdam": {"lr": 0.02},
    "RAdam": {"lr": 0.02},
    "Adamax": {"lr": 0.02},
    "Rprop": {"lr": 0.01},
}.items():
    model = new_model()
    optimizer = getattr(optim, name)(model.parameters(), **options)
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.smooth_l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"{name}: loss {loss.item():.4f}")

# Parameter groups with different rates, warm-up followed by a cosine, and reduction on plateau.
model = new_model()
optimizer = optim.SGD(
    [{"params": model[0].parameters(), "lr": 0.05}, {"params": model[2].parameters(), "weight_decay": 0.01}],
    lr=0.1,
    momentum=0.9,
)
warmup = lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=5)
cosine = lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
scheduler = lr_scheduler.SequentialLR(optimizer, schedulers=[warmup, cosine], milestones=[5])
rates = []
for _ in range(15):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    optimizer.step()
    rates.append(scheduler.get_last_lr())
    scheduler.step()
print(torch.tensor(rates).T)
print(optimizer)

plateau = lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.1, patience=2)
for metric in (1.0, 0.9, 0.95, 0.95, 0.95, 0.95):
    plateau.step(metric)
print([f"{group['lr']:.6f}" for group in optimizer.param_groups])

# Training resumed from a checkpoint equals uninterrupted training.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "checkpoint.tar"
    state = {"epoch": 15, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "loss": loss}
    torch.save(state, path)
    checkpoint = torch.load(path, weights_only=True)
resumed_model = new_model()
resumed_optimizer = optim.SGD(
    [{"params": resumed_model[0].parameters()}, {"params": resumed_model[2].parameters()}], lr=1.0
)
resumed_model.load_state_dict(checkpoint["model"])
resumed_optimizer.load_state_dict(checkpoint["optimizer"])
for net, steps in ((model, optimizer), (resumed_model, resumed_optimizer)):
    for _ in range(3):
        steps.zero_grad()
        criterion(net(x), y).backward()
        steps.step()
print("resumed equal", torch.equal(model[0].weight, resumed_model[0].weight), checkpoint["epoch"])
print(f"loss {criterion(resumed_model(x), y).item():.4f}")
