# SPDX-License-Identifier: GPL-3.0-or-later
"""Random graphs on random machines of one or two hosts, each with a placement, for witnesses that simulate a step.

The graphs are written in dnn-partitioning's JSON, which has a time for each op and device and the bytes of each edge;
`emplace graph --machine --out` returns what Emplace makes of them, and `emplace simulate` the step time.
"""

import dataclasses
import json
import os
import pathlib
import random
import statistics
import subprocess


@dataclasses.dataclass
class Link:
    name: str
    bytes_per_s: float
    latency_s: float
    is_network: bool


@dataclasses.dataclass
class Machine:
    """One host, or two below one network, each with a CPU and GPUs; every line has a link for each direction."""

    devices: list  # names: cpu:0, gpu:0, ...
    host_of: list  # of each device
    links: list
    lines: dict  # (host or device name) -> (number of its link upwards, of its link downwards)

    def route(self, start, end):
        """The links that a copy crosses: up from its source as far as needed, and down to its target."""
        same = self.host_of[start] == self.host_of[end]
        up, down = [], []
        for device, way, direction in ((start, up, 0), (end, down, 1)):
            if self.devices[device].startswith("gpu"):
                way.append(self.lines[self.devices[device]][direction])
            if not same:
                way.append(self.lines[f"host:{self.host_of[device]}"][direction])
        return up + down[::-1]

    def latency_s(self, start, end):
        """docs/simulator.md: the highest latency within hosts and the sum of those of the network."""
        way = [self.links[number] for number in self.route(start, end)]
        within = [link.latency_s for link in way if not link.is_network]
        return max(within, default=0.0) + sum(link.latency_s for link in way if link.is_network)


@dataclasses.dataclass
class Case:
    machine: Machine
    seconds: list  # of each op on its device
    bytes_of: list  # of what each op makes
    edges: list  # (producer, reader), in the order of readers
    device_of: list
    step_s: float  # Emplace's

    def has_copies(self):
        return any(self.device_of[a] != self.device_of[b] for a, b in self.edges)

    def text(self):
        """The case for a driver: devices, links, routes, ops, edges."""
        m, lines = self.machine, []
        count = len(m.devices)
        lines.append(f"{count} {len(m.links)} {len(self.seconds)} {len(self.edges)}")
        lines += [f"{name} {host}" for name, host in zip(m.devices, m.host_of)]
        lines += [f"{link.bytes_per_s:.17g} {link.latency_s:.17g}" for link in m.links]
        for a in range(count):
            for b in range(count):
                way = m.route(a, b) if a != b else []
                lines.append(" ".join(map(str, [f"{m.latency_s(a, b) if a != b else 0:.17g}", len(way), *way])))
        lines += [f"{d} {s:.17g} {b}" for d, s, b in zip(self.device_of, self.seconds, self.bytes_of)]
        lines += [f"{a} {b}" for a, b in self.edges]
        return "\n".join(lines) + "\n"


@dataclasses.dataclass
class Result:
    seed: int
    has_copies: bool
    step_s: float  # Emplace's
    times: dict  # by rule
    is_equal: bool

    def line(self, rule):
        times = f"Emplace {self.step_s:.6f} s, {rule} {self.times[rule]:.6f} s"
        return f"case {self.seed}, {'with' if self.has_copies else 'without'} copies: {times}"


def draw_machine(rng, hosts=2):
    """Returns a machine and its file: two hosts with one or two GPUs each, or one host with two or three."""
    gpus = [rng.randint(1, 2), rng.randint(1, 2)] if hosts == 2 else [rng.randint(2, 3)]
    devices, host_of, links, lines, yaml = [], [], [], {}, ["nodes:", '  - {name: "network"}']

    def add(name, low, high, latency, is_network):
        rate, delay = rng.randint(low, high), rng.randint(*latency)
        lines[name] = (len(links), len(links) + 1)
        links.extend(Link(name + way, rate * 1e8, delay * 1e-6, is_network) for way in ("-up", "-down"))
        return f'bandwidth: "{rate / 10} GB/s", latency: "{delay} us"'

    for host in range(hosts):
        yaml.append(f'  - {{name: "host:{host}", parent: "network", {add(f"host:{host}", 10, 50, (5, 50), True)}}}')
    yaml.append("devices:")
    for host in range(hosts):
        yaml.append(f'  - {{model: "haswell-18", at: "host:{host}"}}')
        devices.append(f"cpu:{host}")
        host_of.append(host)
        for _ in range(gpus[host]):
            name = f"gpu:{sum(d.startswith('gpu') for d in devices)}"
            devices.append(name)
            host_of.append(host)
            yaml.append(f'  - {{model: "k40", at: "host:{host}", {add(name, 20, 120, (1, 20), False)}}}')
    return Machine(devices, host_of, links, lines), 'description: "drawn"\n' + "\n".join(yaml) + "\n"


