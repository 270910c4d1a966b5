# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the examples of docs/ in Python run, and are the parts that pages show parts of them?"""
import importlib.util
import os
import re
import subprocess
import sys
import unittest

HAS_NUMPY = importlib.util.find_spec("numpy") is not None
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def run(name, *arguments):
    """What an example prints."""
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
        said = run("reinforce.py", "60")
        first, last = (float(time) for time in re.findall(r"update ([\d.]+)|the last ([\d.]+)", said)
                       for time in time if time)
        self.assertLess(last, first / 2)


if __name__ == "__main__":
    unittest.main()
