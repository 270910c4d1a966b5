"""Placement as environments of Gymnasium's interface.

    env = emplace.env.OneShot(emplace.Problem("rnnlm:layers=1", "k40x2"))
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

Spaces and the class Env are Gymnasium's where it is installed; else there are three small spaces of
the same form. numpy is needed. docs/library.md has a table of the environments.

Groups. An environment places groups of ops: `groups` has the number of each op's group, 0 and up.
Without it, each colocation class that has an op to place is a group. A folded op costs nothing
anywhere; its group may be -1.

Reward. A step of t seconds is worth -sqrt(t), -t or -ln(t), as `reward` says: "sqrt", "identity" or
"log". A placement that does not fit in memory counts as a step of `failure` seconds. These are the
rewards of the program's learners, whose default is "sqrt" and 100.

Oracle. `oracle` is what scores the placements, an Oracle of the same problem. Without it, an
environment makes one of its own.

Info. info["step_time"] has the seconds of a step that was simulated, info["fits"] whether all devices
have enough memory for it. A step that does not fit has the time that it would take with unlimited memory.

Groups may also be a grouping of the program's learners by name, "metis:32", "scotch:32", "colocrl" or
"names:32" (Problem.groups).

Record. `record` names a file for the record of a run, which close() writes: the program scores again what
the environment has scored, in the same order. `agent` names the agent, or is its class, whose source then
identifies it; without it the name and the source are those of the script that runs. env.log(loss=0.3) sets
metrics that the record keeps from the next score on. `options` is a text that describes the agent.

Features of a group, float32: ln(1 + x) of the microseconds of its ops on each device, of the KiB that
it holds for the whole step, of the KiB that it reads from other groups, and of those they read from it.
"""
import math
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _given
from ._emplace import Error
from ._log import Log
from .oracle import Oracle
from .problem import Problem
from .random import Random
from .spaces import (NEXT_STEP, Box, Discrete, Env, MultiDiscrete, ResetNeeded, VectorEnv,
                     batch_space)

__all__ = ["Improve", "OneShot", "Order", "ResetNeeded", "Sequential", "Vector", "random_actions"]

_FORMS = {"sqrt": lambda t: -math.sqrt(t), "identity": lambda t: -t,
          "log": lambda t: -math.log(max(t, 1e-9))}


_LEVELS = 64  # of an order


class _Facts:
    """The problem that an environment places."""

    _oracle: Oracle
    _groups: np.ndarray
    _features: np.ndarray

    @property
    def problem(self) -> Problem:
        """The problem that is placed."""
        return self._oracle.problem

    @property
    def oracle(self) -> Oracle:
        """The oracle that scores the placements."""
        return self._oracle

    @property
    def groups(self) -> np.ndarray:
        """The number of each op's group, int32. action[env.groups] is a device for each op, which
        problem.save_placement() takes."""
        return self._groups

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self._features)

    @property
    def device_count(self) -> int:
        """Number of devices of the machine."""
        return self.problem.machine.device_count

    @property
    def features(self) -> np.ndarray:
        """Features of the groups, float32 [groups, devices + 3]; the module's text names the columns."""
        return self._features


