# SPDX-License-Identifier: GPL-3.0-or-later
"""test_certificate.py EMPLACE: does scripts/bounds/check-bound accept the certificates that the program writes, and refuse
those that somebody has changed?"""
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

EMPLACE = sys.argv.pop(1)
CHECK = os.path.join(os.path.dirname(__file__), "..", "..", "..", "scripts", "bounds", "check-bound")
SMALL = "rnnlm:layers=1,steps=1,vocab=1000,sampled=0"
TASKS = {  # by the lemma that binds
    "path": (SMALL, "k40x2", "tf-r1.3"),
    "window": ("nmt:layers=1,steps=1,vocab=1000", "k40x1", "tf-r1.3"),
    "ideal": ("transformer:layers=1,batch=1,seq=8,vocab=100", "k40x2", "ideal"),
    "area": ("transformer:layers=24,hidden=2048,batch=1,seq=16", "k40x1", "torch-eager"),  # whose memory has a rent
}


def run(*arguments):
    subprocess.run([EMPLACE, *arguments], check=True, capture_output=True)


class Certificates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.certificate = {}
        for name, (spec, machine, runtime) in TASKS.items():
            of = [spec, "--machine", machine, "--runtime", runtime]
            run("bound", *of, "--certificate", cls.path(f"{name}.json"))
            run("graph", *of, "--out", cls.path(f"{name}-graph.json"))
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

    def test_what_the_program_writes_is_accepted(self):
        for name in TASKS:
            done = self.check(name)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertIn("no step takes less than", done.stdout)
        lemmas = {c["claim"]["lemma"] for c in self.certificate.values()}
        self.assertTrue({"path", "window", "area"} <= lemmas, lemmas)
        self.assertTrue(any("refuted_ns" in c["claim"] for c in self.certificate.values()))
        self.assertTrue(any(c["claim"].get("prices", [0] * 5)[4] > 0 for c in self.certificate.values()))

    def test_a_higher_bound_is_refused(self):
        for name in TASKS:
            def higher(certificate):
                certificate["claim"]["bound_ns"] = int(certificate["claim"]["bound_ns"] * 1.5)
            self.refused(name, "", higher)

    def test_a_longer_time_is_not_refuted(self):
        def longer(certificate):
            claim = certificate["claim"]
            claim["refuted_ns"] = claim["bound_ns"] = 3 * claim["bound_ns"]
        self.refused("window", "is not refuted", longer)

    def test_longer_ops_are_refused(self):
        def slower(certificate):
            op = max((o for o in certificate["model"]["ops"] if "gpu" in o["kinds"]), key=lambda o: o["gpu_ns"])
            op["gpu_ns"] *= 2
        for name in TASKS:
            self.refused(name, "ns on a gpu, and not", slower)

    def test_fewer_kinds_and_more_edges_are_refused(self):
        def fewer(certificate):
            next(o for o in certificate["model"]["ops"] if len(o["kinds"]) == 2)["kinds"] = ["gpu"]
        self.refused("path", "more kinds", fewer)

        def more(certificate):
            edges = certificate["model"]["edges"]
            edges.append({**edges[0], "from": edges[0]["to"], "to": len(certificate["model"]["ops"]) - 1})
        self.refused("path", "there is no edge", more)

    def test_other_prices_prove_less(self):
        def negative(certificate):
            certificate["claim"]["prices"][2] = -1.0
        self.refused("window", "negative", negative)

        def other(certificate):
            certificate["claim"]["prices"] = [0.0, 0.0, 1.0, 0.0, 0.0]
        self.refused("area", "are proven", other)


if __name__ == "__main__":
    unittest.main()
