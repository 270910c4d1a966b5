# SPDX-License-Identifier: GPL-3.0-or-later
"""test_placebench.py EMPLACE: does scripts/placebench keep what is better, forget what has changed, and check what it gets?"""
import csv
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

EMPLACE = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = "name split family workload machine runtime source sha256".split()
ROWS = [["one", "train", "giph", "giph:v=30,seed=3", "giph:devices=6,seed=3", "edges", "-", "-"],
        ["two", "test", "giph", "giph:v=20,seed=4", "giph:devices=4,seed=4", "edges", "-", "-"]]
PROFILE = "node1 -- Linear(in=1) -- forward_compute_time=1.0, backward_compute_time=2.0, " \
          "activation_size=8.0, parameter_size=8.0\n"


class PlaceBench(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.place.name)
        (self.root / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/placebench", self.root / "scripts")
        (self.root / "data/placebench").mkdir(parents=True)
        for name in ("machines", "runtimes"):
            (self.root / "data" / name).symlink_to(ROOT / "data" / name)
        (self.root / "profile").write_text(PROFILE, encoding="utf-8")
        digest = hashlib.sha256(PROFILE.encode()).hexdigest()
        source = (self.root / "profile").as_uri()
        self.rows = [*ROWS, ["file", "test", "published", "profile.graph.txt", "k40x2", "tf-r1.3", source, digest]]
        self.define(self.rows)

    def tearDown(self):
        self.place.cleanup()

    def define(self, rows):
        lines = ["\t".join(row) + "\n" for row in [HEAD, *rows]]
        (self.root / "data/placebench/instances.tsv").write_text("".join(lines), encoding="utf-8")

    def script(self, *arguments, status=0):
        environment = {name: value for name, value in os.environ.items() if name != "EMPLACE_INSTANCES"}
        done = subprocess.run([self.root / "scripts/placebench", *arguments], cwd=self.root, env=environment,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def known(self, *arguments):
        self.script("known", "--program", EMPLACE, *arguments)
        with open(self.root / "data/placebench/known.tsv", encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("#")]
        return {line["name"]: line for line in csv.DictReader(lines, delimiter="\t")}

    def test_what_is_better_is_kept_until_it_changes(self):
        first = self.known("--methods", "gpu,heft", "--budget", "20")
        self.assertEqual(list(first), ["one", "two"])
        self.assertEqual([first["one"][key] for key in ("method", "budget", "seed")], ["heft", "0", "1"])
        second = self.known("--methods", "gpu,anneal", "--budget", "200")
        for name in first:
            self.assertLessEqual(float(second[name]["best_s"]), float(first[name]["best_s"]))
            self.assertGreaterEqual(float(second[name]["best_s"]), float(second[name]["bound_s"]))
        self.define([["one", "train", "giph", "giph:v=31,seed=3", *ROWS[0][4:]], ROWS[1]])
        third = self.known("--methods", "gpu")
        self.assertEqual(third["one"]["method"], "gpu")
        self.assertNotEqual(third["one"]["graph_hash"], second["one"]["graph_hash"])
        self.assertEqual(third["two"], second["two"])

    def test_published_files_are_checked(self):
        self.script("fetch")
        path = self.root / "data/placebench/published/profile.graph.txt"
        self.assertEqual(path.read_text(encoding="utf-8"), PROFILE)
        path.write_text("other", encoding="utf-8")
        self.assertIn("are others than the published ones", self.script("fetch", status=1).stderr)
        self.assertEqual(path.read_text(encoding="utf-8"), "other")
        path.unlink()
        self.define([[*self.rows[2][:7], "0" * 64]])
        self.assertIn("should be 0000", self.script("fetch", status=1).stderr)
        self.assertFalse(path.exists())


if __name__ == "__main__":
    unittest.main()
