# SPDX-License-Identifier: GPL-3.0-or-later
"""REINFORCE in numpy: an agent that learns to place a language model on two GPUs."""
import sys

import numpy as np

import emplace
import emplace.env

GROUPS, ROLLOUTS, UPDATES, RATE = 32, 32, int(sys.argv[1]) if len(sys.argv) > 1 else 200, 0.5

problem = emplace.Problem("rnnlm:layers=2,steps=10,units=1024,batch=128", "k40x2")
groups = np.zeros(problem.graph.op_count, int)  # chunks of ops, in the order of the graph
groups[problem.graph.order] = np.arange(len(groups)) * GROUPS // len(groups)
env = emplace.env.Vector(emplace.env.OneShot, problem, ROLLOUTS, groups=groups)
env.reset(seed=1)

random = np.random.default_rng(1)
logits = np.zeros((GROUPS, problem.machine.device_count))
best, first = np.inf, None
for update in range(UPDATES):
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    draws = random.random((ROLLOUTS, GROUPS, 1))
    actions = np.minimum((draws > odds.cumsum(axis=1)).sum(axis=2), odds.shape[1] - 1)
    _, rewards, _, _, info = env.step(actions)
    env.reset()
    best, first = min(best, info["step_time"].min()), first or info["step_time"].mean()
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-9)
    chosen = np.eye(odds.shape[1])[actions]  # [rollouts, groups, devices]
    logits += RATE * (advantages[:, None, None] * (chosen - odds)).mean(axis=0)

print(f"mean of the first update {first:.6f} s, of the last {info['step_time'].mean():.6f} s, "
      f"best {best:.6f} s")
times, _ = env.oracle.score([[1] * GROUPS], groups=groups)
print(f"one GPU {times[0]:.6f} s")
