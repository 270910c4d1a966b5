# SPDX-License-Identifier: GPL-3.0-or-later
"""test_certificate.py EMPLACE HUNT_BOUNDS: does scripts/bounds/check-bound accept the certificates that the program writes,
of workloads and of random problems, and refuse those in which somebody has raised a bound or altered a fact?"""
import copy
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

HUNT, EMPLACE = sys.argv.pop(2), sys.argv.pop(1)
CHECK = os.path.join(os.path.dirname(__file__), "..", "..", "..", "scripts", "bounds", "check-bound")
SMALL = "rnnlm:layers=1,steps=1,vocab=1000,sampled=0"
TASKS = {  # by the lemma or the rules that bind
    "path": (SMALL, "k40x2", "tf-r1.3", 1),
    "window": ("nmt:layers=1,steps=1,vocab=1000", "k40x1", "tf-r1.3", 2),
    "ideal": ("transformer:layers=1,batch=1,seq=8,vocab=100", "k40x2", "ideal", 3),
    "area": ("transformer:layers=24,hidden=2048,heads=16,batch=1,seq=16", "k40x1", "torch-eager", 1),  # whose memory has a rent
    **{rules: (SMALL, "k40x2", rules, 1) for rules in ("placeto", "baechi", "edges", "msr-latency", "msr-load")},
}
PROBLEMS, MOST, LATE = 240, 30, 10**6  # random problems, changes of one sort, and more ns than a step of them takes


def load(path, name):
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


CHECKER = load(CHECK, "check_bound")


def run(*arguments):
    subprocess.run(arguments, check=True, capture_output=True)


class Workloads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.certificate = {}
        for name, (spec, machine, runtime, effort) in TASKS.items():
            of = [spec, "--machine", machine, "--runtime", runtime]
            run(EMPLACE, "bound", *of, "--effort", str(effort), "--certificate", cls.path(f"{name}.json"))
            run(EMPLACE, "graph", *of, "--out", cls.path(f"{name}-graph.json"))
            with open(cls.path(f"{name}.json")) as f:
                cls.certificate[name] = json.load(f)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def check(self, name, certificate=None):
        with open(self.path("tried.json"), "w") as f:
            json.dump(certificate or self.certificate[name], f)
        return subprocess.run([sys.executable, CHECK, self.path("tried.json"), self.path(f"{name}-graph.json")],
                              capture_output=True, text=True)

    def refused(self, name, part, change):
        certificate = copy.deepcopy(self.certificate[name])
        change(certificate)
        done = self.check(name, certificate)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("refused: ", done.stderr)
        self.assertIn(part, done.stderr)

    def test_certificates_are_accepted_and_are_of_the_bounds_that_are_printed(self):
        for name, (spec, machine, runtime, effort) in TASKS.items():
            done = self.check(name)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            printed = json.loads(subprocess.run(
                [EMPLACE, "bound", spec, "--machine", machine, "--runtime", runtime, "--effort", str(effort), "--format",
                 "json"], check=True, capture_output=True).stdout)
            for claim in self.certificate[name]["claims"]:
                key = "lower_bound_s" if claim["of"] == "all" else "lower_bound_gpu_kernels_s"
                self.assertAlmostEqual(claim["bound_ns"] * 1e-9, printed[key], 12, name)
        lemmas = {c["claims"][0]["lemma"] for c in self.certificate.values()}
        self.assertTrue({"path", "window", "area"} <= lemmas, lemmas)
        self.assertGreater(self.certificate["area"]["claims"][0]["prices"][4], 0)

    def test_placements_with_kernels_on_the_cpu_have_a_claim_of_their_own(self):
        of = [SMALL, "--machine", "k40x2", "--placement", "expert", "--effort", "2"]
        run(EMPLACE, "bound", *of, "--certificate", self.path("placed.json"))
        with open(self.path("placed.json")) as f:
            certificate = json.load(f)
        self.assertEqual(self.check("path", certificate).returncode, 0)
        steps = [s for c in certificate["claims"] for s in c["steps"] if s["rule"] == "on_gpus"]
        self.assertTrue(steps and steps[0]["but"])

    def test_longer_ops_are_refused(self):
        def slower(certificate):
            op = max((o for o in certificate["problem"]["ops"] if "gpu" in o["kinds"]), key=lambda o: o["run_ns"][1])
            op["run_ns"][1] *= 2
        for name in ("path", "window", "ideal", "area"):
            self.refused(name, "ns on a gpu, and not", slower)

    def test_fewer_kinds_more_edges_and_more_bytes_are_refused(self):
        def fewer(certificate):
            next(o for o in certificate["problem"]["ops"] if len(o["kinds"]) == 2)["kinds"] = ["gpu"]
        self.refused("path", "more kinds", fewer)

        def more(certificate):
            edges = certificate["problem"]["edges"]
            edges.append({**edges[0], "from": edges[0]["to"], "to": len(certificate["problem"]["ops"]) - 1})
        self.refused("path", "there is no edge", more)

        def longer(certificate):
            next(e for e in certificate["problem"]["edges"] if e.get("bytes"))["bytes"] *= 2
        self.refused("path", "has fewer bytes", longer)

        def larger(certificate):
            next(o for o in certificate["problem"]["ops"] if o.get("bytes"))["bytes"] *= 2
        self.refused("path", "holds fewer bytes", larger)

    def test_other_prices_prove_less(self):
        def negative(certificate):
            certificate["claims"][0]["prices"][2] = -1.0
        self.refused("area", "negative", negative)

        def other(certificate):
            certificate["claims"][0]["prices"] = [0.0, 0.0, 1.0, 0.0, 0.0]
        self.refused("area", "are proven", other)


