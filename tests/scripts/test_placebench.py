# SPDX-License-Identifier: GPL-3.0-or-later
"""test_placebench.py EMPLACE: does scripts/placebench keep what is better, forget what has changed, and check what it gets?"""
import csv
import hashlib
import importlib.machinery
import importlib.util
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

    def test_an_entry_gets_its_row_of_the_board(self):
        self.known("--methods", "gpu")
        board = self.root / "board.csv"
        with open(board, "w", encoding="utf-8") as file:
            subprocess.run([EMPLACE, "bench", "placers", "--tasks", "placebench:test", "--methods", "gpu,heft", "--budgets", "20",
                            "--seeds", "3", "--draws", "0", "--runs", str(self.root / "runs"), "--format", "csv"],
                           stdout=file, stderr=subprocess.DEVNULL, check=True,
                           env={**os.environ, "EMPLACE_DATA": str(self.root / "data")})
        mine = f"cmd:{sys.executable} {ROOT / 'docs/examples/own_lines.py'}"
        done = self.script("entry", mine, "--name", "mine", "--program", EMPLACE, "--board", str(board), "--budget", "20",
                           "--out", str(self.root / "entry.csv"))
        rows = {cells[1].strip(" *"): [cell.strip() for cell in cells[2:-1]]
                for cells in (line.split("|") for line in done.stdout.splitlines() if line.startswith("|"))}
        self.assertIn("| **mine** |", done.stdout)
        self.assertIn("1 of 1 instances of the board, 20 evaluations, 3 seeds", done.stdout)
        with open(self.root / "entry.csv", encoding="utf-8") as file:
            entry, = csv.DictReader(line for line in file if not line.startswith("#"))
        with open(board, encoding="utf-8") as file:
            times = {line["entrant"]: float(line["median_s"]) for line in csv.DictReader(row for row in file if row[0] != "#")}
        times[entry["entrant"]] = float(entry["median_s"])
        self.assertEqual(set(times), {"gpu", "heft", "mine"})
        for name, time in times.items():
            self.assertEqual(rows[name][0], f"{1 + sum(other < time for other in times.values()):.2f}")
            self.assertEqual(rows[name][1], f"{time / min(times.values()):.2f}")
        self.assertIn("cannot read nosuch.py", self.script("entry", "nosuch.py", "--program", EMPLACE, "--board", str(board),
                                                      status=1).stderr)

    def test_the_board_is_what_the_program_says(self):
        loader = importlib.machinery.SourceFileLoader("placebench", str(ROOT / "scripts/placebench"))
        script = importlib.util.module_from_spec(importlib.util.spec_from_loader("placebench", loader))
        loader.exec_module(script)
        results = ROOT / "bench/results/placebench"
        rows = {row["entrant"]: row for row in script.board_of(script.cells_of(script.read_lines(results / "test.csv", ",")))}
        said = script.read_lines(results / "test_rankings.csv", ",")
        self.assertEqual(rows.keys(), {line["entrant"] for line in said})
        for line in said:
            row = rows[line["entrant"]]
            self.assertAlmostEqual(row["mean_rank"], float(line["mean_rank"]), 4)
            self.assertEqual(row["solved"], int(line["solved"]))
            if row["solved"] == int(line["tasks"]):
                self.assertAlmostEqual(row["to_least"], float(line["to_least"]), 4)
                self.assertAlmostEqual(row["to_least_low"], float(line["to_least_low"]), 1)


if __name__ == "__main__":
    unittest.main()
