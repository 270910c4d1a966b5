# SPDX-License-Identifier: GPL-3.0-or-later
"""PPO of Stable-Baselines3 on an environment of emplace: it learns to place a language model on two GPUs.

sb3_ppo.py [SIMULATIONS] [PLACEMENT]: the best placement found is kept in the file PLACEMENT. It needs
stable-baselines3, which brings gymnasium and torch."""
import sys

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

import emplace
import emplace.env

SIMULATIONS, PLACEMENT = sys.argv[1:] + ["6400", None][len(sys.argv) - 1:]
GROUPS, ENVIRONMENTS = 32, 8

problem = emplace.Problem("rnnlm:layers=2,steps=10,units=1024,batch=128", "k40x2")
groups = np.zeros(problem.graph.op_count, int)  # chunks of ops, in the order of the graph
groups[problem.graph.order] = np.arange(len(groups)) * GROUPS // len(groups)


class Best(BaseCallback):
    """Keeps the fastest placement that fits in memory."""

    def __init__(self):
        super().__init__()
        self.step_time, self.action, self.times = np.inf, None, []

    def _on_step(self):
        for action, info in zip(self.locals["actions"], self.locals["infos"]):
            self.times.append(info["step_time"])
            if info["fits"] and info["step_time"] < self.step_time:
                self.step_time, self.action = info["step_time"], action.copy()
        return True


envs = DummyVecEnv([lambda: emplace.env.OneShot(problem, groups=groups, reward="log")] * ENVIRONMENTS)
agent = PPO("MlpPolicy", envs, n_steps=16, batch_size=64, n_epochs=8, learning_rate=1e-3, gamma=1.0,
            ent_coef=0.002, seed=1, device="cpu")
best = Best()
agent.learn(int(SIMULATIONS), callback=best)
print(f"PPO of Stable-Baselines3: mean of the first 128 {np.mean(best.times[:128]):.6f} s, of the last "
      f"{np.mean(best.times[-128:]):.6f} s, best {best.step_time:.6f} s after {len(best.times)} simulations")
if PLACEMENT is not None:
    problem.save_placement(PLACEMENT, best.action[groups], best.step_time)
