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
