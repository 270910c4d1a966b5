# SPDX-License-Identifier: GPL-3.0-or-later
"""PPO in one file, as CleanRL writes its agents: PyTorch, a loop, and no framework. Groups of ops take turns, and an
action is the device that the group of the turn moves to.

cleanrl_ppo.py [SIMULATIONS] [PLACEMENT]: the best placement found is kept in the file PLACEMENT. It needs torch."""
import sys

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import emplace
import emplace.env

SIMULATIONS, PLACEMENT = sys.argv[1:] + ["6400", None][len(sys.argv) - 1:]
GROUPS, ENVIRONMENTS, STEPS, EPOCHS, MINIBATCHES = 32, 8, 66, 4, 4  # 66: two episodes and their resets
GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, RATE = 1.0, 0.95, 0.2, 0.002, 0.5, 2e-3

torch.manual_seed(1)
torch.set_num_threads(1)
problem = emplace.Problem("rnnlm:layers=2,steps=10,units=1024,batch=128", "k40x2")
groups = np.zeros(problem.graph.op_count, int)  # chunks of ops, in the order of the graph
groups[problem.graph.order] = np.arange(len(groups)) * GROUPS // len(groups)
envs = emplace.env.Vector(emplace.env.Improve, problem, ENVIRONMENTS, groups=groups, reward="log", start=[1] * GROUPS)


class Agent(nn.Module):
    def __init__(self, width, devices):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(width, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh())
        self.actor, self.critic = nn.Linear(128, devices), nn.Linear(128, 1)

    def forward(self, observation):
        hidden = self.body(observation)
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


def advantages_of(rewards, values, dones, last):
    """Generalised advantage estimation; nothing crosses the end of an episode."""
    advantages, following, carried = torch.zeros_like(rewards), last, torch.zeros_like(last)
    for t in reversed(range(len(rewards))):
        goes_on = 1.0 - dones[t]
        delta = rewards[t] + GAMMA * following * goes_on - values[t]
        carried = delta + GAMMA * LAMBDA * goes_on * carried
        advantages[t], following = carried, values[t]
    return advantages


def update(agent, optimizer, batch):
    observations, actions, log_probabilities, advantages, returns = batch
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(actions)).chunk(MINIBATCHES):
            policy, value = agent(observations[chosen])
            ratio = (policy.log_prob(actions[chosen]) - log_probabilities[chosen]).exp()
            gain = advantages[chosen]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            policy_loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            value_loss = (value - returns[chosen]).square().mean()
            loss = policy_loss + VALUE * value_loss - ENTROPY * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


observation, info = envs.reset(seed=1)
width, devices = int(np.prod(envs.single_observation_space.shape)), envs.device_count
agent = Agent(width, devices)
optimizer = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
best, best_placement, times, simulations = np.inf, None, [], ENVIRONMENTS
# Where an episode has ended, the next step begins another one and ignores its action: it teaches nothing.
begins = np.zeros(ENVIRONMENTS, bool)
while simulations + STEPS * ENVIRONMENTS <= int(SIMULATIONS):
    kept = [[] for _ in range(7)]
    for _ in range(STEPS):
        with torch.no_grad():
            seen = torch.as_tensor(observation)
            policy, value = agent(seen)
            action = policy.sample()
        observation, reward, terminated, _, info = envs.step(action.numpy())
        row = (seen, action, policy.log_prob(action), torch.as_tensor(reward, dtype=torch.float32), value,
               torch.as_tensor(terminated, dtype=torch.float32), torch.as_tensor(~begins))
        for column, item in zip(kept, row):
            column.append(item)
        simulations += ENVIRONMENTS
        times.extend(info["step_time"][terminated])
        fitting = np.where(info["fits"], info["step_time"], np.inf)
        if fitting.min() < best:
            best, best_placement = fitting.min(), envs.envs[fitting.argmin()].placement.copy()
        begins = terminated
    with torch.no_grad():
        last = agent(torch.as_tensor(observation))[1]
    seen, action, log_probability, reward, value, done, counts = map(torch.stack, kept)
    advantage = advantages_of(reward, value, done, last)
    update(agent, optimizer, [item[counts] for item in (seen, action, log_probability, advantage, advantage + value)])

print(f"PPO in one file: mean of the first 16 episodes {np.mean(times[:16]):.6f} s, of the last "
      f"{np.mean(times[-16:]):.6f} s, best {best:.6f} s after {simulations} simulations")
if PLACEMENT is not None:
    problem.save_placement(PLACEMENT, best_placement[groups], best)
