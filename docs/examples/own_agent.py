# SPDX-License-Identifier: GPL-3.0-or-later
"""An agent that learns on an environment: REINFORCE over 16 groups of METIS. Run it, or compare it:

    emplace place nmt:layers=2 --machine k40x2 --method own_agent.py --budget 400
    emplace bench placers --rows rnnlm --methods refine,anneal,own_agent.py
"""
import numpy as np


def train(task):
    rate = float(task.options.removeprefix("rate=") or 0.5)
    env = task.env("OneShot", groups="metis:16")
    logits = np.zeros((env.group_count, env.device_count))
    random = np.random.default_rng(task.seed)
    baseline = None
    task.log(advantage=float("nan"))  # the names of all metrics come first
    while True:
        env.reset(seed=task.seed)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        draws = random.random((env.group_count, 1))
        action = np.minimum((draws > odds.cumsum(axis=1)).sum(axis=1), env.device_count - 1)
        reward = env.step(action)[1]
        baseline = reward if baseline is None else 0.9 * baseline + 0.1 * reward
        logits += rate * (reward - baseline) * (np.eye(env.device_count)[action] - odds)
        task.log(advantage=reward - baseline)