def draw_graph(rng, parts, most):
    """Returns a graph in dnn-partitioning's JSON, of so many parts that exchange nothing, and the part of each op."""
    count = rng.randint(max(parts, 8), most)
    part_of = [rng.randrange(parts) for _ in range(count)]
    bytes_of = [rng.randint(1000, 20_000_000) for _ in range(count)]
    nodes = [{"id": i, "supportedOnFpga": 1, "fpgaLatency": rng.uniform(0.1, 5), "cpuLatency": rng.uniform(0.5, 20),
              "isBackwardNode": 0, "size": 0} for i in range(count)]
    edges = []
    for reader in range(count):
        earlier = [i for i in range(max(0, reader - 12), reader) if part_of[i] == part_of[reader]]
        for producer in sorted(rng.sample(earlier, min(len(earlier), rng.randint(0, 3)))):
            edges.append({"sourceId": producer, "destId": reader, "cost": 1.0, "size": bytes_of[producer]})
    return {"maxFPGAs": 2, "maxCPUs": 2, "maxSizePerFPGA": 1e12, "nodes": nodes, "edges": edges}, part_of


def run_emplace(emplace, *arguments):
    ran = subprocess.run([emplace, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)
    if ran.returncode != 0:
        raise RuntimeError(f"emplace {' '.join(map(str, arguments))}: {ran.stderr.strip()}")
    return ran.stdout


def read_case(emplace, folder, machine, device_of_name):
    """The case as Emplace reads it: what `graph --out` writes of it, and its step time."""
    common = ["--machine", folder / "machine.yaml", "--runtime", "ideal"]
    run_emplace(emplace, "graph", folder / "graph.json", *common, "--out", folder / "out.json", "--force")
    graph = json.loads((folder / "out.json").read_text())
    devices = {name: [op for op, d in device_of_name.items() if d == name] for name in machine.devices}
    (folder / "placement.json").write_text(json.dumps({"format": "emplace-placement-1", "devices": devices}))
    result = json.loads(run_emplace(emplace, "simulate", folder / "graph.json", *common, "--placement", folder / "placement.json",
                                    "--no-bound", "--format", "json"))
    device_of = [machine.devices.index(device_of_name[op["name"]]) for op in graph["ops"]]
    seconds = [op["seconds"]["k40" if machine.devices[d].startswith("gpu") else "haswell-18"] for op, d in zip(graph["ops"], device_of)]
    edges = sorted((e["from"], e["to"]) for e in graph["edges"])
    return Case(machine, seconds, [op["outputs"][0]["bytes"] for op in graph["ops"]], edges, device_of, result["step_time_s"])


def draw_case(emplace, folder, seed, with_copies, hosts=2, most=60):
    """Without copies each part of the graph is on one device; with copies ops are on random devices, or blocks of them."""
    rng = random.Random(seed)
    folder = pathlib.Path(folder)
    machine, yaml = draw_machine(rng, hosts)
    graph, part_of = draw_graph(rng, 1 if with_copies else rng.randint(1, 6), most)
    (folder / "machine.yaml").write_text(yaml)
    (folder / "graph.json").write_text(json.dumps(graph))
    block = rng.choice((1, 1, 4, 10))
    drawn = [rng.choice(machine.devices) for _ in range(most)]
    device = {f"node{i}": drawn[i // block if with_copies else part_of[i]] for i in range(len(part_of))}
    return read_case(emplace, folder, machine, device)


def compile_driver(source, package, folder, prefix=None):
    """Compiles a driver of another simulator; None where a compiler or the package is missing."""
    settings = dict(os.environ)
    if prefix is not None:
        settings["PKG_CONFIG_PATH"] = f"{prefix}/lib/pkgconfig"
    compiler = ["g++", "-std=c++17"] if source.suffix == ".cpp" else ["gcc", "-std=gnu17"]
    program = pathlib.Path(folder) / source.stem
    try:
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", package], capture_output=True, text=True, check=True, env=settings)
        runs_with = [] if prefix is None else [f"-Wl,-rpath,{prefix}/lib"]
        subprocess.run([*compiler, "-O1", "-o", str(program), str(source), *flags.stdout.split(), *runs_with], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return program


def run_simgrid(program, rule, path):
    ran = subprocess.run([program, rule, path], capture_output=True, text=True, timeout=60, check=True)
    return float(ran.stdout)


def print_ratios(results, rules):
    """Prints a line for each rule, without copies and with. A result has has_copies, step_s and times by rule."""
    print("cases, and the step time over Emplace's: median, 90th percentile of the distance from 1, greatest distance")
    for has_copies in (False, True):
        chosen = [r for r in results if r.has_copies == has_copies]
        for rule, title in rules.items() if chosen else ():
            ratio = [r.times[rule] / r.step_s for r in chosen]
            far = sorted(100 * abs(x - 1) for x in ratio)
            print(f"{len(chosen):5} {'with   ' if has_copies else 'without'} copies, {title:42} {statistics.median(ratio):.4f} "
                  f"{far[int(0.9 * (len(far) - 1))]:8.4f} % {far[-1]:8.4f} %")
