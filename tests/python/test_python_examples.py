# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the examples of docs/ in Python run, and are the parts that pages show parts of them?"""
import os
import subprocess
import sys
import unittest

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


if __name__ == "__main__":
    unittest.main()
