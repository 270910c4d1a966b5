"""Placement as environments of Gymnasium's interface.

    env = emplace.env.OneShot(emplace.Problem("rnnlm:layers=1", "k40x2"))
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

Spaces and the class Env are Gymnasium's where it is installed; else there are three small spaces of
the same form. numpy is needed. docs/python.md has a table of the environments.

Groups. An environment places groups of ops: `groups` has the number of each op's group, and without
it each colocation class is a group.

Reward. A step of t seconds is worth -sqrt(t), -t or -ln(t), as `reward` says: "sqrt", "identity" or
"log". A placement that does not fit in memory counts as a step of `failure` seconds. These are the
rewards of the program's learners, whose default is "sqrt" and 100.

Features of a group, float32: ln(1 + x) of the microseconds of its ops on each device, of the KiB that
it holds for the whole step, of the KiB that it reads from other groups, and of those they read from it.
"""
import math
from typing import Any, Optional, Sequence

import numpy as np

from .oracle import Oracle
from .problem import Problem
from .random import Random
from .spaces import (NEXT_STEP, Box, Discrete, Env, MultiDiscrete, VectorEnv,
                     batch_space)

__all__ = ["Improve", "OneShot", "Order", "Sequential", "Vector", "random_actions"]

_FORMS = {"sqrt": lambda t: -math.sqrt(t), "identity": lambda t: -t,
          "log": lambda t: -math.log(max(t, 1e-9))}


class _Placing(Env):
    """What the environments share: groups, features, rewards, and a step in two halves. _act() turns
    an action into a row to be scored, or None; _settle() takes the score. Between the two, Vector
    scores the rows of many environments at once."""

    metadata = {"render_modes": []}
    render_mode = None

    def __init__(self, problem: Problem, groups: Optional[Sequence[int]] = None,
                 reward: str = "sqrt", failure: float = 100.0, oracle: Optional[Oracle] = None):
        if reward not in _FORMS:
            raise ValueError(f"reward is \"{reward}\"; it is one of {', '.join(_FORMS)}")
        self.problem = problem
        self.oracle = oracle or Oracle(problem)
        classes = np.asarray(problem.class_of_op)
        chosen = classes if groups is None else np.asarray(groups)
        # A folded op costs nothing anywhere, so it may go with group 0.
        self.groups = np.ascontiguousarray(np.where(chosen < 0, 0, chosen), np.int32)
        self.group_count = problem.class_count if groups is None else int(self.groups.max()) + 1
        self.device_count = problem.machine.device_count
        self.failure = failure
        self._form = _FORMS[reward]
        self._failed = self._form(failure)
        self.features = _features(problem, self.groups, self.group_count)

    def reward(self, time: float, fits: bool) -> float:
        """What a step is worth."""
        return self._form(time) if fits else self._failed

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None):
        """Begins an episode; a seed is that of random starts. action_space has a seed of its own."""
        super().reset(seed=seed)
        return self._begin(), {}

    def step(self, action):
        row, levels = self._act(action)
        if row is None:
            return self._settle(None, None)
        if levels is None:
            times, fits = self.oracle.score(row, groups=self.groups)
        else:
            times, fits = self.oracle.score(row, groups=self.groups, levels=levels)
        return self._settle(float(times[0]), bool(fits[0]))

    def close(self):
        pass


def _features(problem, groups, count):
    graph, devices = problem.graph, problem.machine.device_count
    columns = np.zeros((count, devices + 3))
    np.add.at(columns[:, :devices], groups, np.asarray(problem.op_times) * 1e6)
    np.add.at(columns[:, devices], groups, np.asarray(graph.persistent_bytes) / 1024)
    edges = groups[np.asarray(graph.edges).reshape(-1, 2)]
    between = edges[:, 0] != edges[:, 1]
    kib = np.asarray(graph.edge_bytes)[between] / 1024
    np.add.at(columns[:, devices + 1], edges[between, 1], kib)
    np.add.at(columns[:, devices + 2], edges[between, 0], kib)
    return np.log1p(columns).astype(np.float32)


def _box(rows, columns):
    return Box(0.0, np.inf, (rows, columns), np.float32)


def _info(time, fits):
    return {"step_time": time, "fits": fits}