class _Placing(_Facts, Env):
    """The parts that the environments share: groups, features, rewards, and a step in three parts. _read()
    checks an action and changes nothing. _act() takes what was read, and gives a row to be scored with its
    levels, or None. _settle() takes the score. Before that, Vector scores the rows of many at once."""

    metadata = {"render_modes": ["ansi"]}
    render_mode: Optional[str] = None
    _log: Optional["Log"] = None

    def __init__(self, problem: Problem, groups: Union[Sequence[int], str, None] = None,
                 reward: str = "sqrt", failure: float = 100.0, oracle: Optional[Oracle] = None,
                 record: Optional[str] = None, agent: Any = None, options: Optional[str] = None,
                 render_mode: Optional[str] = None):
        """The text of the module emplace.env says what the arguments are."""
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode is {render_mode!r}; it is None or \"ansi\"")
        self.render_mode = render_mode
        if reward not in _FORMS:
            raise ValueError(f"reward is \"{reward}\"; it is one of {', '.join(_FORMS)}")
        if not failure > 0:
            raise ValueError(f"failure is {failure}; seconds above 0 are needed")
        if oracle is not None and oracle.problem is not problem:
            raise ValueError("oracle: it scores placements of another problem")
        self.failure = failure
        self._oracle = oracle or Oracle(problem)
        self._groups, self._class_of_group = _given.groups(problem, groups)
        self._features = _features(problem, self._groups)
        self._form = _FORMS[reward]
        self._failed = self._form(failure)
        self._is_running = False
        self._shown: Optional[np.ndarray] = None
        if record is not None:
            self._log = Log(problem, self._groups, record, agent, options)

    def log(self, **metrics: float) -> None:
        """Sets metrics that the record keeps beside the scores."""
        if self._log is None:
            raise ValueError("log: the environment was made without record=")
        self._log.set(metrics)

    def render(self):
        """With render_mode="ansi", why the step under the placement scored last takes as long as it does."""
        if self.render_mode != "ansi":
            return super().render()
        if self._shown is None:
            return "no placement has been scored yet\n"
        return self.problem.explain(self._shown[self._groups])

    def _score(self, rows, levels=None):
        """Scores rows by group, which the log keeps."""
        scores = self._oracle.score(rows, levels, self._groups)
        if self._log is not None:
            self._log.add(rows)
        if self.render_mode is not None:
            self._shown = np.atleast_2d(np.asarray(rows))[-1].astype(np.int32)
        return scores

    def reward(self, time: float, fits: bool) -> float:
        """The reward of a step."""
        return self._form(time) if fits else self._failed

    def reset(self, *, seed: Optional[int] = None, options: Optional[dict] = None):
        """Begins an episode; gives its first observation and an info. A seed is that of random starts:
        action_space has a seed of its own. There are no options."""
        super().reset(seed=seed)
        if self._log is not None:
            self._log.begin(seed)
        begin = self._begin()
        self._is_running = True
        return begin

    def step(self, action):
        """Takes an action; gives observation, reward, terminated, truncated and info. truncated is
        always False. After an episode, and before the first one, it raises ResetNeeded. An action that
        is refused changes nothing."""
        row, levels = self._act(self._read_in_episode(action))
        time, fits = None, None
        if row is not None:
            try:
                times, are_fit = self._score(row, levels)
            except (Error, ValueError):
                self._check(action)
                raise
            time, fits = float(times[0]), bool(are_fit[0])
        settled = self._settle(time, fits)
        self._is_running = not settled[2]
        return settled

    def close(self):
        """Writes the record, if one is asked for."""
        if self._log is not None:
            self._log.save()
        self._log = None

    def _read_in_episode(self, action):
        if not self._is_running:
            raise ResetNeeded("no episode is under way: call reset() before the first step, and after "
                              "each episode")
        return self._read(action)

    def _check(self, action):
        """Refuses an action that _read() leaves to the oracle, since a look at each number takes time."""


def _edges(problem, groups):
    """Each edge between two groups as their numbers, and its bytes. Folded ops have done their work before the step."""
    ops = np.asarray(problem.graph.edges).reshape(-1, 2)
    edges = groups[ops]
    between = (edges[:, 0] != edges[:, 1]) & ~np.asarray(problem.graph.is_folded)[ops].any(axis=1)
    return edges[between], np.asarray(problem.graph.edge_bytes)[between]


def _features(problem, groups):
    graph, devices, count = problem.graph, problem.machine.device_count, int(groups.max()) + 1
    columns = np.zeros((count, devices + 3))
    runs = ~np.asarray(graph.is_folded)
    np.add.at(columns[:, :devices], groups[runs], np.asarray(problem.op_times)[runs] * 1e6)
    np.add.at(columns[:, devices], groups, np.asarray(graph.persistent_bytes) / 1024)
    edges, edge_bytes = _edges(problem, groups)
    np.add.at(columns[:, devices + 1], edges[:, 1], edge_bytes / 1024)
    np.add.at(columns[:, devices + 2], edges[:, 0], edge_bytes / 1024)
    return np.log1p(columns).astype(np.float32)


