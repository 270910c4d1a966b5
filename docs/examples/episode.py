# SPDX-License-Identifier: GPL-3.0-or-later
"""An episode of an environment of Gymnasium's form: each group moves once, to a random device."""
import numpy as np

import emplace
import emplace.env

problem = emplace.Problem("rnnlm:layers=1,steps=4,units=256,batch=64", "k40x2")
groups = np.zeros(problem.graph.op_count, int)  # 16 chunks of ops, in the order of the graph
groups[problem.graph.order] = np.arange(len(groups)) * 16 // len(groups)

env = emplace.env.Improve(problem, groups=groups, start=[1] * 16)
print(env.observation_space, env.action_space)
observation, info = env.reset(seed=1)
env.action_space.seed(1)
terminated, total = False, 0.0
while not terminated:
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    total += reward
print(f"{total:.6f} gained by the moves, now {info['step_time']:.6f} s, fits: {info['fits']}")