class OneShot(_Placing):
    """An action places everything: a device for each group. The episode is one step. The observation
    is the features of all groups, [groups, devices + 3]."""

    def __init__(self, problem, groups=None, reward="sqrt", failure=100.0, oracle=None):
        super().__init__(problem, groups, reward, failure, oracle)
        self.action_space = MultiDiscrete(np.full(self.group_count, self.device_count))
        self.observation_space = _box(*self.features.shape)

    def _begin(self):
        return self.features

    def _act(self, action):
        return action, None

    def _settle(self, time, fits):
        return self.features, self.reward(time, fits), True, False, _info(time, fits)


class Order(_Placing):
    """Devices are given; an action is a level, 0 to 63, for each group. A device serves what waits at
    the least level first. The episode is one step. The observation is that of OneShot with a column
    more: the device of each group."""

    def __init__(self, problem, placement=None, groups=None, reward="sqrt", failure=100.0,
                 oracle=None):
        super().__init__(problem, groups, reward, failure, oracle)
        given = placement if placement is not None else np.ones(self.group_count, np.int32)
        self.placement = np.ascontiguousarray(given, np.int32)
        if self.placement.shape != (self.group_count,):
            raise ValueError(f"placement: a device for each of {self.group_count} groups is needed")
        self.action_space = MultiDiscrete(np.full(self.group_count, 64))
        self._seen = np.column_stack([self.features, self.placement]).astype(np.float32)
        self.observation_space = _box(*self._seen.shape)

    def _begin(self):
        return self._seen

    def _act(self, action):
        return self.placement, np.asarray(action)[self.groups]

    def _settle(self, time, fits):
        return self._seen, self.reward(time, fits), True, False, _info(time, fits)


class Improve(_Placing):
    """Placeto's steps: groups have their turn, one after another; an action is the device that the
    group of the turn moves to. A step's reward is what the move gains. An episode of `passes` turns
    of all groups begins at `start`, or else at random devices.

    The observation has a row a group: its features, which device it is on as a column each, whether
    it is its turn, and whether it has had it in this pass."""

    def __init__(self, problem, groups=None, reward="sqrt", failure=100.0, oracle=None, passes=1,
                 start=None):
        super().__init__(problem, groups, reward, failure, oracle)
        self.passes = passes
        self.start = start
        self.action_space = Discrete(self.device_count)
        self.observation_space = _box(self.group_count, self.features.shape[1] + self.device_count + 2)
        self.placement = np.zeros(self.group_count, np.int32)
        self._turn, self._value = 0, 0.0

    def _begin(self):
        if self.start is not None:
            self.placement = np.array(self.start, np.int32)
        else:
            self.placement = self.np_random.integers(
                0, self.device_count, self.group_count).astype(np.int32)
        times, fits = self.oracle.score(self.placement, groups=self.groups)
        self._turn, self._value = 0, self.reward(float(times[0]), bool(fits[0]))
        return self._see()

    def _see(self):
        seen = np.zeros((self.group_count, self.device_count + 2), np.float32)
        seen[np.arange(self.group_count), self.placement] = 1
        turn = self._turn % self.group_count
        seen[turn, self.device_count] = 1
        seen[:turn, self.device_count + 1] = 1
        return np.concatenate([self.features, seen], axis=1)

    def _act(self, action):
        self.placement[self._turn % self.group_count] = action
        return self.placement, None

    def _settle(self, time, fits):
        value = self.reward(time, fits)
        gain, self._value = value - self._value, value
        self._turn += 1
        is_over = self._turn >= self.passes * self.group_count
        return self._see(), gain, is_over, False, _info(time, fits)