def _box(rows, columns):
    return Box(0.0, np.inf, (rows, columns), np.float32)


def _info(time, fits):
    return {"step_time": time, "fits": fits}


class OneShot(_Placing):
    """An action places everything: a device for each group. The episode is one step, and one
    simulation. The observation is the features of all groups, [groups, devices + 3]."""

    def __init__(self, problem, groups=None, reward="sqrt", failure=100.0, oracle=None, **keywords):
        """The text of the module emplace.env says what the arguments are."""
        super().__init__(problem, groups, reward, failure, oracle, **keywords)
        self.action_space = MultiDiscrete(np.full(self.group_count, self.device_count))
        self.observation_space = _box(*self._features.shape)

    def _begin(self):
        return self._features.copy(), {}

    def _read(self, action):
        return _given.row("action", action, self.group_count, "a device for each group")

    def _check(self, action):
        _given.check_below("action", self._read(action), self.device_count, "device")

    def _act(self, action):
        return action, None

    def _settle(self, time, fits):
        return self._features.copy(), self.reward(time, fits), True, False, _info(time, fits)


class Order(_Placing):
    """Devices are given; an action is a level, 0 to 63, for each group. A device serves what waits at
    the least level first. The episode is one step, and one simulation. The observation is that of
    OneShot with a column more: the device of each group. `placement` has the device of each group."""

    def __init__(self, problem, placement=None, groups=None, reward="sqrt", failure=100.0,
                 oracle=None):
        """placement has a device for each group; without it, all are on device 1, the first GPU. The
        text of the module emplace.env says what groups, reward, failure and oracle are."""
        super().__init__(problem, groups, reward, failure, oracle)
        given = placement if placement is not None else np.ones(self.group_count, np.int32)
        self.placement = _given.devices("placement", given, self.group_count, self.device_count)
        self.action_space = MultiDiscrete(np.full(self.group_count, _LEVELS))
        self._seen = np.column_stack([self._features, self.placement]).astype(np.float32)
        self.observation_space = _box(*self._seen.shape)

    def _begin(self):
        return self._seen.copy(), {}

    def _read(self, action):
        return _given.row("action", action, self.group_count, "a level for each group")

    def _check(self, action):
        _given.check_below("action", self._read(action), _LEVELS, "level")

    def _act(self, action):
        return self.placement, action[self._groups]

    def _settle(self, time, fits):
        return self._seen.copy(), self.reward(time, fits), True, False, _info(time, fits)


