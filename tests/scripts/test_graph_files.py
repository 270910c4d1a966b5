# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the CSV and the JSON of `emplace graph --out` say the same, as Python reads them, and does `emplace place --out
FILE.py` give each op the device that the JSON gives it?"""
import csv
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

emplace = os.path.join(os.environ["EMP_BINARY_DIR"], "cli", "emplace")
graph = ["graph", "rnnlm:steps=2", "--machine", "k40x2", "--out"]


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def shape(output):
    if output["shape"] is None:
        return output["dtype"] + "?"
    return output["dtype"] + "[" + ",".join("?" if n is None else str(n) for n in output["shape"]) + "]"


def check(ok, what):
    if not ok:
        sys.exit(f"files differ: {what}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name in ("g.json", "g.csv"):
        subprocess.run([emplace, *graph, name], check=True, stdout=subprocess.DEVNULL)
    with open("g.json") as file:
        whole = json.load(file)
    ops, edges = rows("g.csv"), rows("g.edges.csv")

check(len(ops) == len(whole["ops"]) > 100, "number of ops")
for line, op in zip(ops, whole["ops"]):
    check(line["name"] == op["name"] and line["type"] == op["type"], op["name"])
    check(line["outputs"].split() == list(map(shape, op["outputs"])), op["name"])
    for key in ("id", "bytes_read", "bytes_written", "persistent_bytes", "colocation_class", "flops"):
        check(float(line[key]) == op[key], f"{key} of {op['name']}")
    for model, seconds in op["seconds"].items():
        check(line["seconds_" + model] == "" if seconds is None
              else float(line["seconds_" + model]) == seconds, f"seconds of {op['name']}")
    check(line["devices"].split() == op["devices"], f"devices of {op['name']}")
    check(line["kinds"].split() == op["kinds"], f"kinds of {op['name']}")
check(len(edges) == len(whole["edges"]) > 100, "number of edges")
for line, edge in zip(edges, whole["edges"]):
    for key, value in edge.items():
        check(int(line[key]) == int(value), f"{key} of {edge}")

# ---- placements ----


class Operation:
    """The argument that tf.device() hands to a device function."""

    def __init__(self, name):
        self.name = name


placed = ["place", "rnnlm:steps=2", "-m", "k40x2", "--method", "random", "--budget", "2", "--record", "run.h5"]

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for arguments in (placed, ["record", "run.h5", "--out", "p.json"], ["record", "run.h5", "--out", "p.py"]):
        subprocess.run([emplace, *arguments], check=True, stdout=subprocess.DEVNULL)
    with open("p.json") as file:
        devices = json.load(file)["devices"]
    spec = importlib.util.spec_from_file_location("placement", "p.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

ops = 0
for device, names in devices.items():
    kind, number = device.split(":")
    for name in names:
        ops += 1
        got = module.device_of(Operation(name))
        check(got == f"/device:{kind.upper()}:{number}", f"{name} is on {got}, not {device}")
check(ops >= 100, f"{ops} ops only")
check(module.device_of(Operation("no/such/op")) == "", "an unknown op has a device")