class Sequential(_Placing):
    """An action is a group and a device: the group is placed there. A group may be selected when all
    groups that it reads from are placed, or when no group may; info["mask"] says which may be. An
    action that selects another group counts for the first that may be. The reward is 0 until all
    groups are placed, then that of the step.

    The observation has a row a group: its features, its device as a column each, zeros while it has
    none, and whether it may be selected."""

    def __init__(self, problem, groups=None, reward="sqrt", failure=100.0, oracle=None):
        super().__init__(problem, groups, reward, failure, oracle)
        self.action_space = MultiDiscrete(np.array([self.group_count, self.device_count]))
        self.observation_space = _box(self.group_count, self.features.shape[1] + self.device_count + 1)
        edges = self.groups[np.asarray(problem.graph.edges).reshape(-1, 2)]
        edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
        self._edges = edges.astype(np.int64)
        self._waits = np.bincount(edges[:, 1], minlength=self.group_count)
        self.placement = np.full(self.group_count, -1, np.int32)
        self._left = self._waits.copy()

    def _begin(self):
        self.placement = np.full(self.group_count, -1, np.int32)
        self._left = self._waits.copy()
        return self._see()

    def reset(self, *, seed=None, options=None):
        observation, _ = super().reset(seed=seed, options=options)
        return observation, {"mask": self.mask()}

    def mask(self):
        """Which groups may be selected now."""
        is_open = self.placement < 0
        ready = is_open & (self._left == 0)
        return ready if ready.any() else is_open

    def _see(self):
        seen = np.zeros((self.group_count, self.device_count + 1), np.float32)
        placed = np.flatnonzero(self.placement >= 0)
        seen[placed, self.placement[placed]] = 1
        seen[:, self.device_count] = self.mask()
        return np.concatenate([self.features, seen], axis=1)

    def _act(self, action):
        group, device = int(action[0]), int(action[1])
        mask = self.mask()
        if not mask[group]:
            group = int(np.argmax(mask))
        self.placement[group] = device
        readers = self._edges[self._edges[:, 0] == group, 1]
        self._left[readers] -= 1
        return (self.placement, None) if (self.placement >= 0).all() else (None, None)

    def _settle(self, time, fits):
        if time is None:
            return self._see(), 0.0, False, False, {"mask": self.mask()}
        info = {**_info(time, fits), "mask": self.mask()}
        return self._see(), self.reward(time, fits), True, False, info


class Vector(VectorEnv):
    """Many environments of one kind, scored in one call on threads: Vector(OneShot, problem, 64,
    threads=2, ...). An environment whose episode has ended begins a new one in its next step, which
    ignores the action and has reward 0 (Gymnasium's next-step autoreset). info["step_time"] and
    info["fits"] have a value for each environment that simulated a step; info["_step_time"] and
    info["_fits"] say which ones those are."""

    metadata = {"autoreset_mode": NEXT_STEP, "render_modes": []}
    render_mode = None
    spec = None

    def __init__(self, kind: Any, problem: Problem, num_envs: int, threads: int = 1, **keywords):
        self.oracle = Oracle(problem, threads)
        self.envs = [kind(problem, oracle=self.oracle, **keywords) for _ in range(num_envs)]
        self.num_envs = num_envs
        self.single_action_space = self.envs[0].action_space
        self.single_observation_space = self.envs[0].observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._is_over = [False] * num_envs

    def reset(self, *, seed: Any = None, options: Optional[dict] = None):
        """Begins an episode in each; environment i has the seed + i, or the i-th one of a list."""
        seeds = [None] * self.num_envs if seed is None else seed
        if isinstance(seed, (int, np.integer)):
            seeds = [seed + i for i in range(self.num_envs)]
        seen = [env.reset(seed=own)[0] for env, own in zip(self.envs, seeds, strict=True)]
        self._is_over = [False] * self.num_envs
        return np.stack(seen), {}

    def step(self, actions):
        rows, levels, asked = [], [], []
        for i, env in enumerate(self.envs):
            row, level = (None, None) if self._is_over[i] else env._act(actions[i])
            if row is not None:
                rows.append(row)
                levels.append(level)
                asked.append(i)
        scores = [(None, None)] * self.num_envs
        if rows:
            order = None if levels[0] is None else np.stack(levels)
            times, fits = self.oracle.score(np.stack(rows), groups=self.envs[0].groups,
                                            levels=order)
            for i, time, fit in zip(asked, times.tolist(), fits.tolist()):
                scores[i] = (time, fit)
        return self._gather(scores)

    def _gather(self, scores):
        seen, rewards = [], np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, bool)
        times = np.full(self.num_envs, np.nan)
        fits = np.zeros(self.num_envs, bool)
        for i, env in enumerate(self.envs):
            if self._is_over[i]:
                seen.append(env.reset()[0])
            else:
                observation, rewards[i], terminated[i], _, info = env._settle(*scores[i])
                times[i], fits[i] = info.get("step_time", np.nan), info.get("fits", False)
                seen.append(observation)
        self._is_over = terminated.tolist()
        is_scored = ~np.isnan(times)
        return np.stack(seen), rewards, terminated, np.zeros(self.num_envs, bool), {
            "step_time": times, "_step_time": is_scored, "fits": fits, "_fits": is_scored}

    def close(self, **keywords):
        pass


def random_actions(env: OneShot, seed: int):
    """Endless actions of OneShot: without groups, those that `emplace place --method random --seed
    SEED` scores, in its order."""
    episode = 0
    while True:
        yield Random(seed, episode).below(env.device_count, env.group_count)
        episode += 1