class Improve(_Placing):
    """Placeto's steps: the groups take turns, and an action is the device that the group of the turn
    moves to. A step's reward is what the move gains. In an episode each group has `passes` turns. Each
    step is a simulation, and reset() simulates the start, whose step_time and fits are in its info.

    The observation has a row a group: its features, which device it is on as a column each, whether
    it is its turn, and whether it has had it in this pass. `placement` has the device of each group."""

    def __init__(self, problem, groups=None, reward="sqrt", failure=100.0, oracle=None, passes=1,
                 start=None, **keywords):
        """start has a device for each group; without it, episodes begin at random devices. The text of
        the module emplace.env says what the other arguments are."""
        super().__init__(problem, groups, reward, failure, oracle, **keywords)
        if passes < 1:
            raise ValueError(f"passes is {passes}; each group needs at least 1 turn")
        if start is not None:
            start = _given.devices("start", start, self.group_count, self.device_count)
        self.passes = passes
        self.start = start
        self.action_space = Discrete(self.device_count)
        self.observation_space = _box(self.group_count, self._features.shape[1] + self.device_count + 2)
        self.placement = np.zeros(self.group_count, np.int32)
        self._turn, self._value = 0, 0.0

    def _begin(self):
        if self.start is not None:
            self.placement = self.start.copy()
        else:
            self.placement = self.np_random.integers(
                0, self.device_count, self.group_count).astype(np.int32)
        times, are_fit = self._score(self.placement)
        time, fits = float(times[0]), bool(are_fit[0])
        self._turn, self._value = 0, self.reward(time, fits)
        return self._see(), _info(time, fits)

    def _see(self):
        count, devices = self.group_count, self.device_count
        seen = np.zeros((count, devices + 2), np.float32)
        seen[np.arange(count), self.placement] = 1
        turn = self._turn % count
        seen[turn, devices] = 1
        seen[:turn, devices + 1] = 1
        return np.concatenate([self._features, seen], axis=1)

    def _read(self, action):
        return _given.number(action, self.device_count, "device")

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
    """An action is a group and a device: the group is placed there. A group may be selected once all
    groups that it reads from are placed. Where groups wait for each other, each that is not placed may
    be. info["mask"] says which may be selected. An action that selects another group counts for the
    first that may be. The reward is 0 until all groups are placed, then that of the step. An episode
    is one simulation, after its last step.

    The observation has a row a group: its features, its device as a column each, zeros while it has
    none, and whether it may be selected. `placement` has the device of each group, or -1."""

    def __init__(self, problem, groups=None, reward="sqrt", failure=100.0, oracle=None, **keywords):
        """The text of the module emplace.env says what the arguments are."""
        super().__init__(problem, groups, reward, failure, oracle, **keywords)
        self.action_space = MultiDiscrete(np.array([self.group_count, self.device_count]))
        self.observation_space = _box(self.group_count, self._features.shape[1] + self.device_count + 1)
        edges = np.unique(_edges(problem, self._groups)[0], axis=0)
        self._edges = edges.astype(np.int64)
        self._waits = np.bincount(edges[:, 1], minlength=self.group_count)
        self.placement = np.full(self.group_count, -1, np.int32)
        self._left = self._waits.copy()

    def _begin(self):
        self.placement = np.full(self.group_count, -1, np.int32)
        self._left = self._waits.copy()
        return self._see(), {"mask": self.mask()}

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
        return np.concatenate([self._features, seen], axis=1)

    def _read(self, action):
        group, device = _given.row("action", action, 2, "a group and its device").tolist()
        return (_given.number(group, self.group_count, "group"),
                _given.number(device, self.device_count, "device"))

    def _act(self, action):
        group, device = action
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


