#!/usr/bin/python3
"""Does bench/anchors/predicted-change count changes as its help says, and are predicted changes nearer than those of rivals?"""
import csv
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1)
COLUMNS = "case source model format machine phase tokens placement measured_ms pair".split()


def run(*words):
    return subprocess.run([sys.executable, ROOT / "bench/anchors/predicted-change", "--program", PROGRAM, *words],
                          capture_output=True, text=True)


def read(ran):
    return list(csv.DictReader(io.StringIO(ran.stdout)))


def mean(rows, kind, rival):
    errors = [abs(float(row[f"{rival}_error"])) for row in rows if row["change"] == kind and row[f"{rival}_error"]]
    return sum(errors) / len(errors)


def run_rows(*rows):
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "times.tsv"
        table.write_text("\n".join("\t".join(row) for row in [COLUMNS, *rows]) + "\n")
        return run("--format", "csv", table)


class PredictedChange(unittest.TestCase):
    def test_rivals_are_farther_off(self):
        ran = run("--format", "csv")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        rows = read(ran)
        kinds = {row["change"] for row in rows}
        self.assertEqual(kinds, {"GPU, language models", "number of GPUs", "batch"})
        for kind in kinds:
            for rival in ("peak", "memory", "roofline"):
                self.assertLess(mean(rows, kind, "predicted"), mean(rows, kind, rival), f"{kind}, {rival}")
        self.assertLess(mean(rows, "GPU, language models", "predicted"), 0.21)
        self.assertLess(mean(rows, "number of GPUs", "predicted"), 0.17)
        self.assertLess(mean(rows, "batch", "predicted"), 0.21)

    def test_both_ways(self):
        """One GPU is twice as fast: the true ratios are 0.5 and 2, rates are those of data sheets."""
        row = ["s", "Llama-3-8B", "q4_k_m"]
        ran = run_rows(["a", *row, "RTX 3090", "decode", "256", "one GPU", "10", ""],
                       ["b", *row, "RTX 4090", "decode", "256", "one GPU", "5", ""],
                       ["c", *row, "RTX 4090", "decode", "512", "one GPU", "5", ""],
                       ["d", *row, "2 x RTX 3090", "decode", "256", "layers, even", "20", ""])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        rows = {row["name"]: row for row in read(ran) if row["change"] != "batch"}
        self.assertEqual(set(rows), {"a -> b", "b -> a", "a -> d", "d -> a"}, "one thing changes")
        self.assertEqual(float(rows["a -> b"]["true_ratio"]), 0.5)
        self.assertAlmostEqual(float(rows["a -> b"]["memory_error"]), 936.2 / 1008.0 / 0.5 - 1, places=3)
        self.assertAlmostEqual(float(rows["b -> a"]["memory_error"]), 1008.0 / 936.2 / 2.0 - 1, places=3)
        self.assertAlmostEqual(float(rows["a -> d"]["memory_error"]), 0.5 / 2.0 - 1, places=6)

    def test_traces(self):
        """A copy of a gigabyte took what the memory of either GPU needs; the kernels of a trace, and nothing of the host, count."""
        with tempfile.TemporaryDirectory() as folder:
            for gpu, us in (("h100", 346.8), ("mi300", 243.0)):
                (pathlib.Path(folder) / f"copy_{gpu}.json.gz").write_text(
                    '{"traceEvents":['
                    '{"ph":"X","cat":"cpu_op","name":"aten::copy_","pid":1,"tid":1,"ts":10,"dur":30,"args":{"External id":4,'
                    '"Input Dims":[[125000000],[125000000],[]],"Input type":["float","float","Scalar"]}},'
                    '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":20,"dur":10,'
                    '"args":{"correlation":11}},'
                    f'{{"ph":"X","cat":"kernel","name":"copy_kernel","pid":0,"tid":7,"ts":31,"dur":{us},'
                    '"args":{"device":0,"stream":7,"correlation":11}},'
                    '{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":1,"tid":1,"ts":40,'
                    f'"dur":{us - 7},"args":{{"correlation":12}}}}]}}')
            ran = run("--format", "csv", "--traces", folder)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        rows = {row["name"]: row for row in read(ran) if row["change"] == "GPU, traces"}
        self.assertEqual(set(rows), {"copy: h100 -> mi300", "copy: mi300 -> h100"})
        row = rows["copy: h100 -> mi300"]
        self.assertAlmostEqual(float(row["true_ratio"]), 243.0 / 346.8, places=4)
        self.assertAlmostEqual(float(row["memory_error"]), 3350 / 5300 / (243.0 / 346.8) - 1, places=3)
        self.assertLess(abs(float(row["predicted_error"])), 0.05)

    def test_text_and_errors(self):
        ran = run()
        self.assertIn("mean |error| in percent", ran.stdout)
        ran = run("nowhere.tsv")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("nowhere.tsv", ran.stderr)


if __name__ == "__main__":
    unittest.main()
