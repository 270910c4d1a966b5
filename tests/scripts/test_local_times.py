#!/usr/bin/python3
"""Does bench/anchors/local-times say of data/anchors/local what its README.md says, and what it does not know?"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1)
COLUMNS = "case source model format machine phase tokens placement measured_ms pair".split()


def run(*words):
    return subprocess.run([sys.executable, ROOT / "bench/anchors/local-times", "--program", PROGRAM, *words],
                          capture_output=True, text=True)


def run_rows(*rows):
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "times.tsv"
        table.write_text("\n".join("\t".join(row) for row in [COLUMNS, *rows]) + "\n")
        return run(table)


class LocalTimes(unittest.TestCase):
    def test_published_times(self):
        ran = run()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        ours, plain = (re.search(rf"^{name}: mean error ([0-9.]+) %, worst ([0-9.]+) times .*, (\d+) of (\d+) within", ran.stdout,
                                 re.M) for name in ("predicted", "roofline"))
        self.assertLess(float(ours[1]), 25)
        self.assertLess(float(ours[1]), float(plain[1]))
        self.assertEqual(ours[3], ours[4])
        self.assertGreaterEqual(int(ours[4]), 20)
        orders = re.search(r"^orders right: (\d+) of (\d+); by the roofline (\d+)", ran.stdout, re.M)
        self.assertEqual(orders[1], orders[2])
        self.assertNotIn("not described", ran.stdout)

    def test_roofline(self):
        """A token reads the 7.504e9 weights of Llama 3 8B besides its embedding, two bytes each, at 936.2 GB/s. Each of 512 tokens
        takes two FLOPs for each of the 6.98e9 weights in its layers, at 71.2 TFLOP/s. Attention adds up to 2 % and 5 %."""
        ran = run("--only", "d3090f,p3090f")
        of = {line.split()[0]: float(line.split()[6]) for line in ran.stdout.splitlines() if "3090f" in line.split()[0] and "%" in line}
        self.assertAlmostEqual(of["d3090f"] / (2 * 7.504e9 / 936.2e9 * 1e3), 1.01, delta=0.01)
        self.assertAlmostEqual(of["p3090f"] / (2 * 512 * 6.98e9 / 71.2e12 * 1e3), 1.01, delta=0.04)

    def test_what_is_not_described(self):
        ran = run_rows(["a", "me", "Llama-2-7B", "f16", "RTX 3090", "decode", "128", "one GPU", "20", "a<b"],
                       ["b", "me", "Llama-2-7B", "f16", "an abacus", "decode", "128", "beads", "2000", ""],
                       ["c", "me", "Llama-2-7B", "f16", "RTX 3090", "train", "128", "one GPU", "20", ""])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("not described: b c", ran.stdout)
        self.assertNotIn("orders right", ran.stdout)

    def test_a_format_that_is_none(self):
        ran = run_rows(["a", "me", "Llama-2-7B", "q77", "RTX 3090", "decode", "128", "one GPU", "20", ""])
        self.assertEqual(ran.returncode, 1)
        self.assertIn("local-times: case a: ", ran.stderr)
        self.assertIn("q77", ran.stderr)


if __name__ == "__main__":
    unittest.main()