class Vector(_Facts, VectorEnv):
    """Many environments of one kind, scored in one call on threads: Vector(OneShot, problem, 64,
    threads=2, ...). An environment whose episode has ended begins a new one in its next step, which
    ignores the action and has reward 0 (Gymnasium's next-step autoreset). reset() begins new ones at
    once. info["step_time"] and info["fits"] have a value for each environment that simulated a step;
    info["_step_time"] and info["_fits"] say which ones those are. `envs` has the environments."""

    metadata = {"autoreset_mode": NEXT_STEP, "render_modes": []}
    render_mode = None
    spec = None

    def __init__(self, kind: Any, problem: Problem, num_envs: int, threads: int = 1,
                 oracle: Optional[Oracle] = None, record: Optional[str] = None, agent: Any = None,
                 options: Optional[str] = None, **keywords):
        """kind is a class of this module, which the keywords go to; threads are the oracle's. The text of
        the module emplace.env says what oracle, record, agent and options are."""
        if not (isinstance(kind, type) and issubclass(kind, _Placing)):
            raise TypeError(f"kind is {kind!r}; it is one of the classes Improve, OneShot, Order and Sequential")
        if num_envs < 1:
            raise ValueError(f"num_envs is {num_envs}; at least 1 environment is needed")
        if record is not None and kind is Order:
            raise ValueError("record: orders are not recorded")
        self._oracle = oracle or Oracle(problem, threads)
        self.envs = [kind(problem, oracle=self._oracle, **keywords) for _ in range(num_envs)]
        self._groups, self._features = self.envs[0].groups, self.envs[0].features
        self.num_envs = num_envs
        self.single_action_space = self.envs[0].action_space
        self.single_observation_space = self.envs[0].observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._is_over = [False] * num_envs
        self._log = None if record is None else Log(problem, self._groups, record, agent, options)
        for env in self.envs:  # those that score by themselves, when they begin
            env._log = self._log

    log = _Placing.log

    def reset(self, *, seed: Any = None, options: Optional[dict] = None):
        """Begins an episode in each; environment i has the seed + i, or the i-th one of a list. There
        are no options."""
        seeds = [None] * self.num_envs if seed is None else seed
        if self._log is not None and isinstance(seed, (int, np.integer)):
            self._log.begin(seed)
        if isinstance(seed, (int, np.integer)):
            seeds = [seed + i for i in range(self.num_envs)]
        begun = [env.reset(seed=own) for env, own in zip(self.envs, seeds, strict=True)]
        self._is_over = [False] * self.num_envs
        times, fits = np.full(self.num_envs, np.nan), np.zeros(self.num_envs, bool)
        for i, (_, info) in enumerate(begun):
            times[i], fits[i] = info.get("step_time", np.nan), info.get("fits", False)
        infos = {} if np.isnan(times).all() else _infos(times, fits)
        return np.stack([seen for seen, _ in begun]), infos

    def step(self, actions):
        """Takes an action for each environment; gives arrays of observations, rewards, terminated and
        truncated, and an info of arrays. Actions that are refused change nothing."""
        scores = [(None, None)] * self.num_envs
        rows, levels, asked = self._act(actions)
        if rows:
            order = None if levels[0] is None else np.stack(levels)
            try:
                times, fits = self._oracle.score(np.stack(rows), order, self._groups)
                if self._log is not None:
                    self._log.add(np.stack(rows))
            except (Error, ValueError):
                for i in asked:
                    self.envs[i]._check(actions[i])
                raise
            for i, time, fit in zip(asked, times.tolist(), fits.tolist()):
                scores[i] = (time, fit)
        return self._gather(scores)

    def _act(self, actions):
        """The rows to be scored, their levels, and which environments they are of."""
        if len(actions) != self.num_envs:
            raise ValueError(f"actions: {len(actions)} for {self.num_envs} environments")
        read = [None if is_over else env._read_in_episode(action)
                for env, is_over, action in zip(self.envs, self._is_over, actions)]
        rows, levels, asked = [], [], []
        for i, env in enumerate(self.envs):
            row, level = (None, None) if self._is_over[i] else env._act(read[i])
            if row is not None:
                rows.append(row)
                levels.append(level)
                asked.append(i)
        return rows, levels, asked

    def _gather(self, scores):
        seen, rewards = [], np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, bool)
        times = np.full(self.num_envs, np.nan)
        fits = np.zeros(self.num_envs, bool)
        for i, env in enumerate(self.envs):
            if self._is_over[i]:
                observation, info = env.reset()
            else:
                observation, rewards[i], terminated[i], _, info = env._settle(*scores[i])
                env._is_running = not terminated[i]
            times[i], fits[i] = info.get("step_time", np.nan), info.get("fits", False)
            seen.append(observation)
        self._is_over = terminated.tolist()
        return np.stack(seen), rewards, terminated, np.zeros(self.num_envs, bool), _infos(times, fits)

    def close_extras(self, **keywords):
        """Writes the record, if one is asked for."""
        if self._log is not None:
            self._log.save()
        self._log = None
        for env in self.envs:
            env._log = None


def _infos(times, fits):
    is_scored = ~np.isnan(times)
    return {"step_time": times, "_step_time": is_scored, "fits": fits, "_fits": is_scored}


def _register():
    """gymnasium.make("emplace/OneShot-v0", problem=...) and the others, once this module is imported; the
    wheel has an entry point by which Gymnasium imports it itself."""
    try:
        from gymnasium.envs.registration import register, registry
    except ImportError:
        return
    for kind in (OneShot, Improve, Sequential, Order):
        if f"emplace/{kind.__name__}-v0" not in registry:
            register(id=f"emplace/{kind.__name__}-v0", entry_point=f"emplace.env:{kind.__name__}")


_register()


def random_actions(env: OneShot, seed: int):
    """Unlimited actions of OneShot: without groups, those that `emplace place --method random --seed
    SEED` scores, in its order."""
    episode, chosen = 0, env._class_of_group  # classes without an op have a draw of their own
    count = env.group_count if chosen is None else env.problem.class_count
    while True:
        drawn = Random(seed, episode).below(env.device_count, count)
        yield drawn if chosen is None else drawn[chosen]
        episode += 1
