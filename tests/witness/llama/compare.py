# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads small GGUF files with llama.cpp as Emplace's scripts say, and compares where everything is and how large it is.

    compare.py EMPLACE [--lines N] [--seed S] [--jobs J] [--keep FOLDER]

Each line is a script that `emplace place --out x.sh` wrote: llama.cpp's parser and loader take its options, and every
tensor must be where the placement has it. With layers split in three ways, the bytes of weights must be equal on each
device, and those of the cache and of the buffer of activations within 2 %. The last line is "N of M agree".
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import library
import models

CONTEXT = 1024
MACHINE = "rtx4090x2+rtx3060"
SPLITS = {"one GPU": (0, 99, 99), "three GPUs": (0, 2, 4), "CPU, 2 GPUs": (2, 4, 99)}  # the layers that end CPU, gpu:0, gpu:1


class Emplace:
    """The program, a model, and the placement that it has written twice: for llama.cpp, and as a file."""

    def __init__(self, program, folder, model, phase="decode"):
        self.program, self.folder, self.model = program, folder, model
        self.path = folder / f"{model.name}.gguf"
        if not self.path.exists():
            model.write(self.path)
        self.spec = f"hf:path={self.path},phase={phase},batch=1,seq={CONTEXT}"
        if phase == "prefill":
            self.spec += f",ubatch={model.micro_batch}"
        self.run("graph", self.spec, "--out", folder / "graph.json")
        self.ops = json.loads((folder / "graph.json").read_text())["ops"]

    def run(self, *arguments):
        ran = subprocess.run([self.program, *arguments, "--force"], capture_output=True, text=True, timeout=300, check=False)
        if ran.returncode != 0:
            raise RuntimeError(f"{self.model.name}: {ran.stderr.strip().splitlines()[-1]}")
        return ran.stdout

    def place(self, method, seed, *more):
        """Returns the options of the script, and the device of each op."""
        script, record, placement = (self.folder / name for name in ("x.sh", "x.h5", "x.json"))
        self.run("place", self.spec, "--machine", MACHINE, "--method", method, "--budget", "1", "--seed", str(seed), "--no-bound", "--out",
                 script, "--record", record, *more)
        self.run("record", record, "--out", placement)
        said = subprocess.run(["sh", script, "printf", r"%s\n"], capture_output=True, text=True, check=True)
        devices = json.loads(placement.read_text())["devices"]
        return said.stdout.splitlines(), {op: device for device, ops in devices.items() for op in ops}

    def split(self, ends):
        """The same, with layers split so; a search that begins at such a placement and ends at once writes it."""
        self.place("gpu", 1)
        placement = json.loads((self.folder / "x.json").read_text())
        devices = {"cpu:0": [], "gpu:0": [], "gpu:1": [], "gpu:2": []}
        last = self.device_of_layer(self.model.layers - 1, ends)
        for op in (op for ops in placement["devices"].values() for op in ops):
            layer = re.match(r"blk\.(\d+)\b", op)
            is_input = op.startswith(("position", "input_ids", "cache_pos")) or (op.startswith("token_embd") and not self.model.is_tied)
            devices["cpu:0" if is_input else self.device_of_layer(int(layer[1]), ends) if layer else last].append(op)
        (self.folder / "start.json").write_text(json.dumps(placement | {"devices": devices}))
        return self.place("local", 1, "--start", self.folder / "start.json")

    @staticmethod
    def device_of_layer(layer, ends):
        return ("cpu:0", "gpu:0", "gpu:1", "gpu:2")[sum(layer >= end for end in ends)]

    def peaks(self):
        """Bytes that each device holds at most while the last placement reads a prompt."""
        said = self.run("simulate", self.spec, "--machine", MACHINE, "--placement", self.folder / "x.json", "--format", "json")
        return json.loads(said)["peak_bytes"]

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
    peaks = emplace.peaks()
    wrong = []
    for device in sorted(loaded.buffers):
        _, cache, compute = loaded.buffers[device]
        theirs = loaded.weights.get(device, 0), cache, compute
        ours = [weights.get(device, 0), caches.get(device, 0)]
        ours.append(peaks[device] - sum(ours))
        for name, we, they, tolerance in zip(("weights", "cache", "activations"), ours, theirs, (0, 0.02, 0.02)):
            if abs(we - they) > tolerance * they:
                wrong.append(f"{device} has {they} bytes of {name}, Emplace says {we}")
        table.append((device, *theirs, *ours))
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
            print(f"{'':34}{'':8}{'llama.cpp':>30}{'Emplace':>33}")
            names = ("weights", "cache", "compute") * 2
            print(f"{'model':22}{'split':12}{'device':8}" + "".join(f"{name:>10}" for name in names[:3]) + "   " +
                  "".join(f"{name:>10}" for name in names[3:]))
            close = buffers = 0
            for model in models.MODELS:
                emplace = Emplace(options.emplace, folder, model, "prefill")
                for split, ends in SPLITS.items():
                    flags, where = emplace.split(ends)
                    loaded, complaint = lib.load(emplace.path, CONTEXT, [*flags, "--ubatch-size", str(model.micro_batch)])
                    table = []
                    wrong = [complaint] if loaded is None else differ(loaded, emplace, where, table)
                    for row in table:
                        print(f"{model.name:22}{split:12}{row[0]:8}" + "".join(f"{size:10}" for size in row[1:4]) + "   " +
                              "".join(f"{size:10}" for size in row[4:]))
                        close += abs(row[6] - row[3]) <= 0.02 * row[3]
                        buffers += 1
                    for line in wrong:
                        print(f"  {line}")
                    count += 1
                    agreed += not wrong
            print(f"buffers of activations are within 2 % in {close} of {buffers}")
            for i in range(options.lines):
                model = models.MODELS[i % len(models.MODELS)]
                emplace = Emplace(options.emplace, folder, model)
                flags, where = emplace.place("random", options.seed + i)
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
