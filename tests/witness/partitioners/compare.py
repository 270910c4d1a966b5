# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the cuts of METIS and Scotch in Emplace with those of KaHIP, Zoltan and pymetis, on the models of Table 1.

    compare.py EMPLACE [--models A,B,...] [--machine k40x4]

All cut the same graph, one that `emplace graph --out` writes: a vertex for each colocation class that may be on a GPU, with
the time of its kernels, as in `ideal`, where issuing takes none; an edge for the bytes that two classes exchange. Step
times are those of `tf-r1.3`, as in Table 1. Scotch and METIS are those of the methods
`mincut` and `metis`. Each agrees with its library used directly, pymetis with recursive bisection and scotch_gpart, if
this does not have both less traffic, by more than 1.5 times, and no more load on the busiest GPU. The rows of the others
say how much is left to gain. Zoltan and scotch_gpart are left out where they are not installed (libtrilinos-zoltan-dev, scotch).
"""

import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import kahip
import pymetis

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["inception_v3", "resnet", "rnnlm", "nmt:layers=2", "nmt:layers=4", "nmt:layers=8"]
LOAD_LIMIT, TRAFFIC_LIMIT = 1 << 28, 1 << 24  # of all vertices and edges, as Emplace has it
WORSE = 1.5


class Graph:
    """Colocation classes with the time on a GPU in ns, and the bytes between them; as search/partition makes it."""

    def __init__(self, path):
        data = json.loads(path.read_text())
        self.ops = [op for op in data["ops"] if not op["folded"]]
        class_of = {op["id"]: op["colocation_class"] for op in self.ops}
        on_gpu = collections.defaultdict(lambda: True)
        time_ns = collections.Counter()
        for op in self.ops:
            number = op["colocation_class"]
            on_gpu[number] &= any(d.startswith("gpu") for d in op["devices"])
            time_ns[number] += round(1e9 * (op["seconds"].get("k40") or 0))
        self.classes = sorted(c for c in on_gpu if on_gpu[c])
        self.vertex_of = {c: v for v, c in enumerate(self.classes)}
        self.load = [time_ns[c] for c in self.classes]
        self.edges = collections.Counter()
        seen = set()
        for e in data["edges"]:
            a, b = class_of.get(e["from"]), class_of.get(e["to"])
            key = (e["from"], e.get("output"), b)
            if a is None or b is None or a == b or key in seen or a not in self.vertex_of or b not in self.vertex_of:
                continue
            seen.add(key)
            ends = tuple(sorted((self.vertex_of[a], self.vertex_of[b])))
            self.edges[ends] += e["bytes"]
        self.rows = [[] for _ in self.classes]
        unit = sum(self.edges.values()) // TRAFFIC_LIMIT + 1
        for (a, b), size in sorted(self.edges.items()):
            weight = 1 + size // unit
            self.rows[a].append((b, weight))
            self.rows[b].append((a, weight))
        unit = sum(self.load) // LOAD_LIMIT + 1
        self.weight = [1 + ns // unit for ns in self.load]
        self.offsets = [0]
        for row in self.rows:
            self.offsets.append(self.offsets[-1] + len(row))
        self.neighbors = [n for row in self.rows for n, _ in row]
        self.traffic = [w for row in self.rows for _, w in row]

    def cut_bytes(self, part):
        return sum(size for (a, b), size in self.edges.items() if part[a] != part[b])

    def balance(self, part, parts):
        """Load of the busiest part over the mean."""
        load = [0] * parts
        for v, p in enumerate(part):
            load[p] += self.load[v]
        return max(load) * parts / sum(self.load)


def cut_by_metis(graph, parts, recursive):
    adjacency = pymetis.CSRAdjacency(graph.offsets, graph.neighbors)
    _, part = pymetis.part_graph(parts, adjacency=adjacency, vweights=graph.weight, eweights=graph.traffic, recursive=recursive,
                                 options=pymetis.Options(seed=1))
    return list(part)


def cut_by_kahip(graph, parts, mode):
    _, part = kahip.kaffpa(graph.weight, graph.offsets, graph.traffic, graph.neighbors, parts, 0.03, True, 1, mode)
    return list(part)


def cut_by_zoltan(graph, parts, program):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(f"{len(graph.rows)}\n")
        for weight, row in zip(graph.weight, graph.rows):
            file.write(" ".join(map(str, [weight, len(row), *(x for pair in row for x in pair)])) + "\n")
        file.flush()
        ran = subprocess.run([program, str(parts), "1.03", "1", file.name], capture_output=True, text=True, check=True)
    numbers = ran.stdout.splitlines()[-1].split()
    return [int(p) for p in numbers[1:]], float(numbers[0])


def build_zoltan(folder):
    program = pathlib.Path(folder) / "zoltan_cut"
    try:
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "ompi-c"], capture_output=True, text=True, check=True).stdout.split()
        subprocess.run(["gcc", "-O1", "-o", str(program), str(HERE / "zoltan_cut.c"), *flags, "-ltrilinos_zoltan", "-lm"], check=True,
                       capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return program


def cut_by_scotch(graph, parts):
    """Scotch's own program; its graph has weights of edges before the neighbours."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = ["0", f"{len(graph.rows)} {len(graph.neighbors)}", "0 011"]
        lines += [" ".join(map(str, [weight, len(row), *(x for n, w in row for x in (w, n))])) for weight, row in zip(graph.weight, graph.rows)]
        (folder / "graph.grf").write_text("\n".join(lines) + "\n")
        subprocess.run(["scotch_gpart", "-Cd", "-b0.03", str(parts), folder / "graph.grf", folder / "parts.map"], check=True, capture_output=True)
        pairs = [line.split() for line in (folder / "parts.map").read_text().splitlines()[1:]]
    part = [0] * len(graph.rows)
    for vertex, number in pairs:
        part[int(vertex)] = int(number)
    return part


