# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the examples of docs/ in Python run, and are the parts that pages show parts of them?"""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

import emplace

HAS_NUMPY = importlib.util.find_spec("numpy") is not None
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def run(name, *arguments):
    """The output of an example."""
    path = os.path.join(ROOT, "docs", "examples", name)
    return subprocess.run([sys.executable, path, *arguments], check=True, capture_output=True,
                          text=True).stdout


class Examples(unittest.TestCase):
    def test_score(self):
        said = run("score.py").splitlines()
        self.assertRegex(said[0], r"^one GPU: 0\.\d+ s, fits$")
        self.assertRegex(said[1], r"^halves: 0\.\d+ s, fits$")
        self.assertEqual(len(said), 6)

    def test_own_callable(self):
        said = run("own_callable.py", "rnnlm:layers=1,steps=2,units=64,batch=8")
        self.assertRegex(said, r"^512 evaluations, 0\.00\d+ s$")

    @unittest.skipUnless(HAS_NUMPY, "python3-numpy is not installed")
    def test_episode(self):
        spaces, end = run("episode.py").splitlines()
        self.assertRegex(spaces, r"^Box\(.*\(16, 11\), float32\) Discrete\(3\)$")
        self.assertRegex(end, r"^-0\.\d+ gained by the moves, now 0\.\d+ s, fits: True$")

    @unittest.skipUnless(HAS_NUMPY, "python3-numpy is not installed")
    def test_reinforce(self):
        with tempfile.TemporaryDirectory() as folder:
            placed = os.path.join(folder, "placed.json")
            said = run("reinforce.py", "60", "0", placed)
            first, last, best = map(float, re.findall(r"(?:update|last|best) ([\d.]+) s", said))
            self.assertLess(last, first / 2)
            problem = emplace.Problem("rnnlm:layers=2,steps=10,units=1024,batch=128", "k40x2")
            times, fits = emplace.Oracle(problem).score(problem.load_placement(placed))
            self.assertEqual((f"{times[0]:.6f}", fits[0]), (f"{best:.6f}", True))

    @unittest.skipUnless(HAS_NUMPY and importlib.util.find_spec("stable_baselines3"), "stable-baselines3 is not installed")
    def test_sb3_ppo(self):
        said = run("sb3_ppo.py", "512")
        self.assertRegex(said, r"best 0\.\d+ s after 512 simulations$")

    @unittest.skipUnless(HAS_NUMPY and importlib.util.find_spec("torch"), "torch is not installed")
    def test_cleanrl_ppo(self):
        said = run("cleanrl_ppo.py", "1100")
        self.assertRegex(said, r"best 0\.\d+ s after 1064 simulations$")


class Evolved(unittest.TestCase):
    """The example for OpenEvolve, whose evaluator is called directly."""

    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.join(ROOT, "docs", "examples", "openevolve")
        spec = importlib.util.spec_from_file_location("evaluator", os.path.join(cls.folder, "evaluator.py"))
        cls.evaluator = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.evaluator)

    def evaluate(self, program):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program)
            return self.evaluator.evaluate(path)

    def test_the_initial_program_is_scored_by_the_oracle(self):
        path = os.path.join(self.folder, "initial_program.py")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertLess(text.index("# EVOLVE-BLOCK-START"), text.index("# EVOLVE-BLOCK-END"))
        said = self.evaluator.evaluate(path)
        ratio = 1.0
        for task in self.evaluator.TASKS:
            seconds = said[f"{task}_ms"] / 1e3
            self.assertGreater(seconds, 0)
            ratio *= self.evaluator.reference_time(task) / seconds
        self.assertAlmostEqual(said["combined_score"], ratio ** (1 / len(self.evaluator.TASKS)), 9)
        self.assertGreater(said["combined_score"], 1, "better than METIS, as docs/results.md says")

    def test_other_programs_get_other_scores(self):
        one = "def place(ops, devices, copy_time):\n    return [1 if 1 in op['devices'] else op['devices'][0] for op in ops]\n"
        initial = self.evaluator.evaluate(os.path.join(self.folder, "initial_program.py"))
        score = self.evaluate(one)
        self.assertLess(score["combined_score"], initial["combined_score"])
        problem = emplace.Problem(*self.evaluator.TASKS["nmt-2-short-k40x4"])
        times, _ = emplace.Oracle(problem).score([problem.legalize([1] * problem.graph.op_count)])
        self.assertAlmostEqual(score["nmt-2-short-k40x4_ms"] / (1e3 * times[0]), 1, 9)

    def test_programs_that_fail_get_nothing(self):
        for program, part in [("def place(", "SyntaxError"), ("x = 1", "no attribute 'place'"),
                              ("def place(ops, devices, copy_time):\n    return []", "0 devices for")]:
            said = self.evaluate(program)
            self.assertEqual(said["combined_score"], 0.0)
            self.assertIn(part, said["error"])


@unittest.skipUnless(HAS_NUMPY, "python3-numpy is not installed")
class Figures(unittest.TestCase):
    """Those of docs/library.md that the examples print. numpy rounds exp() as the computer does it."""

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "docs", "library.md"), encoding="utf-8") as file:
            cls.page = file.read()

    def test_best_step_times(self):
        rows = re.findall(r"`reinforce\.py ?([\d ]*)` \| ([\d,]+) \| ([\d.]+) ms", self.page)
        self.assertEqual(len(rows), 4)
        one_gpu = float(re.search(r"all on one GPU \| +\| 1 \| ([\d.]+) ms", self.page)[1])
        for arguments, simulations, best_ms in rows:
            said = run("reinforce.py", *arguments.split())
            self.assertEqual(simulations, f"{32 * int((arguments.split() or ['200'])[0]):,}")
            self.assertAlmostEqual(1e3 * float(re.search(r"best ([\d.]+)", said)[1]) / float(best_ms), 1, delta=0.01)
            self.assertEqual(f"{1e3 * float(re.search(r'GPU ([0-9.]+)', said)[1]):.1f}", f"{one_gpu:.1f}")

    def test_groups_of_a_graph(self):
        import emplace.env
        ops, groups = re.search(r"`rnnlm` has ([\d,]+) ops in ([\d,]+) groups", self.page).groups()
        env = emplace.env.OneShot(emplace.Problem("rnnlm", "k40x2"))
        self.assertEqual((f"{len(env.groups):,}", f"{env.group_count:,}"), (ops, groups))


if __name__ == "__main__":
    unittest.main()
