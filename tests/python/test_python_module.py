# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the module give the library's results, and refuse what it refuses? With the argument
--no-numpy it runs as if numpy were not installed, which the last test does."""
import array
import gc
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

if "--no-numpy" in sys.argv:
    sys.argv.remove("--no-numpy")
    sys.modules["numpy"] = None

import emplace

try:
    import numpy
except ImportError:
    numpy = None

SPEC = "rnnlm:layers=1,steps=2,units=64,batch=8"


def problem():
    return emplace.Problem(SPEC, "k40x2")


def _keep(oracle):
    global kept_oracle
    kept_oracle = oracle


def _ask(row):
    return float(kept_oracle.score([row, row])[0][1])


def random_rows(count, length, bound, seed=1):
    return [[int(d) for d in emplace.Random(seed, i).below(bound, length)] for i in range(count)]


class Facts(unittest.TestCase):
    def test_arrays_of_a_graph_fit_each_other(self):
        graph = emplace.Graph.load(SPEC)
        ops = len(graph)
        self.assertEqual(len(graph.names), ops)
        self.assertEqual(len(set(graph.names)), ops)
        self.assertEqual(len(graph.types), ops)
        for name in ("flops", "persistent_bytes", "is_folded", "order"):
            self.assertEqual(len(getattr(graph, name)), ops, name)
        self.assertEqual(graph.edges.shape, (len(graph.edge_bytes), 2))
        self.assertEqual(sorted(graph.order), list(range(ops)))
        place = {int(op): i for i, op in enumerate(graph.order)}
        for before, after in graph.edges.tolist() + graph.controls.tolist():
            self.assertLess(place[before], place[after])
        self.assertEqual(graph.find(graph.names[7]), 7)
        self.assertEqual(graph.find("zebra"), -1)

    def test_the_runtime_fits_the_graph(self):
        graph = emplace.Graph("transformer:layers=1,phase=decode")
        self.assertEqual(graph.default_runtime, "graph-launch")
        self.assertEqual(emplace.Problem(graph, "k40x2").runtime, "graph-launch")
        self.assertEqual(emplace.Problem(graph, "k40x2", "ideal").runtime, "ideal")
        self.assertEqual(emplace.Problem("rnnlm:steps=1", "k40x2").runtime, "tf-r1.3")

    def test_a_machine_names_its_devices(self):
        machine = emplace.Machine.load("k40x2")
        self.assertEqual(machine.names, ["cpu:0", "gpu:0", "gpu:1"])
        self.assertEqual(machine.is_gpu.tolist(), [False, True, True])
        self.assertEqual(machine.find("gpu:1"), 2)
        self.assertGreater(machine.memory_bytes[0], machine.memory_bytes[1])
        self.assertEqual(machine.copy_time(1, 1, 10**6), 0.0)
        self.assertGreater(machine.copy_time(1, 2, 10**9), machine.copy_time(1, 2, 10**6))
        with self.assertRaises(IndexError):
            machine.copy_time(0, 3, 1)

    def test_a_problem_says_what_may_be_where(self):
        p = problem()
        allowed, times = p.allowed.tolist(), p.op_times.tolist()
        self.assertEqual((len(allowed), len(allowed[0])), (p.graph.op_count, 3))
        self.assertTrue(all(row[0] for row in allowed))
        self.assertTrue(any(not row[1] for row in allowed))
        self.assertTrue(all(time >= 0 for row in times for time in row))
        self.assertLess(max(p.class_of_op), p.class_count)
        self.assertEqual([c == -1 for c in p.class_of_op], p.graph.is_folded.tolist())

    def test_legal_placements_come_back_from_files(self):
        p = problem()
        legal, other = p.legalize([2] * len(p.graph)), p.legalize([1] * len(p.graph))
        self.assertIn(0, legal)
        self.assertEqual(p.legalize(legal).tolist(), legal.tolist())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "placed.json"
            for time in (float("inf"), float("-inf"), float("nan")):  # no reader takes them
                with self.assertRaisesRegex(emplace.Error, "placed.json .* step time"):
                    p.save_placement(path, legal, time)
                self.assertEqual(os.listdir(folder), [])
            path.touch()  # an empty file is nothing to lose
            p.save_placement(path, other, 0.5)
            kept = path.read_text(encoding="utf-8")
            with self.assertRaisesRegex(FileExistsError, "placed.json .* force=True"):
                p.save_placement(path, legal, 0.5)
            self.assertEqual(path.read_text(encoding="utf-8"), kept)
            p.save_placement(path, legal, 0.5, force=True)
            self.assertEqual(p.load_placement(path).tolist(), legal.tolist())
            with self.assertRaisesRegex(emplace.Error, "none.json"):
                p.load_placement(os.path.join(folder, "none.json"))


class Scores(unittest.TestCase):
    def setUp(self):
        self.problem = problem()
        self.ops = len(self.problem.graph)
        self.rows = random_rows(270, self.ops, 3)
        self.oracle = emplace.Oracle(self.problem)

    def test_results_do_not_depend_on_threads_or_batches(self):
        times, fits = self.oracle.score(self.rows)
        many = emplace.Oracle(self.problem, threads=3).score(self.rows)
        self.assertEqual((times.tolist(), fits.tolist()), (many[0].tolist(), many[1].tolist()))
        for i in (0, 17, 269):
            self.assertEqual(self.oracle.score(self.rows[i])[0].tolist(), [times[i]])
        self.assertEqual([len(part) for part in self.oracle.score([])], [0, 0])

    def test_rows_may_be_lists_or_buffers_of_any_integers(self):
        expected = self.oracle.score(self.rows[:2])[0].tolist()
        for code in "bBhHiIlLqQ":
            apart = memoryview(array.array(code, [d for row in self.rows[:1] for d in row for _ in "12"]))
            self.assertEqual(self.oracle.score(apart[::2])[0].tolist(), expected[:1], code)
            self.assertEqual(self.oracle.score([apart[::2]])[0].tolist(), expected[:1], code)
            flat = array.array(code, self.rows[0] + self.rows[1])
            view = memoryview(flat).cast("B").cast(code, (2, self.ops))
            self.assertEqual(self.oracle.score(view)[0].tolist(), expected, code)
            rows = [array.array(code, row) for row in self.rows[:2]]
            self.assertEqual(self.oracle.score(rows)[0].tolist(), expected, code)

    def test_groups_stand_for_their_ops(self):
        groups = [op % 5 for op in range(self.ops)]
        by_group = random_rows(4, 5, 3, seed=2)
        spread = [[row[g] for g in groups] for row in by_group]
        self.assertEqual(self.oracle.score(by_group, groups=groups)[0].tolist(),
                         self.oracle.score(spread)[0].tolist())

    def test_groups_are_one_row(self):
        groups = [op % 5 for op in range(self.ops)]
        for _ in range(2):  # on a new oracle, and on one that keeps the groups of the call before
            for given, count in (([], 0), ([groups, groups], 2), (memoryview(b"").cast("B"), None)):
                words = "groups: a row has 0 numbers" if count is None else f"groups: {count} rows"
                with self.assertRaisesRegex(ValueError, words):
                    self.oracle.score([1] * 5, groups=given)
                with self.assertRaisesRegex(ValueError, words):
                    self.oracle.explain([1] * 5, groups=given)
            self.oracle.score([1] * 5, groups=groups)

    def test_levels_change_what_is_served_first(self):
        rows = random_rows(20, self.ops, 2)
        plain = self.oracle.score(rows)[0].tolist()
        equal = self.oracle.score(rows, levels=[[5] * self.ops] * 20)[0].tolist()
        drawn = self.oracle.score(rows, levels=random_rows(20, self.ops, 64, seed=3))[0].tolist()
        self.assertEqual(plain, equal)
        self.assertNotEqual(plain, drawn)

    def test_measures_agree_with_scores(self):
        times, fits = self.oracle.score(self.rows)
        table = self.oracle.measure(self.rows)
        self.assertEqual(table["times"].tolist(), times.tolist())
        self.assertEqual(table["fits"].tolist(), fits.tolist())
        self.assertEqual(table["peak_bytes"].shape, (270, 3))
        self.assertTrue(all(b <= t for t, row in zip(times, table["busy"].tolist()) for b in row))

    def test_what_does_not_fit_is_missing_memory(self):
        big = emplace.Problem("nmt:layers=8", "k40x1")
        oracle = emplace.Oracle(big)
        why = oracle.explain([1] * len(big.graph))
        self.assertFalse(why.fits)
        self.assertGreater(why.overflow, 0)
        self.assertEqual(why.out_of_memory["device"], "gpu:0")
        self.assertIn("out of memory: gpu:0", str(why))

    def test_memory_is_that_which_the_runtime_leaves(self):
        kept = 723 * 2**20  # gpu_context of data/runtimes/torch-eager.yaml
        card = int(emplace.Machine("k40x1").memory_bytes[1])
        held = (card - kept // 2) // 2**20 * 2**20  # within the card, and beyond what a step can have of it
        graph = emplace.Graph.from_ops({"a": {"gpu_s": 1e-3, "persistent_bytes": held, "devices": "gpu"}}, [])
        problem = emplace.Problem(graph, "k40x1", "torch-eager")
        self.assertEqual(int(problem.memory_bytes[1]), card - kept)
        table = emplace.Oracle(problem).measure([1])
        self.assertEqual((bool(table["fits"][0]), int(table["peak_bytes"][0, 1])), (False, held))
        self.assertAlmostEqual(float(table["overflow"][0]), held / (card - kept) - 1, places=12)
        self.assertEqual(emplace.Oracle(problem).explain([1]).devices[1].memory_bytes, card - kept)

    def test_an_explanation_adds_up(self):
        why = self.oracle.explain(self.rows[0])
        self.assertEqual(why.step_time, self.oracle.score(self.rows[0])[0][0])
        self.assertIsNone(why.out_of_memory)
        self.assertEqual(sum(device.ops for device in why.devices), self.ops)
        ends = [end for end in why.ends.tolist() if end == end]
        self.assertLessEqual(max(ends), why.step_time)
        self.assertEqual(why.placement.tolist(), self.problem.legalize(self.rows[0]).tolist())

    def test_ops_side_by_side_leave_no_negative_idle_time(self):
        graph = emplace.Graph.from_ops({"a": {"cpu_s": 1e-3}, "b": {"cpu_s": 1e-3}}, edges=[])
        cpu = emplace.Oracle(emplace.Problem(graph, "k40x1", "msr-latency")).explain([0, 0]).devices[0]
        self.assertEqual((cpu.busy, cpu.idle), (2e-3, 0.0))

    def test_threads_of_python_share_an_oracle(self):
        expected = self.oracle.score(self.rows)[0].tolist()
        found = []

        def ask():
            found.append(self.oracle.score(self.rows)[0].tolist())

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 4)

    def test_forks_score_with_the_threads_of_their_parent(self):
        rows = self.rows[:40]
        expected = self.oracle.score(rows)[0].tolist()
        oracle = emplace.Oracle(self.problem, threads=2)

        def answers(other):
            return other.score(rows)[0].tolist() == expected

        def in_fork(ask):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if ask() else 1)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

        self.assertTrue(answers(oracle))  # OpenMP has threads now, which forks have not
        self.assertTrue(in_fork(lambda: answers(oracle) and answers(oracle)))
        self.assertTrue(in_fork(lambda: answers(emplace.Oracle(self.problem, threads=3))))
        self.assertTrue(in_fork(lambda: answers(oracle) and in_fork(lambda: answers(oracle))))
        self.assertTrue(answers(oracle))

    def test_pools_of_processes_share_an_oracle(self):
        oracle = emplace.Oracle(self.problem, threads=2)
        expected = oracle.score(self.rows[:8])[0].tolist()
        with multiprocessing.get_context("fork").Pool(2, _keep, (oracle,)) as pool:
            self.assertEqual(pool.map_async(_ask, self.rows[:8]).get(timeout=60), expected)

    def test_python_goes_on_while_the_oracle_simulates(self):
        asker = threading.Thread(target=lambda: self.oracle.score(self.rows * 2))
        asker.start()
        turns = 0
        while asker.is_alive():
            turns += 1
        self.assertGreater(turns, 100)

    def test_memory_does_not_grow(self):
        with open("/proc/self/statm", encoding="ascii") as statm:
            def pages():
                gc.collect()
                statm.seek(0)
                return int(statm.read().split()[1])

            row = array.array("i", self.rows[0])
            for _ in range(1000):
                self.oracle.score(row)
            before = pages()
            for _ in range(4000):
                self.oracle.score(row)
            self.assertLess(pages() - before, 64)


class Refusals(unittest.TestCase):
    def setUp(self):
        self.problem = problem()
        self.ops = len(self.problem.graph)
        self.oracle = emplace.Oracle(self.problem)

    def test_what_is_refused(self):
        score, ops = self.oracle.score, self.ops
        with self.assertRaises(emplace.Error) as caught:
            emplace.Graph("zebra")
        self.assertEqual(caught.exception.status, "EMP_EIO")
        self.assertIn('"zebra"', str(caught.exception))
        for kind, words, call, arguments, keywords in (
                (emplace.Error, "zebra", emplace.Machine, ("zebra",), {}),
                (emplace.Error, "zebra", emplace.Problem, (SPEC, "k40x2", "zebra"), {}),
                (emplace.Error, "0 threads", emplace.Oracle, (self.problem,), {"threads": 0}),
                (emplace.Error, "on device 9", score, ([9] * ops,), {}),
                (ValueError, "a row has 3 numbers", score, ([0, 0, 0],), {}),
                (ValueError, "a row has 3 numbers", score, ([[0, 0, 0]],), {}),
                (ValueError, "a row has 2 numbers", score, ([[0] * ops, array.array("i", [0, 0])],), {}),
                (TypeError, "not integers", score, (array.array("d", [0.0] * ops),), {}),
                (TypeError, "float", score, ([0.5] * ops,), {}),
                (TypeError, "", score, (5,), {}),
                (ValueError, "is no device", score, ([[2**40] * ops],), {}),
                (OverflowError, "", score, ([[2**81] * ops],), {}),
                (ValueError, "groups: -1", score, ([0],), {"groups": [-1] * ops}),
                (ValueError, "levels: 64", score, ([0] * ops,), {"levels": [64] * ops}),
                (ValueError, "levels: 1 rows for 2", score, ([[0] * ops] * 2,), {"levels": [0] * ops}),
                (ValueError, "2 rows, not one", self.oracle.explain, ([[0] * ops] * 2,), {}),
                (ValueError, "device 3; there are devices 0 to 2", self.problem.legalize, ([3] * ops,), {})):
            with self.assertRaisesRegex(kind, words):
                call(*arguments, **keywords)

    def test_an_oracle_that_is_asked_by_its_own_argument(self):
        oracle, ops = self.oracle, self.ops

        class Row:
            def __len__(self):
                return ops

            def __getitem__(self, i):
                return int(oracle.score([0] * ops)[1][0])

        with self.assertRaisesRegex(RuntimeError, "while it answers"):
            oracle.score([Row()])
        self.assertEqual(len(oracle.score([0] * ops)[0]), 1)


class Streams(unittest.TestCase):
    def test_parts_of_a_stream_are_those_of_the_whole(self):
        whole = emplace.Random(7, 3, 2).words(50).tolist()
        parts, stream = [], emplace.Random(7, 3, 2)
        for count in (1, 2, 3, 5, 11, 28):
            parts += stream.words(count).tolist()
        self.assertEqual(parts, whole)

    def test_names_and_bounds_beyond_the_streams_are_refused(self):
        for name in ((2**64,), (-1,), (1, 2**32), (1, 0, 2**32)):
            with self.assertRaisesRegex(ValueError, "no whole number from 0"):
                emplace.Random(*name)
        for bound in (0, -1, 2**32 + 5):
            with self.assertRaisesRegex(ValueError, "no whole number from 1"):
                emplace.Random(1).below(bound)

    def test_numbers_below_a_bound_are_the_formula_s(self):
        for bound in (1, 3, 2**31 + 1):
            words = iter(emplace.Random(5, 1).words(2000).tolist())
            numbers = emplace.Random(5, 1).below(bound, 500).tolist()
            for number in numbers:
                product = next(words) * bound
                while product % 2**32 < 2**32 % bound:
                    product = next(words) * bound
                self.assertEqual(number, product >> 32)
        with self.assertRaises(ValueError):
            emplace.Random(1).below(0)


class Arrays(unittest.TestCase):
    @unittest.skipIf(numpy is None, "numpy is not there")
    def test_arrays_are_numpy_s(self):
        self.assertIsInstance(problem().op_times, numpy.ndarray)

    @unittest.skipIf(numpy is None, "numpy is not there")
    def test_arrays_of_any_layout_give_the_same_scores(self):
        p = problem()
        oracle, ops = emplace.Oracle(p), len(p.graph)
        for kind in ("int32", "int64", "uint8"):
            rows = numpy.array(random_rows(4, ops, 3), kind)
            expected = oracle.score(rows.tolist())[0].tolist()
            wide = numpy.full((8, 2 * ops), 9, kind)
            wide[::2, ::2] = rows
            self.assertEqual(oracle.score(numpy.asfortranarray(rows))[0].tolist(), expected, kind)
            self.assertEqual(oracle.score(wide[::2, ::2])[0].tolist(), expected, kind)
            self.assertEqual(oracle.score(rows.T.copy().T)[0].tolist(), expected, kind)
            self.assertEqual(oracle.score(rows[::-1, ::-1][::-1, ::-1])[0].tolist(), expected, kind)
            self.assertEqual(oracle.score(list(wide[::2, ::2]))[0].tolist(), expected, kind)
            self.assertEqual(oracle.score(wide[0, ::2])[0].tolist(), expected[:1], kind)
            self.assertEqual(oracle.score(numpy.broadcast_to(rows[0], (2, ops)))[0].tolist(), expected[:1] * 2, kind)
            self.assertEqual(p.legalize(wide[0, ::2]).tolist(), p.legalize(rows[0].tolist()).tolist(), kind)

    @unittest.skipIf(numpy is None, "this is the run without numpy")
    def test_all_of_this_holds_without_numpy(self):
        done = subprocess.run([sys.executable, __file__, "--no-numpy"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