class Rules(unittest.TestCase):
    """Each certificate of random problems is altered in one place."""

    @classmethod
    def setUpClass(cls):
        cls.reached = []  # likewise, with bounds that a placement beats
        cls.claims = []  # name, problem, claim, facts that it takes: (step, number)
        with tempfile.TemporaryDirectory() as folder:
            run(HUNT, str(PROBLEMS), "0", folder, "1")
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name)) as f:
                    certificate = json.load(f)
                for claim in certificate["claims"]:
                    reached_ns = certificate["reached_ns"][claim["of"]]
                    if reached_ns > 0:
                        cls.reached.append((name, certificate["problem"], {**claim, "bound_ns": reached_ns + 1}, []))
                    proven = CHECKER.check(certificate["problem"], claim)
                    facts = [(i, j) for i, s in enumerate(claim["steps"]) for j, f in enumerate(s.get("facts", ()))
                             if id(f) in proven]
                    cls.claims.append((name, certificate["problem"], claim, facts))

    def tally(self, change, lemma=None, claims=None):
        """How many changed claims are refused, and which are accepted. change(claim, problem) returns False if there is
        nothing to change."""
        refused, accepted = 0, []
        for name, problem, claim, facts in claims or self.claims:
            if lemma not in (None, claim["lemma"]):
                continue
            altered, of = copy.deepcopy(claim), copy.deepcopy(problem)
            self.facts = [altered["steps"][i]["facts"][j] for i, j in facts]
            if change(altered, of) is False:
                continue
            try:
                CHECKER.check(of, altered)
                accepted.append(name)
            except (CHECKER.Refused, LookupError):
                refused += 1
            if refused + len(accepted) == MOST:
                break
        return refused, accepted

    def all_refused(self, least, change, lemma=None):
        refused, accepted = self.tally(change, lemma)
        self.assertEqual(accepted, [])
        self.assertGreaterEqual(refused, least)

    def to_one_fact(self, rule, at, change):
        def change_one(claim, problem):
            facts = [f for f in self.facts if f["rule"] == rule]
            return change(facts[at], problem) if at < len(facts) else False
        return change_one

    def facts_refused(self, least, rule, change, count=4):
        """One after another of the facts by a rule."""
        for at in range(count):
            self.all_refused(least, self.to_one_fact(rule, at, change))

    def test_every_lemma_and_rule_has_been_checked(self):
        self.assertEqual({c["lemma"] for _, _, c, _ in self.claims}, {"path", "area", "class", "window", "queue"})
        self.assertEqual({s["rule"] for _, _, c, _ in self.claims for s in c["steps"]},
                         {"sweep", "exceptions", "limit", "on_gpus"})

    def test_higher_bounds_are_refused(self):
        def higher(claim, problem):
            claim["bound_ns"] = int(claim["bound_ns"] * 1.5) + 2
        for lemma, least in (("path", 30), ("area", 30), ("class", 3), ("window", 10), ("queue", 2)):
            self.all_refused(least, higher, lemma)

    def test_bounds_that_a_placement_beats_are_refused(self):
        def beaten(claim, problem):
            for s in claim["steps"]:
                if s["rule"] == "limit":
                    s["ns"] = claim["bound_ns"] - problem["rules"]["step_ns"] - 1
        for at in range(0, len(self.reached), MOST):
            refused, accepted = self.tally(beaten, claims=self.reached[at:at + MOST])
            self.assertEqual(accepted, [])
        self.assertGreater(len(self.reached), PROBLEMS)

    def test_later_facts_are_refused(self):
        def longer_than_a_step(f, problem):
            f["ns"] += LATE
        def a_little_later(f, problem):
            f["ns"] += 1
        for rule in ("join", "drain", "segment"):
            self.facts_refused(4, rule, longer_than_a_step)
            refused, accepted = self.tally(self.to_one_fact(rule, 0, a_little_later))
            self.assertGreater(refused, 4 * len(accepted), rule)  # the others have proven less than they could have

    def test_facts_without_what_they_come_from_are_refused(self):
        def alone(f, problem):
            f["near"] = []
        def itself(f, problem):
            f["near"] = [f["op"], *f["near"]]
        def twice(f, problem):
            f["near"] = f["near"] + [i - len(problem["ops"]) for i in f["near"]]
        for rule in ("join", "segment"):
            for change in (alone, itself, twice):
                self.facts_refused(4, rule, change)

        def from_itself(f, problem):
            f["from"] = f["op"]
        self.facts_refused(4, "segment", from_itself)

        def other_tensor(f, problem):
            f["output"] += 1
        def one_reader(f, problem):
            f["readers"][1] = f["readers"][0]
        def no_reader(f, problem):
            f["readers"][0] = f["op"]
        for change in (other_tensor, one_reader, no_reader):
            self.facts_refused(4, "drain", change)

    def test_exceptions_are_not_for_nothing(self):
        def no_loss(claim, problem):
            steps = [s for s in claim["steps"] if s["rule"] == "exceptions"]
            for s in steps:
                s["rule"] = "sweep"
            return bool(steps) and any(f["rule"] == "drain" for f in self.facts)
        self.assertGreater(self.tally(no_loss)[0], 1)

    def test_a_longer_time_is_not_refuted(self):
        def longer(claim, problem):
            limits = [s for s in claim["steps"] if s["rule"] == "limit"]
            claim["bound_ns"] *= 3
            for s in limits:
                s["ns"] = claim["bound_ns"]
            return bool(limits)
        self.all_refused(10, longer)

    def test_a_bound_above_the_refuted_time_is_refused(self):
        def above(claim, problem):
            claim["bound_ns"] += 1
            return any(s["rule"] == "limit" for s in claim["steps"])
        self.all_refused(10, above)

    def test_what_holds_on_gpus_is_not_said_of_all_placements(self):
        def all_placements(claim, problem):
            may_choose = any(len(o["kinds"]) == 2 for o in problem["ops"])
            is_on_gpus, claim["of"] = claim["of"] == "on_gpus", "all"
            return is_on_gpus and may_choose
        self.assertGreater(self.tally(all_placements)[0], 20)

    def test_windows_and_prices_must_hold_work(self):
        def late(claim, problem):
            claim["window_ns"] = [claim["bound_ns"]] * 2
        def before_the_start(claim, problem):
            claim["window_ns"][0] = -1.0
        for lemma in ("window", "queue"):
            self.all_refused(4, late, lemma)
            self.all_refused(4, before_the_start, lemma)

        def negative(claim, problem):
            claim["prices"][1] = -1.0
        def nothing(claim, problem):
            claim["prices"][:3] = [0.0, 0.0, 0.0]
        for lemma in ("window", "area"):
            self.all_refused(20, negative, lemma)
            self.all_refused(20, nothing, lemma)

    def test_memory_that_suffices_refutes_nothing(self):
        def memory(claim, problem):
            claim["lemma"], claim["prices"] = "memory", [0.0, 0.0, 0.0, 0.0, 0.0]
            return not any(s["rule"] == "limit" for s in claim["steps"])  # else kinds may be all gone
        self.all_refused(30, memory)

    def test_shorter_ops_prove_less(self):
        def shorter(claim, problem):
            for o in problem["ops"]:
                for key in ("issue_ns", "core_ns"):
                    o[key] = o.get(key, 0) // 2
                o["run_ns"] = [ns // 2 for ns in o.get("run_ns", ())]
                o["gap_ns"] = [0 for _ in o.get("gap_ns", ())]
            return claim["lemma"] in ("area", "class", "window", "queue")
        self.assertGreater(self.tally(shorter)[0], 20)


if __name__ == "__main__":
    unittest.main()
