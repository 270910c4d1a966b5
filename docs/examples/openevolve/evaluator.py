# SPDX-License-Identifier: GPL-3.0-or-later
"""Scores a program of initial_program.py's form by the oracle, for OpenEvolve:

    openevolve-run initial_program.py evaluator.py --config config.yaml

or without it:

    python3 evaluator.py initial_program.py

The tasks are of PlaceBench's training split. The score is the geometric mean of METIS's step time over the program's:
above 1 is better than METIS. A program that fails, or whose placement does not fit in memory, gets 0 on that task.
"""
import importlib.util
import json
import math
import subprocess
import sys

import emplace
from emplace.run import program as emplace_program

TASKS = {"giph-30-1": ("giph:v=30,alpha=0.2,p=0.1,seed=1", "giph:devices=8,seed=1", "edges"),
         "giph-100-3": ("giph:v=100,alpha=0.2,p=0.1,seed=3", "giph:devices=12,seed=3", "edges"),
         "nmt-2-short-k40x4": ("nmt:vocab=32000,layers=2,units=512,batch=128,steps=10", "k40x4", "tf-r1.3")}


def ops_of(problem):
    """The ops that a step runs, in topological order, and which op each is."""
    graph = problem.graph
    times, allowed, classes = problem.op_times.tolist(), problem.allowed.tolist(), problem.class_of_op.tolist()
    folded = graph.is_folded.tolist()
    number, ops = {}, []
    for op in graph.order.tolist():
        if not folded[op]:
            number[op] = len(ops)
            ops.append({"times": times[op], "devices": [d for d, may in enumerate(allowed[op]) if may], "inputs": [],
                        "class": classes[op]})
    for (source, target), size in zip(graph.edges.tolist(), graph.edge_bytes.tolist()):
        if source in number and target in number:
            ops[number[target]]["inputs"].append((number[source], size))
    return ops, number


def step_time(place, task):
    """Seconds of the step under the program's placement; infinite if it does not fit."""
    spec, machine, runtime = TASKS[task]
    problem = emplace.Problem(spec, machine, runtime)
    ops, number = ops_of(problem)
    placed = place(ops, problem.machine.device_count, problem.machine.copy_time)
    if len(placed) != len(ops):
        raise ValueError(f"place() gives {len(placed)} devices for {len(ops)} ops")
    row = [0] * problem.graph.op_count
    for op, at in number.items():
        row[op] = int(placed[at])
    times, fits = emplace.Oracle(problem).score([problem.legalize(row)])
    return float(times[0]) if fits[0] else math.inf


def reference_time(task):
    """Seconds of the step under METIS's placement; METIS proposes once and draws nothing."""
    spec, machine, runtime = TASKS[task]
    said = subprocess.run([emplace_program(), "place", spec, "--machine", machine, "--runtime", runtime, "--method", "metis",
                           "--no-bound", "--format", "json"], capture_output=True, text=True, check=True).stdout
    return json.loads(said)["step_time_s"]


def evaluate(program_path):
    """Called by OpenEvolve with the path of a program; a dictionary of figures, of which it maximises combined_score."""
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    figures, logs = {}, []
    try:
        spec.loader.exec_module(program)
    except Exception as error:  # of the program, which a model has written
        return {"combined_score": 0.0, "error": f"{type(error).__name__}: {error}"}
    for task in TASKS:
        try:
            seconds = step_time(program.place, task)
        except Exception as error:
            return {"combined_score": 0.0, "error": f"{task}: {type(error).__name__}: {error}"}
        ratio = reference_time(task) / seconds
        figures[f"{task}_ms"] = 1e3 * seconds if math.isfinite(seconds) else -1.0
        logs.append(math.log(ratio) if ratio > 0 else -math.inf)
    return {"combined_score": math.exp(sum(logs) / len(logs)), **figures}


if __name__ == "__main__":
    print(json.dumps(evaluate(sys.argv[1]), indent=2))
