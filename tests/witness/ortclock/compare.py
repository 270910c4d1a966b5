# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares steps that Emplace simulates from profiles of ONNX Runtime with the times that the runtime reports.

    compare.py EMPLACE [--runs N] [--only MODEL] [--within PERCENT] [--machine NAME] [--keep FOLDER]

Each model runs on this CPU with one thread: without graph optimizations, and as the runtime has optimized and saved it.
Profiles are read by --costs. Measured is the sum of the times of all nodes in the median run. The last column is the
step without a profile, under Emplace's own costs of the machine. The last line is "N of M agree".
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnxruntime

import models

HOLDERS = {"If", "Loop", "Scan"}


def profile(path, feeds, level, runs, saved=None):
    """Runs the model, and returns the file of the profile."""
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str((saved or path).with_suffix(""))
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    if saved is not None:
        options.optimized_model_filepath = str(saved)
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for _ in range(runs):
        session.run(None, feeds)
    return pathlib.Path(session.end_profiling())


def measured_seconds(path):
    """The sum of the nodes' times in the median run."""
    sums, total = [], 0.0
    for event in json.loads(path.read_text()):
        if event["cat"] == "Node" and event["name"].endswith("_kernel_time"):
            assert event["args"]["op_name"] not in HOLDERS
            total += event["dur"] * 1e-6
        elif event["name"] == "model_run":
            sums.append(total)
            total = 0.0
    return sorted(sums)[(len(sums) - 1) // 2]


def simulated_seconds(emplace, model, machine, costs=None):
    command = [emplace, "simulate", str(model), "-m", machine, "-p", "cpu", "-r", "ideal", "--no-bound", "-f", "json"]
    ran = subprocess.run(command + (["--costs", str(costs)] if costs else []), capture_output=True, text=True, check=False, timeout=120)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr)
    return json.loads(ran.stdout)["step_time_s"]


def rows(options, folder):
    """One of each model and level: name, nodes, and the three times."""
    levels = onnxruntime.GraphOptimizationLevel
    for name in [options.only] if options.only else models.MAKERS:
        model, feeds = models.MAKERS[name]()
        path, saved = folder / f"{name}.onnx", folder / f"{name}_optimized.onnx"
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString())
        plain = profile(path, feeds, levels.ORT_DISABLE_ALL, options.runs)
        optimized = profile(path, feeds, levels.ORT_ENABLE_ALL, options.runs, saved)
        for title, file, times in ((name, path, plain), (name + ", optimized", saved, optimized)):
            measured = measured_seconds(times)
            yield (title, len(onnx.load(file).graph.node), measured, simulated_seconds(options.emplace, file, options.machine, times),
                   simulated_seconds(options.emplace, file, options.machine))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--only", choices=models.MAKERS)
    parser.add_argument("--within", type=float, default=0.1, help="percent between measured and simulated (default 0.1)")
    parser.add_argument("--machine", default="cpu2", help="whose CPU has one core (default cpu2)")
    parser.add_argument("--keep", help="a folder for models and profiles")
    options = parser.parse_args()
    agree, ratios = 0, []
    print(f"{'model':24} {'nodes':>5} {'measured':>11} {'with profile':>12} {'error':>8} {'own model':>11} {'error':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(options.keep or name)
        folder.mkdir(parents=True, exist_ok=True)
        for title, nodes, measured, given, own in rows(options, folder):
            error = 100 * (given / measured - 1)
            agree += abs(error) <= options.within
            ratios.append(own / measured)
            print(f"{title:24} {nodes:5} {measured * 1e3:8.3f} ms {given * 1e3:9.3f} ms {error:+7.2f}% {own * 1e3:8.3f} ms "
                  f"{100 * (own / measured - 1):+7.1f}%", flush=True)
    factor = math.exp(sum(map(math.log, ratios)) / len(ratios))
    spread = sorted(abs(ratio / factor - 1) for ratio in ratios)
    print(f"own model: {factor:.2f} times the measured step in the geometric mean; behind that factor the median error is "
          f"{100 * spread[len(spread) // 2]:.0f} %, the largest {100 * spread[-1]:.0f} %")
    print(f"{agree} of {len(ratios)} agree")
    return 0 if agree == len(ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
