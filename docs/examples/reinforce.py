# SPDX-License-Identifier: GPL-3.0-or-later
"""REINFORCE in numpy: an agent that learns to place a language model on two GPUs.

reinforce.py [UPDATES] [LEAN] [PLACEMENT]: the logit of the first GPU begins at LEAN, others at 0. The
best placement found is kept in the file PLACEMENT, which `emplace simulate --placement` reads."""
import sys

import numpy as np

import emplace
import emplace.env

UPDATES, LEAN, PLACEMENT = sys.argv[1:] + ["200", "0", None][len(sys.argv) - 1:]
GROUPS, ROLLOUTS, RATE = 32, 32, 0.5

problem = emplace.Problem("rnnlm:layers=2,steps=10,units=1024,batch=128", "k40x2")
groups = np.zeros(problem.graph.op_count, int)  # chunks of ops, in the order of the graph
groups[problem.graph.order] = np.arange(len(groups)) * GROUPS // len(groups)
env = emplace.env.Vector(emplace.env.OneShot, problem, ROLLOUTS, groups=groups)
env.reset(seed=1)

random = np.random.default_rng(1)
logits = np.zeros((GROUPS, env.device_count))
logits[:, 1] = float(LEAN)
best, best_action, first = np.inf, None, None
for update in range(int(UPDATES)):
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    draws = random.random((ROLLOUTS, GROUPS, 1))
    actions = np.minimum((draws > odds.cumsum(axis=1)).sum(axis=2), odds.shape[1] - 1)
    _, rewards, _, _, info = env.step(actions)
    env.reset()  # else the next step would begin the episodes, and ignore its actions
    times = np.where(info["fits"], info["step_time"], np.inf)
    if times.min() < best:
        best, best_action = times.min(), actions[times.argmin()]
    first = first or info["step_time"].mean()
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-9)
    chosen = np.eye(odds.shape[1])[actions]  # [rollouts, groups, devices]
    logits += RATE * (advantages[:, None, None] * (chosen - odds)).mean(axis=0)

print(f"mean of the first update {first:.6f} s, of the last {info['step_time'].mean():.6f} s, "
      f"best {best:.6f} s")
times, _ = env.oracle.score([[1] * GROUPS], groups=groups)
print(f"one GPU {times[0]:.6f} s")
if PLACEMENT is not None and best_action is not None:
    problem.save_placement(PLACEMENT, best_action[env.groups], best)
