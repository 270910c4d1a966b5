# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the environments what Gymnasium's interface asks for, and do they give the oracle's times? Is the
random agent method `random`?"""
import math
import sys
import time
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: python3-numpy is not installed")
    sys.exit(77)

import emplace
import emplace.env
from emplace.env import Improve, OneShot, Order, Sequential, Vector

try:
    import gymnasium
    import gymnasium.wrappers.vector
    from gymnasium.utils.env_checker import check_env
except ImportError:
    gymnasium = None

SPEC, MACHINE = "rnnlm:layers=1,steps=2,units=64,batch=8", "k40x2"


def chunks(problem, count):
    groups = np.zeros(len(problem.graph), int)
    groups[problem.graph.order] = np.arange(len(groups)) * count // len(groups)
    return groups


class Kinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.problem = emplace.Problem(SPEC, MACHINE)
        cls.groups = chunks(cls.problem, 12)

    def envs(self):
        for kind in (OneShot, Improve, Sequential, Order):
            yield kind(self.problem)
            yield kind(self.problem, groups=self.groups)

    def test_each_step_keeps_to_its_spaces(self):
        for env in self.envs():
            seen, info = env.reset(seed=7)
            self.assertIsInstance(info, dict)
            for _ in range(3):
                is_over = False
                while not is_over:
                    self.assertTrue(env.observation_space.contains(seen), env)
                    action = env.action_space.sample()
                    self.assertTrue(env.action_space.contains(action))
                    seen, reward, is_over, is_cut, info = env.step(action)
                    self.assertTrue(math.isfinite(reward))
                    self.assertIsInstance(is_over, bool)
                    self.assertIs(is_cut, False)
                seen, _ = env.reset()

    def test_equal_seeds_give_equal_episodes(self):
        for kind in (OneShot, Improve, Sequential, Order):
            runs = []
            for _ in range(2):
                env = kind(self.problem, groups=self.groups)
                seen, _ = env.reset(seed=11)
                env.action_space.seed(12)
                rewards, is_over = [float(seen.sum())], False
                while not is_over:
                    _, reward, is_over, _, _ = env.step(env.action_space.sample())
                    rewards.append(reward)
                runs.append(rewards)
            self.assertEqual(runs[0], runs[1], kind)

    def test_rewards_are_those_of_the_learners(self):
        for name, form in (("sqrt", lambda t: -math.sqrt(t)), ("identity", lambda t: -t),
                           ("log", lambda t: -math.log(t))):
            env = OneShot(self.problem, reward=name)
            env.reset(seed=1)
            _, reward, _, _, info = env.step(env.action_space.sample())
            self.assertEqual(reward, form(info["step_time"]))
        with self.assertRaisesRegex(ValueError, "one of sqrt, identity, log"):
            OneShot(self.problem, reward="zebra")
        big = emplace.Problem("nmt:layers=8", "k40x1")
        env = OneShot(big, groups=[0] * len(big.graph))
        _, reward, _, _, info = env.step([1])
        self.assertEqual((reward, info["fits"]), (-10.0, False))

    def test_moves_of_an_episode_add_up(self):
        env = Improve(self.problem, groups=self.groups, start=[1] * 12)
        oracle = emplace.Oracle(self.problem)
        env.reset(seed=2)
        begin = env.reward(float(oracle.score([[1] * 12], groups=env.groups)[0][0]), True)
        total, is_over, steps = 0.0, False, 0
        while not is_over:
            _, gain, is_over, _, info = env.step(2 if steps % 2 else 1)
            total, steps = total + gain, steps + 1
        self.assertEqual(steps, 12)
        end = float(oracle.score([[1, 2] * 6], groups=env.groups)[0][0])
        self.assertEqual(info["step_time"], end)
        self.assertAlmostEqual(total, env.reward(end, True) - begin, places=12)

    def test_groups_are_selected_after_those_that_they_read_from(self):
        env = Sequential(self.problem)
        _, info = env.reset(seed=3)
        placed, edges = set(), env._edges.tolist()
        sources = {group: set() for group in range(env.group_count)}
        for before, after in edges:
            sources[after].add(before)
        for step in range(env.group_count):
            ready = np.flatnonzero(info["mask"]).tolist()
            group = ready[step % len(ready)]
            if any(sources[g] <= placed for g in ready):
                self.assertLessEqual(sources[group], placed)
            _, reward, is_over, _, info = env.step([group, 1])
            placed.add(group)
        self.assertTrue(is_over)
        self.assertEqual(len(placed), env.group_count)
        self.assertEqual(info["step_time"], OneShot(self.problem).step([1] * env.group_count)[4]["step_time"])

    def test_many_at_once_are_each_alone(self):
        for kind in (OneShot, Improve, Sequential, Order):
            many = Vector(kind, self.problem, 5, threads=2, groups=self.groups)
            alone = [kind(self.problem, groups=self.groups) for _ in range(5)]
            seen, _ = many.reset(seed=20)
            self.assertTrue(many.observation_space.contains(seen), kind)
            self.assertTrue(many.action_space.contains(many.action_space.sample()), kind)
            for i, env in enumerate(alone):
                np.testing.assert_array_equal(seen[i], env.reset(seed=20 + i)[0])
            for _ in range(4):
                if many._is_over[0]:
                    break
                actions = [env.action_space.sample() for env in alone]
                seen, rewards, over, cut, info = many.step(actions)
                for i, env in enumerate(alone):
                    one = env.step(actions[i])
                    np.testing.assert_array_equal(seen[i], one[0])
                    self.assertEqual((rewards[i], over[i], cut[i]), one[1:4])
                    self.assertEqual(info["_step_time"][i], "step_time" in one[4])
                    if info["_fits"][i]:
                        self.assertEqual((info["step_time"][i], info["fits"][i]),
                                         (one[4]["step_time"], one[4]["fits"]))

    def test_seeds_may_be_a_list(self):
        many = Vector(Improve, self.problem, 3, groups=self.groups)
        seen, _ = many.reset(seed=[20, 21, 22])
        np.testing.assert_array_equal(seen, many.reset(seed=20)[0])
        with self.assertRaises(ValueError):
            many.reset(seed=[1, 2])

    def test_an_episode_that_has_ended_begins_anew(self):
        many = Vector(OneShot, self.problem, 2, groups=self.groups)
        many.reset(seed=1)
        _, rewards, over, _, _ = many.step([[1] * 12, [2] * 12])
        self.assertTrue(over.all())
        _, rewards, over, _, _ = many.step([[1] * 12, [2] * 12])
        self.assertEqual((rewards.tolist(), over.tolist()), ([0, 0], [False, False]))


@unittest.skipIf(gymnasium is None, "gymnasium is not installed")
class Gymnasium(unittest.TestCase):
    def setUp(self):
        self.problem = emplace.Problem(SPEC, MACHINE)
        self.groups = chunks(self.problem, 12)

    def test_its_own_check_finds_nothing(self):
        for kind in (OneShot, Improve, Sequential, Order):
            check_env(kind(self.problem, groups=self.groups), skip_render_check=True)

    def test_its_wrappers_take_many_at_once(self):
        many = Vector(Improve, self.problem, 3, groups=self.groups, start=[1] * 12)
        counted = gymnasium.wrappers.vector.RecordEpisodeStatistics(many)
        counted.reset(seed=1)
        total = np.zeros(3)
        for _ in range(12):
            _, rewards, over, _, info = counted.step(counted.action_space.sample())
            total += rewards
        self.assertTrue(over.all())
        np.testing.assert_allclose(info["episode"]["r"], total)
        self.assertEqual(info["episode"]["l"].tolist(), [12] * 3)


class Random(unittest.TestCase):
    def test_the_random_agent_is_the_method_random(self):
        problem = emplace.Problem(SPEC, MACHINE)
        env = OneShot(problem)
        env.reset()
        actions, times = emplace.env.random_actions(env, 3), []
        for _ in range(150):
            times.append(env.step(next(actions))[4]["step_time"])
        record = emplace.place(problem, "random", budget=150, seed=3)
        self.assertEqual(record.step_time_s, min(times))
        for point, begin in zip(record.curve, (0, 64, 128)):
            batch = times[begin:point["evaluations"]]
            self.assertEqual(point["best_s"], min(times[:point["evaluations"]]))
            self.assertEqual(point["mean_s"], mean_as_the_record_says_it(batch))


def mean_as_the_record_says_it(batch):
    mean = 0.0
    for step_time in batch:
        mean += step_time / len(batch)
    return float(f"{mean:.15g}")


class Cost(unittest.TestCase):
    def test_a_step_costs_little_beside_the_simulation(self):
        """The bar is wide, since the computer may be busy; what is printed is the least of many."""
        problem = emplace.Problem(SPEC, MACHINE)
        env = OneShot(problem)
        env.reset(seed=1)
        action = env.action_space.sample()
        best = {"step": math.inf, "simulation": math.inf}
        row = np.asarray(action, np.int32)[env.groups]
        for _ in range(3000):
            for name, call in (("step", lambda: env.step(action)),
                               ("simulation", lambda: env.oracle.score(row))):
                begin = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - begin)
        extra = (best["step"] - best["simulation"]) * 1e6
        print(f"a step takes {best['step'] * 1e6:.1f} us, score() of its placement "
              f"{best['simulation'] * 1e6:.1f} us: {extra:.1f} us more")
        self.assertLess(extra, 50)

if __name__ == "__main__":
    unittest.main()
