# SPDX-License-Identifier: GPL-3.0-or-later
"""test_strongest_facts.py HUNT_BOUNDS: is nothing false that scripts/bounds/check-bound accepts?

For random problems it is asked for the latest time that it accepts of every join, drain and segment there may be, one after
another, so that each follows from the strongest facts before. The bound that comes of them must not be above the least step
time that is known, which for most of these problems is the optimum."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

HUNT = sys.argv.pop(1)
CHECK = os.path.join(os.path.dirname(__file__), "..", "..", "..", "scripts", "bounds", "check-bound")
PROBLEMS, MOST_OPS, FIRST = 160, 14, 900000
READY, START, GPU = 0, 1, 1


def load_checker():
    loader = importlib.machinery.SourceFileLoader("check_bound", CHECK)
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_bound", loader))
    loader.exec_module(module)
    return module


CHECKER = load_checker()


def latest(rule, fact, low, high):
    """The latest time of the fact that is accepted, or 0 if none above low is."""
    def is_accepted(ns):
        try:
            rule({**fact, "ns": ns})
            return True
        except CHECKER.Refused:
            return False
    if not is_accepted(low + 1):
        return 0
    if is_accepted(high):
        return high
    low += 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_accepted(middle) else (low, middle)
    return low


class Strongest:
    """All facts of a problem, each as strong as it is accepted; drains count in full if there may be exceptions."""

    def __init__(self, problem, of, latest_ns):
        self.proof, self.latest_ns, self.facts, self.links = CHECKER.Proof(problem), latest_ns, 0, []
        if of == "on_gpus":
            self.proof.stay_on_gpus({"but": []})
        self.before, rank = {}, {}
        for i in self.proof.order:
            rank[i] = -len(rank)
            self.before[i] = set().union(*({e["from"]} | self.before[e["from"]] for e in self.proof.into[i]))
        self.near = {i: sorted(before, key=rank.get) for i, before in self.before.items()}

    def drains_to(self, v):
        into, waits = self.proof.into, lambda i: {e["from"] for e in self.proof.into[i] if e["output"] is None}
        seconds = waits(v).union(*(waits(i) for i in waits(v)))
        return [{"rule": "drain", "op": v, "readers": [x, w], "from": e["from"], "output": e["output"], "link": False}
                for x in {e["from"] for e in into[v]} for w in seconds for e in into[x] if e["output"] is not None]

    def facts_of(self, v, has_segments):
        start = START if self.proof.threads else READY
        yield from ((self.proof.drain, f, start) for f in self.drains_to(v))
        for goal, t in (("ready", READY), ("start", start)):
            yield self.proof.join, {"rule": "join", "op": v, "goal": goal, "near": self.near[v]}, t
        is_tried = has_segments and (self.proof.is_on_gpu(v) or len(self.near[v]) < 4)  # others are many
        for d in self.near[v] if is_tried else ():
            between = [u for u in self.near[v] if d in self.before[u]]
            if self.proof.is_on_gpu(d):
                for is_link in (True, False):
                    fact = {"rule": "segment", "op": v, "from": d, "link": is_link, "near": between}
                    yield self.proof.segment, fact, start

    def add(self, v, rule, fact, goal):
        is_link = fact["rule"] == "segment" and fact["link"]
        known = 0 if is_link else max(0, self.proof.head[v][GPU][goal])
        ns = latest(rule, fact, known, self.latest_ns)
        if ns > 0 and is_link:
            self.links.append({**fact, "ns": ns})
            self.proof.proven.add(id(self.links[-1]))
            self.proof.links_to.setdefault(v, []).append(self.links[-1])
            self.proof.links_from.setdefault(fact["from"], []).append(self.links[-1])
        elif ns > 0:
            self.proof.floor[v][goal] = ns
        self.facts += ns > 0
        self.proof.find_head(v)

    def sweep(self, has_exceptions, has_segments):
        proof, before = self.proof, [list(f) for f in self.proof.floor]
        proof.losses = {} if has_exceptions else None
        for v in proof.order:
            proof.find_head(v)
            for rule, fact, goal in self.facts_of(v, has_segments) if GPU in proof.kinds[v] else ():
                self.add(v, rule, fact, goal)
        if has_exceptions:
            loss, proof.losses = proof.gpus * sum(proof.losses.values()), None
            proof.floor = [[max(a, proof.head[i][GPU][t] - loss) if GPU in proof.kinds[i] else a for t, a in enumerate(f)]
                           for i, f in enumerate(before)]
        proof.find_paths()

    def bound(self):
        """By the longest path, or a queue."""
        value = self.proof.by_path({})
        step = max(1, int(value) // 6)
        for window in ([a, b] for a in range(0, int(value), step) for b in range(0, int(value) - a, step)):
            try:
                value = max(value, self.proof.by_queue({"window_ns": window}))
            except CHECKER.Refused:
                pass
        return value


class StrongestFacts(unittest.TestCase):
    def test_none_is_false(self):
        bounds = met = facts = 0
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([HUNT, str(PROBLEMS), str(FIRST), folder, "1"], check=True, capture_output=True)
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name)) as f:
                    certificate = json.load(f)
                problem, reached = certificate["problem"], certificate["reached_ns"]
                if len(problem["ops"]) > MOST_OPS or problem["rules"]["of"] != "events":
                    continue
                for of, has_exceptions in ((of, e) for of in reached for e in (False, True) if reached[of] > 0):
                    strongest = Strongest(problem, of, 10 * reached[of] + 1000)
                    if strongest.proof.is_impossible:
                        continue
                    for i in range(3):
                        strongest.sweep(has_exceptions and i == 1, i == 1)
                    bound = strongest.bound() + problem["rules"]["step_ns"]
                    self.assertLessEqual(bound, reached[of], f"seed {name}, {of}, exceptions {has_exceptions}")
                    bounds, met, facts = bounds + 1, met + (bound == reached[of]), facts + strongest.facts
        self.assertGreater(bounds, PROBLEMS)
        self.assertGreater(met, bounds // 12)
        self.assertGreater(facts, 10 * bounds)


if __name__ == "__main__":
    unittest.main()
