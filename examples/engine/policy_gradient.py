"""Reinforcement learning: a policy network learns to balance a pole (REINFORCE)."""

from __future__ import annotations

import math
from collections import deque

import library
import numpy as np

torch = library.chosen()
nn, F, optim = torch.nn, torch.nn.functional, torch.optim


class CartPole:
    """The cart-pole task of Barto, Sutton and Anderson (1983)."""

    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)

    def reset(self):
        self.state = self.draw.uniform(-0.05, 0.05, 4)
        return self.state.astype(np.float32)

    def step(self, action):
        x, v, angle, turn = self.state
        sine, cosine = math.sin(angle), math.cos(angle)
        push = (10.0 if action == 1 else -10.0) + 0.05 * turn**2 * sine
        turning = (9.8 * sine - cosine * push / 1.1) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        speeding = push / 1.1 - 0.05 * turning * cosine / 1.1
        self.state = np.array([x + 0.02 * v, v + 0.02 * speeding, angle + 0.02 * turn, turn + 0.02 * turning])
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180
        return self.state.astype(np.float32), fallen


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 64)
        self.dropout = nn.Dropout(p=0.2)
        self.affine2 = nn.Linear(64, 2)

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


def select_action(state):
    probabilities = policy(torch.from_numpy(state).float().unsqueeze(0))
    action = probabilities.multinomial(1)
    return action.item(), probabilities.gather(1, action).log().squeeze()


torch.manual_seed(543)
env, policy = CartPole(543), Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
episode_lengths = deque(maxlen=20)
for episode in range(100):
    state, logs = env.reset(), []
    for _ in range(150):
        action, log = select_action(state)
        logs.append(log)
        state, fallen = env.step(action)
        if fallen:
            break
    episode_lengths.append(len(logs))
    R, returns = 0.0, deque()
    for _ in logs:
        R = 1.0 + 0.99 * R
        returns.appendleft(R)
    returns = torch.tensor(list(returns))
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    optimizer.zero_grad()
    policy_loss = torch.stack([-log * R for log, R in zip(logs, returns, strict=True)]).sum()
    policy_loss.backward()
    optimizer.step()
    if sum(episode_lengths) / len(episode_lengths) > 60 and episode > 20:
        break
print(f"quality: {np.mean(episode_lengths):.1f} steps upright")
