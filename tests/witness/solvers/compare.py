# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares lower bounds, best placements and contiguous splits with exact optima by CP-SAT and HiGHS.

    compare.py EMPLACE [--instances N] [--seed S]

Step time under `ideal`, on machines of one CPU and two GPUs, memory no limit: CP-SAT decides devices and when each op and
copy takes its device, stream and links. It may leave a device idle, which Emplace's first come first served does not,
so its optimum is at most the best step time: bound <= optimum <= best found, by `portfolio` or by `anneal` with devices and order.
Instances of at most 5 ops are solved by HiGHS as well, as a mixed-integer program.
Max-load: the split of `dp-contiguous` must be as good as the best contiguous split, by CP-SAT and by HiGHS.
"""

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import random
import statistics
import sys
import tempfile

import highspy
from ortools.sat.python import cp_model

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import placed  # noqa: E402


class Instance:
    """An instance and what a solver needs of it: ns by op and device, copies by op and pair of devices."""

    def __init__(self, seed, folder):
        rng = random.Random(seed)
        self.machine, yaml = placed.draw_machine(rng, 1)
        while len(self.machine.devices) != 3:
            self.machine, yaml = placed.draw_machine(rng, 1)
        self.count = rng.randint(4, 9)
        nodes, self.edges = [], []
        size = [rng.randint(1_000_000, 30_000_000) for _ in range(self.count)]
        for i in range(self.count):
            gpu_ms = rng.uniform(0.5, 5)
            nodes.append({"id": i, "supportedOnFpga": 1, "fpgaLatency": gpu_ms, "cpuLatency": gpu_ms * rng.uniform(1, 5),
                          "isBackwardNode": 0, "size": 0})
            for producer in sorted(rng.sample(range(i), min(i, rng.randint(0, 2)))):
                self.edges.append((producer, i))
        self.cost = [rng.uniform(0.1, 2) for _ in range(self.count)]
        edges = [{"sourceId": a, "destId": b, "cost": self.cost[a], "size": size[a]} for a, b in self.edges]
        self.folder = folder
        (folder / "machine.yaml").write_text(yaml)
        (folder / "graph.json").write_text(json.dumps({"maxFPGAs": 2, "maxCPUs": 1, "maxSizePerFPGA": 1e12, "nodes": nodes, "edges": edges}))
        self.ns = [[round(1e6 * n["cpuLatency" if d == 0 else "fpgaLatency"]) for d in range(3)] for n in nodes]
        self.copy_ns = [round(1e6 * c) for c in self.cost]
        self.readers = [[b for a, b in self.edges if a == i] for i in range(self.count)]
        self.copies = []  # (op, from, to, ns, what it keeps busy)
        for op, a, b in itertools.product(range(self.count), range(3), range(3)):
            if a == b or not self.readers[op]:
                continue
            way = self.machine.route(a, b)
            rate = min(self.machine.links[i].bytes_per_s for i in way)
            ns = round(1e9 * self.machine.latency_s(a, b)) + round(1e9 * size[op] / rate)
            stream = ("from host", b) if a == 0 else ("to host", a) if b == 0 else ("to peers", a)
            self.copies.append((op, a, b, ns, [stream, *way]))

    def horizon(self):
        return sum(max(row) for row in self.ns) + sum(max(c[3] for c in self.copies if c[0] == op) for op in range(self.count) if self.readers[op])


def solve_step_by_cp_sat(instance):
    model, horizon = cp_model.CpModel(), instance.horizon()
    on = [[model.NewBoolVar("") for _ in range(3)] for _ in range(instance.count)]
    start = [model.NewIntVar(0, horizon, "") for _ in range(instance.count)]
    end = [model.NewIntVar(0, horizon, "") for _ in range(instance.count)]
    busy = {}
    for op in range(instance.count):
        model.AddExactlyOne(on[op])
        for d in range(3):
            busy.setdefault(("device", d), []).append(model.NewOptionalIntervalVar(start[op], instance.ns[op][d], end[op], on[op][d], ""))
    for op, a, b, ns, keeps in instance.copies:
        is_made = model.NewBoolVar("")
        begin, done = model.NewIntVar(0, horizon, ""), model.NewIntVar(0, horizon, "")
        interval = model.NewOptionalIntervalVar(begin, ns, done, is_made, "")
        for what in keeps:
            busy.setdefault(what, []).append(interval)
        model.Add(begin >= end[op]).OnlyEnforceIf(is_made)
        model.AddImplication(is_made, on[op][a])
        for reader in instance.readers[op]:
            model.AddBoolOr([is_made, on[op][a].Not(), on[reader][b].Not()])
            model.Add(start[reader] >= done).OnlyEnforceIf([is_made, on[reader][b]])
    for a, b in instance.edges:
        model.Add(start[b] >= end[a])
    for intervals in busy.values():
        model.AddNoOverlap(intervals)
    makespan = model.NewIntVar(0, horizon, "")
    model.AddMaxEquality(makespan, end)
    model.Minimize(makespan)
    return solve(model)


def solve(model):
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.max_time_in_seconds = 60
    return round(solver.ObjectiveValue()) if solver.Solve(model) == cp_model.OPTIMAL else None


class Program:
    """A mixed-integer program of HiGHS; rows are (terms, least, greatest)."""

    def __init__(self):
        self.highs = highspy.Highs()
        self.highs.silent()
        self.highs.setOptionValue("time_limit", 60.0)
        self.highs.setOptionValue("mip_rel_gap", 0.0)
        self.highs.setOptionValue("mip_feasibility_tolerance", 1e-9)
        self.highs.setOptionValue("primal_feasibility_tolerance", 1e-9)

    def binary(self):
        return self.highs.addVariable(0, 1, type=highspy.HighsVarType.kInteger)

    def real(self, most):
        return self.highs.addVariable(0, most)

    def at_least(self, left, right):
        self.highs.addConstr(left - right >= 0)

    def minimum(self, what):
        self.highs.minimize(what)
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return self.highs.getInfo().objective_function_value


def solve_step_by_highs(instance):
    """The same in milliseconds: for two items that keep one resource busy, one is before the other."""
    p, most = Program(), instance.horizon() / 1e6
    on = [[p.binary() for _ in range(3)] for _ in range(instance.count)]
    start = [p.real(most) for _ in range(instance.count)]
    makespan = p.real(most)
    busy, taken = {}, []
    for op in range(instance.count):
        p.highs.addConstr(sum(on[op]) == 1)
        taken.append(sum(on[op][d] * (instance.ns[op][d] / 1e6) for d in range(3)))
        p.at_least(makespan, start[op] + taken[op])
        for d in range(3):
            busy.setdefault(("device", d), []).append((start[op], instance.ns[op][d] / 1e6, on[op][d]))
    for a, b in instance.edges:
        p.at_least(start[b], start[a] + taken[a])
    for op, a, b, ns, keeps in instance.copies:
        is_made, begin = p.binary(), p.real(most)
        for what in keeps:
            busy.setdefault(what, []).append((begin, ns / 1e6, is_made))
        p.at_least(begin, start[op] + taken[op] - most * (1 - is_made))
        for reader in instance.readers[op]:
            p.at_least(is_made, on[op][a] + on[reader][b] - 1)
            p.at_least(start[reader], begin + ns / 1e6 - 2 * most * (2 - on[op][a] - on[reader][b]))
    for items in busy.values():
        for (s, ns, x), (other_s, other_ns, y) in itertools.combinations(items, 2):
            first = p.binary()
            p.at_least(other_s, s + ns - 2 * most * (3 - first - x - y))
            p.at_least(s, other_s + other_ns - 2 * most * (2 + first - x - y))
    optimum = p.minimum(makespan)
    return None if optimum is None else optimum * 1e6


def solve_split_by_cp_sat(instance):
    """Devices in any order of the pipeline; what a GPU loads is its ops and the copies in and out, docs/simulator.md."""
    model, best = cp_model.CpModel(), None
    on = [[model.NewBoolVar("") for _ in range(3)] for _ in range(instance.count)]
    place = [model.NewIntVar(0, 2, "") for _ in range(3)]
    stage = [model.NewIntVar(0, 2, "") for _ in range(instance.count)]
    model.AddAllDifferent(place)
    for op in range(instance.count):
        model.AddExactlyOne(on[op])
        for d in range(3):
            model.Add(stage[op] == place[d]).OnlyEnforceIf(on[op][d])
    for a, b in instance.edges:
        model.Add(stage[a] <= stage[b])
    best = model.NewIntVar(0, instance.horizon() + 2 * sum(instance.copy_ns), "")
    for d in range(3):
        load = [on[op][d] * instance.ns[op][d] for op in range(instance.count)]
        for op in range(instance.count) if d > 0 else ():
            crosses = model.NewBoolVar("")
            for reader in instance.readers[op]:
                model.AddBoolOr([crosses, on[op][d].Not(), on[reader][d]])
                model.AddBoolOr([crosses, on[op][d], on[reader][d].Not()])
            load.append(crosses * instance.copy_ns[op])
        model.Add(best >= sum(load))
    model.Minimize(best)
    return solve(model)


def solve_split_by_highs(instance):
    """The least of the six orders of devices, each a program of its own."""
    found = []
    for order in itertools.permutations(range(3)):
        p = Program()
        on = [[p.binary() for _ in range(3)] for _ in range(instance.count)]
        best = p.real(1e9)
        for op in range(instance.count):
            p.highs.addConstr(sum(on[op]) == 1)
        for a, b in instance.edges:
            for k in range(2):  # what is in the first k + 1 stages has its producers there
                p.at_least(sum(on[a][d] for d in order[: k + 1]), sum(on[b][d] for d in order[: k + 1]))
        for d in range(3):
            load = sum(on[op][d] * (instance.ns[op][d] / 1e6) for op in range(instance.count))
            for op in range(instance.count) if d > 0 else ():
                crosses = p.real(1)
                for reader in instance.readers[op]:
                    p.at_least(crosses, on[op][d] - on[reader][d])
                    p.at_least(crosses, on[reader][d] - on[op][d])
                load = load + crosses * (instance.copy_ns[op] / 1e6)
            p.at_least(best, load)
        value = p.minimum(best)
        if value is None:
            return None
        found.append(value * 1e6)
    return min(found)


def ask_emplace(emplace, instance):
    """(bound, best found, greatest load of dp-contiguous), in ns."""
    graph, step = instance.folder / "graph.json", ["--machine", instance.folder / "machine.yaml", "--runtime", "ideal", "--format", "json"]
    bound = json.loads(placed.run_emplace(emplace, "bound", graph, *step, "--effort", 3))
    steps = [json.loads(placed.run_emplace(emplace, "place", graph, *step, "--budget", 4000, "--no-bound", *how))["step_time_s"]
             for how in ((), ("--method", "anneal", "--decide", "devices,order"))]
    split = json.loads(placed.run_emplace(emplace, "place", graph, "--machine", "instance", "--objective", "max-load", "--method",
                                          "dp-contiguous", "--no-bound", "--format", "json"))
    return [round(1e9 * x) for x in (bound["lower_bound_s"], min(steps), split["step_time_s"])]


def examine(job):
    emplace, seed = job
    with tempfile.TemporaryDirectory() as name:
        instance = Instance(seed, pathlib.Path(name))
        bound, best, split = ask_emplace(emplace, instance)
        optimum = solve_step_by_cp_sat(instance)
        by_highs = solve_step_by_highs(instance) if instance.count <= 5 else None
        return seed, instance.count, bound, optimum, by_highs, best, split, solve_split_by_cp_sat(instance), solve_split_by_highs(instance)


def find_fault(result):
    """The fault of a result, or ""."""
    _, count, bound, optimum, by_highs, best, split, best_split, split_by_highs = result
    near = 1000.0  # ns, of what HiGHS reckons in milliseconds with tolerances
    if optimum is None or best_split is None or split_by_highs is None or (count <= 5 and by_highs is None):
        return "a solver did not finish"
    if bound > optimum:
        return "the bound is above the optimum"
    if optimum > best:
        return "the optimum is above the best found"
    if by_highs is not None and abs(by_highs - optimum) > near:
        return f"HiGHS has {by_highs:.0f}"
    if split != best_split or abs(split_by_highs - best_split) > near:
        return f"contiguous split {split}, CP-SAT {best_split}, HiGHS {split_by_highs:.0f}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--instances", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    jobs = [(options.emplace, 1000 * options.seed + i) for i in range(options.instances)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(examine, jobs))
    solved = [r for r in results if r[3]]
    print("ops: instances, median of bound over optimum, of best found over optimum, share of best found that is the optimum")
    for count in sorted({r[1] for r in solved}):
        these = [r for r in solved if r[1] == count]
        print(f"{count:3}: {len(these):3}  {statistics.median(r[2] / r[3] for r in these):.4f}  "
              f"{statistics.median(r[5] / r[3] for r in these):.4f}  {sum(r[5] == r[3] for r in these) / len(these):.2f}")
    for r in results:
        if find_fault(r):
            print(f"instance {r[0]}, {r[1]} ops: bound {r[2]}, optimum {r[3]}, best found {r[5]} ns: {find_fault(r)}")
    agree = sum(not find_fault(r) for r in results)
    print(f"{sum(r[4] is not None for r in results)} also solved by HiGHS; greatest loads of {len(results)} by both")
    print(f"{agree} of {len(results)} agree")
    return 0 if agree == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