class Model:
    def __init__(self, emplace, spec, machine, folder):
        self.emplace, self.spec, self.folder = emplace, spec, folder
        self.common = [spec, "--machine", machine, "--runtime", "ideal"]  # issuing takes no time
        self.run("graph", *self.common, "--out", folder / "graph.json", "--force")
        self.graph = Graph(folder / "graph.json")
        self.parts = int(machine.rsplit("x", maxsplit=1)[1])

    def run(self, *arguments):
        return subprocess.run([self.emplace, *map(str, arguments)], capture_output=True, text=True, check=True).stdout

    def cut_of(self, method, options=""):
        """The parts of a method of Emplace."""
        path = self.folder / "placement.json"
        start = time.monotonic()
        self.run("place", *self.common, "--method", method, "--options", options, "--no-bound", "--out", path, "--force")
        taken = time.monotonic() - start
        device_of = {op: name for name, ops in json.loads(path.read_text())["devices"].items() for op in ops}
        part = [0] * len(self.graph.classes)
        for op in self.graph.ops:
            vertex = self.graph.vertex_of.get(op["colocation_class"])
            if vertex is not None:
                part[vertex] = int(device_of[op["name"]].partition(":")[2])
        return part, taken

    def step_time(self, part):
        devices = collections.defaultdict(list)
        for op in self.graph.ops:
            vertex = self.graph.vertex_of.get(op["colocation_class"])
            devices["cpu:0" if vertex is None else f"gpu:{part[vertex]}"].append(op["name"])
        path = self.folder / "other.json"
        path.write_text(json.dumps({"format": "emplace-placement-1", "devices": devices, "default": "cpu:0"}))
        result = json.loads(self.run("simulate", *self.common[:-1], "tf-r1.3", "--placement", path, "--no-bound", "--format", "json"))
        return result["step_time_s"] if result["feasible"] else None


def measure(model, zoltan):
    """(partitioner, traffic, balance, seconds, step time) of each."""
    cuts = {"Emplace metis": lambda: model.cut_of("metis"), "Emplace mincut (Scotch)": lambda: model.cut_of("mincut"),
            "metis, cuts=40": lambda: model.cut_of("metis", "cuts=40"),
            "metis, kway, cuts=40": lambda: model.cut_of("metis", "strategy=kway,cuts=40"),
            "pymetis, recursive": lambda: cut_by_metis(model.graph, model.parts, True),
            "pymetis, k-way": lambda: cut_by_metis(model.graph, model.parts, False),
            "KaHIP eco": lambda: cut_by_kahip(model.graph, model.parts, 1), "KaHIP strong": lambda: cut_by_kahip(model.graph, model.parts, 2)}
    if shutil.which("scotch_gpart") is not None:
        cuts["scotch_gpart"] = lambda: cut_by_scotch(model.graph, model.parts)
    if zoltan is not None:
        cuts["Zoltan PHG"] = lambda: cut_by_zoltan(model.graph, model.parts, zoltan)
    rows = []
    for name, cut in cuts.items():
        start = time.monotonic()
        part = cut()
        taken = time.monotonic() - start
        if isinstance(part, tuple):
            part, taken = part
        rows.append((name, model.graph.cut_bytes(part), model.graph.balance(part, model.parts), taken, model.step_time(part)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--machine", default="k40x4")
    options = parser.parse_args()
    compared = agree = 0
    print(f"{'model':14} {'partitioner':24} {'cut, MB':>10} {'load over mean':>15} {'seconds':>8} {'step, s':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        zoltan = build_zoltan(folder)
        for spec in options.models.split(","):
            rows = measure(Model(options.emplace, spec, options.machine, folder), zoltan)
            for who, traffic, balance, taken, step_s in rows:
                print(f"{spec:14} {who:24} {traffic / 1e6:10.1f} {balance:15.3f} {taken:8.2f} {f'{step_s:8.3f}' if step_s else '     OOM'}")
            for (who, traffic, balance, *_), library in zip(rows[:2], ("pymetis, recursive", "scotch_gpart")):
                better = [r[0] for r in rows[2:] if r[0] == library and WORSE * r[1] < traffic and r[2] <= balance]
                compared += 1
                agree += not better
                if better:
                    print(f"{spec}: {who} is behind {', '.join(better)}")
    print(f"{agree} of {compared} agree")
    return 0 if agree == compared else 1


if __name__ == "__main__":
    sys.exit(main())
