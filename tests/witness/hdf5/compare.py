# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares what h5py and h5dump read in run records with what Emplace says of them.

    compare.py EMPLACE [--budget N]

Each record is of another method and graph. h5py's best step time, devices and names of ops are those of `emplace
record`; h5dump, of Debian's hdf5-tools, reads each record whole. The last line is "N of M agree".
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

RUNS = [("random", "rnnlm:layers=2,steps=4"), ("anneal", "rnnlm:layers=1,steps=3"), ("heft", "nmt:layers=2,steps=3"),
        ("cpu", "rnnlm:layers=1,steps=2"), ("random", "inception_v3")]


def run(*command):
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=120)
    if ran.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {ran.stderr}")
    return ran.stdout


def differ(emplace, path, folder):
    """Sentences on what h5py, h5dump and Emplace read differently."""
    placed = folder / "best.json"
    run(emplace, "record", path, "--out", placed, "--force")
    said = json.loads(run(emplace, "record", path, "--format", "json"))
    said = said[0] if isinstance(said, list) else said
    devices = {op: device for device, ops in json.loads(placed.read_text())["devices"].items() for op in ops}
    wrong = []
    with h5py.File(path) as record:
        names = bytes(record["op_name"]).split(b"\0")[:-1]
        device_names = [name.decode() if isinstance(name, bytes) else str(name) for name in record["device_name"][:]]
        here = {name.decode(): device_names[device] for name, device in zip(names, record["device_of_op"][:])}
        if record.attrs["op_count"] != len(here):
            wrong.append(f"{record.attrs['op_count']} ops, {len(here)} names")
        if not np.isclose(float(record.attrs["best_step_time_s"]), float(said["step_time_s"]), rtol=1e-12):
            wrong.append(f"best step {record.attrs['best_step_time_s']}, Emplace says {said['best_step_time_s']}")
        if len(record["curve"]) != record.attrs["point_count"]:
            wrong.append(f"{len(record['curve'])} points of {record.attrs['point_count']}")
        other = {name: device for name, device in devices.items() if here.get(name) != device}
        if other or len(devices) != len(here):
            wrong.append(f"{len(devices)} devices of {len(here)} ops, {len(other)} differ, e.g. {list(other.items())[:1]}")
        sets = set(record)
    dumped = run("h5dump", path)
    missing = [name for name in sets if f'DATASET "{name}"' not in dumped]
    if missing:
        wrong.append(f"h5dump does not show {missing}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--budget", type=int, default=60)
    options = parser.parse_args()
    if shutil.which("h5dump") is None:
        print("skipped: h5dump is missing (Debian's hdf5-tools)")
        return 77
    agree = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for i, (method, spec) in enumerate(RUNS):
            path = folder / f"{i}.h5"
            run(options.emplace, "place", spec, "-m", "k40x4", "--method", method, "--budget", options.budget, "--seed", i + 1, "--record", path)
            wrong = differ(options.emplace, path, folder)
            print(f"{method} on {spec}: {'; '.join(wrong) or 'equal'}")
            agree += not wrong
    print(f"{agree} of {len(RUNS)} agree")
    return 0 if agree == len(RUNS) else 1


if __name__ == "__main__":
    sys.exit(main())
