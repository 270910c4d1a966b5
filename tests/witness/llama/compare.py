# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads small GGUF files with llama.cpp as Emplace's scripts say, and compares where everything is and how large it is.

    compare.py EMPLACE [--lines N] [--seed S] [--jobs J] [--keep FOLDER]

Each line is a script that `emplace place --out x.sh` wrote: llama.cpp's parser and loader take its options, and every
tensor must be where the placement has it. Then the bytes of weights and of the cache are compared on each device.
Buffers of activations are printed beside what the simulation says. The last line is "N of M agree".
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import library
import models

CONTEXT = 1024
SPLITS = {"one GPU": ["gpu", "40"], "balanced": ["memory-split", "1"], "CPU and GPUs": ["random", "1"]}


class Emplace:
    """The program, a model, and the placement that it has written twice: for llama.cpp, and as a file."""

    def __init__(self, program, folder, model):
        self.program, self.folder, self.model = program, folder, model
        self.path = folder / f"{model.name}.gguf"
        if not self.path.exists():
            model.write(self.path)
        self.spec = f"hf:path={self.path},phase=decode,batch=1,seq={CONTEXT}"
        self.run("graph", self.spec, "--out", folder / "graph.json")
        self.ops = json.loads((folder / "graph.json").read_text())["ops"]

    def run(self, *arguments):
        ran = subprocess.run([self.program, *arguments, "--force"], capture_output=True, text=True, timeout=300, check=False)
        if ran.returncode != 0:
            raise RuntimeError(f"{self.model.name}: {ran.stderr.strip().splitlines()[-1]}")

    def place(self, method, budget, seed):
        """Returns the options of the script, and the device of each op."""
        script, record, placement = (self.folder / name for name in ("x.sh", "x.h5", "x.json"))
        self.run("place", self.spec, "--machine", "rtx4090x2+rtx3060", "--method", method, "--budget", budget, "--seed", str(seed),
                 "--no-bound", "--out", script, "--record", record)
        self.run("record", record, "--out", placement)
        said = subprocess.run(["sh", script, "printf", r"%s\n"], capture_output=True, text=True, check=True)
        devices = json.loads(placement.read_text())["devices"]
        return said.stdout.splitlines(), {op: device for device, ops in devices.items() for op in ops}

    def bytes_of(self, where):
        """Bytes of weights and caches on each device."""
        weights, caches = {}, {}
        for op in self.ops:
            kind = caches if op["type"] == "KeyValueCache" else weights
            device = where[self.step_name(op["name"], where)]
            kind[device] = kind.get(device, 0) + op["persistent_bytes"]
        return weights, caches

    @staticmethod
    def step_name(name, where):
        return name if name in where else name.rsplit(".", 1)[0]


def misplaced(loaded, where):
    """The tensors that are elsewhere than their ops. Vectors of an attention or a router have no op of their own name."""
    for tensor, (device, _) in loaded.tensors.items():
        op = tensor.rsplit(".", 1)[0]
        if op not in where and tensor in where:
            op = tensor
        for vector, owner in (("attn_sinks", "attn_norm"), ("exp_probs_b", "ffn_gate_inp")):
            op = op.replace(vector, owner) if op not in where else op
        if where[op] != device:
            yield f"{tensor} on {device}, not on {where[op]}"


def differ(loaded, emplace, where, table):
    """Compares bytes per device; adds lines to the table. A tied table has a second copy on the CPU there."""
    weights, caches = emplace.bytes_of(where)
    wrong = []
    for device in sorted(loaded.buffers):
        _, cache, compute = loaded.buffers[device]
        ours = weights.get(device, 0), caches.get(device, 0)
        theirs = loaded.weights.get(device, 0), cache
        if ours[0] != theirs[0]:
            wrong.append(f"{device} has {theirs[0]} bytes of weights, Emplace says {ours[0]}")
        if abs(ours[1] - theirs[1]) > 0.02 * theirs[1]:
            wrong.append(f"{device} has {theirs[1]} bytes of cache, Emplace says {ours[1]}")
        table.append((device, *theirs, compute, *ours))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="a folder for the models")
    options = parser.parse_args()
    try:
        programs = library.build(pathlib.Path(sys.prefix), options.jobs)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: llama.cpp cannot be built: {error}", file=sys.stderr)
        return 77
    lib = library.Library(programs)
    agreed = count = 0
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(options.keep or temporary)
            folder.mkdir(parents=True, exist_ok=True)
            print(f"{'model':22}{'split':14}{'device':8}{'weights':>10}{'cache':>10}{'compute':>10}   Emplace: {'weights':>10}{'cache':>10}")
            for model in models.MODELS:
                emplace = Emplace(options.emplace, folder, model)
                for split, (method, budget) in SPLITS.items():
                    flags, where = emplace.place(method, budget, options.seed)
                    loaded, complaint = lib.load(emplace.path, CONTEXT, flags)
                    table = []
                    wrong = [complaint] if loaded is None else differ(loaded, emplace, where, table)
                    for row in table:
                        print(f"{model.name:22}{split:14}{row[0]:8}{row[1]:10}{row[2]:10}{row[3]:10}            {row[4]:10}{row[5]:10}")
                    for line in wrong:
                        print(f"  {line}")
                    count += 1
                    agreed += not wrong
            for i in range(options.lines):
                model = models.MODELS[i % len(models.MODELS)]
                emplace = Emplace(options.emplace, folder, model)
                flags, where = emplace.place("random", "1", options.seed + i)
                loaded, complaint = lib.load(emplace.path, CONTEXT, flags)
                wrong = [complaint] if loaded is None else list(misplaced(loaded, where))
                if wrong:
                    print(f"{model.name}, seed {options.seed + i}: {len(wrong)} of them, {wrong[0]}: {' '.join(flags)}")
                count += 1
                agreed += not wrong
    finally:
        lib.close()
    print(f"{agreed} of {count} agree")
    return 0 if agreed == count else 1


if __name__ == "__main__":
    sys.exit(main())
