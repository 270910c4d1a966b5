# SPDX-License-Identifier: GPL-3.0-or-later
"""test_python_outside.py OWN_PLACER PLUGINS: do methods from outside, a shared library, a program and
an object of Python, give what methods `random` and `anneal` give when they propose the same? Does one that hangs,
crashes, lies or answers nonsense end with one sentence and a whole record?"""
import array
import contextlib
import functools
import json
import linecache
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

import emplace
from emplace._identity import code_of, name_of

try:
    import numpy
except ImportError:
    numpy = None

OWN_PLACER, PLUGINS = sys.argv.pop(1), sys.argv.pop(1)
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SPEC, MACHINE = "rnnlm:layers=1,steps=2,units=64,batch=8", "k40x2"
EXAMPLES = os.path.join(ROOT, "docs/examples")
LINES = f"cmd:{sys.executable} {os.path.join(EXAMPLES, 'own_lines.py')}"


class RandomRows:
    """The draws of method `random`."""

    by_class = True

    def __init__(self, task):
        self.task, self.candidate = task, 0

    def ask(self, count):
        rows = []
        for _ in range(count):
            stream = emplace.Random(self.task.seed, self.candidate)
            rows.append(stream.below(len(self.task.devices), self.task.class_count))
            self.candidate += 1
        return rows


def found(record):
    """The result of a run, without the name of its method."""
    curve = [[p["evaluations"], p["feasible_count"], p["best_s"], p["mean_s"]] for p in record.curve]
    return record.evaluations, record.step_time_s, record.feasible, record.median_s, curve


class Records(unittest.TestCase):
    def test_the_record_of_another_run_is_replaced_by_force_alone(self):
        problem = emplace.Problem(SPEC, MACHINE)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.h5")
            emplace.place(problem, "random", budget=4, record=path)
            with self.assertRaisesRegex(emplace.Error, "run.h5 is not a record of this run"):
                emplace.place(problem, "anneal", budget=4, record=path)
            self.assertEqual(emplace.Record.load(path).method, "random")
            record = emplace.place(problem, "anneal", budget=4, record=path, force=True)
            self.assertEqual((record.method, emplace.Record.load(path).method), ("anneal", "anneal"))


    def test_methods_in_python_are_told_apart_by_name_and_source(self):
        problem = emplace.Problem(SPEC, MACHINE)

        class Gpu:
            def __init__(self, task):
                self.count = len(task.names)

            def ask(self, count):
                return [[1] * self.count] * count

        class Cpu(Gpu):
            def ask(self, count):
                return [[0] * self.count] * count

        with tempfile.TemporaryDirectory() as folder:
            first, second = os.path.join(folder, "a.h5"), os.path.join(folder, "b.h5")
            gpu = emplace.place(problem, Gpu, budget=100, record=first)
            self.assertEqual(gpu.method, "Gpu")
            self.assertEqual(gpu.command, f'emplace.place(emplace.Problem("{SPEC}", "{MACHINE}", "tf-r1.3"), '
                                          "Gpu, seed=1, budget=100)")
            with self.assertRaisesRegex(emplace.Error, 'method "Gpu" there, "Cpu" here'):
                emplace.place(problem, Cpu, budget=100, record=first)
            with self.assertRaisesRegex(emplace.Error, "the code of method Gpu has changed since"):
                emplace.place(problem, Cpu, budget=100, record=first, name="Gpu")
            self.assertEqual(emplace.Record.load(first).step_time_s, gpu.step_time_s)
            with open(os.devnull):  # another number of the socket
                again = emplace.place(problem, Gpu, budget=100, record=first)
            self.assertEqual(again.facts, gpu.facts)
            emplace.place(problem, Cpu, budget=100, record=second, name="Gpu")
            page = os.path.join(folder, "page.html")
            emplace.run.read_output("report", first, second, "--out", page)
            with open(page, encoding="utf-8") as file:
                text = file.read()
            for record in (gpu, emplace.Record.load(second)):
                self.assertIn(f"Gpu, code {record.method_hash[8:]}", text)
            with self.assertRaisesRegex(emplace.Error, 'cannot have the name "anneal"'):
                emplace.place(problem, Gpu, budget=100, name="anneal")
            with self.assertRaisesRegex(ValueError, "name= is for methods in Python"):
                emplace.place(problem, "anneal", budget=100, name="mine")

    def test_a_method_whose_file_was_edited_is_another(self):
        problem = emplace.Problem(SPEC, MACHINE)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.h5")
            for name, source, method in (
                    ("mine.py", os.path.join(EXAMPLES, "own_lines.py"), f"cmd:{sys.executable} {folder}/mine.py"),
                    ("mine.so", OWN_PLACER, f"{folder}/mine.so")):
                own = os.path.join(folder, name)
                shutil.copy(source, own)
                for _ in range(2):
                    record = emplace.place(problem, method, budget=4, record=path)
                kept = emplace.Record.load(path).facts
                with open(own, "ab") as file:
                    file.write(b"\n")
                with self.assertRaisesRegex(emplace.Error, "the code of method .* has changed since"):
                    emplace.place(problem, method, budget=4, record=path)
                self.assertEqual(emplace.Record.load(path).facts, kept)
                edited = emplace.place(problem, method, budget=4, record=path, force=True)
                self.assertNotEqual(edited.method_hash, record.method_hash)
                os.remove(path)


class Identities(unittest.TestCase):
    """Hashes of methods in Python."""

    TEXT = """
class Base:
    rate = {rate}
    def step(self): return helper({step})
class Agent(Base):
    seen = []
    def __init__(self, task, width=1): self.width = width
    def ask(self, count): return [{row}] * count
def helper(x): return x + {add}
def make(task): return Agent(task)
def make_with(width): return lambda task: Agent(task, width)
"""
    NAMES = {"rate": 1, "step": 2, "row": 3, "add": 4}

    def agents(self, path=None, **changed):
        """The names of the text, compiled at a prompt or imported from a file."""
        text, names = self.TEXT.format(**{**self.NAMES, **changed}), {"__name__": "agents"}
        if path is None:
            exec(text, names)
            return names
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        exec(compile(text, path, "exec"), names)
        module = types.ModuleType("agents")
        module.__file__ = path
        module.__dict__.update(names)
        sys.modules["agents"] = module
        linecache.clearcache()
        return names

    def test_hashes_follow_the_code(self):
        with tempfile.TemporaryDirectory() as folder:
            for place in (None, "agents.py"):
                path = place and os.path.join(folder, place)
                before = self.agents(path)
                kinds = (lambda names: names["Agent"], lambda names: names["make"],
                         lambda names: names["make_with"](3), lambda names: functools.partial(names["Agent"], width=3))
                codes = [code_of(kind(before)) for kind in kinds]
                before["Agent"].seen.append(1)  # what changes in a run is no part of it
                self.assertEqual([code_of(kind(before)) for kind in kinds], codes)
                self.assertEqual([code_of(kind(self.agents(path))) for kind in kinds], codes)
                self.assertEqual(len(set(codes)), len(codes))
                for name in self.NAMES:
                    after = self.agents(path, **{name: 9})
                    for kind, code in zip(kinds, codes):
                        self.assertNotEqual(code_of(kind(after)), code, (place, name))
                self.assertNotEqual(code_of(before["make_with"](4)), codes[2])
                self.assertNotEqual(code_of(functools.partial(before["Agent"], width=4)), codes[3])
        sys.modules.pop("agents", None)

    def test_hashes_are_those_of_another_process(self):
        text = "import sys; sys.path[:0] = {}; from own_annealing import Annealing; " \
               "from emplace._identity import code_of; print(code_of(Annealing))"
        texts = [subprocess.run([sys.executable, "-c", text.format([EXAMPLES])], capture_output=True, text=True,
                                check=True).stdout for _ in range(2)]
        self.assertEqual(texts[0], texts[1])
        self.assertRegex(texts[0], "^[0-9a-f]{16}$")

    def test_names(self):
        names = self.agents()
        self.assertEqual([name_of(names["Agent"]), name_of(names["make"]), name_of(names["make_with"](1)),
                          name_of(functools.partial(names["make"])), name_of(names["Agent"](None))],
                         ["Agent", "make", "lambda", "make", "Agent"])


class Same(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.problem = emplace.Problem(SPEC, MACHINE)
        cls.random = emplace.place(cls.problem, "random", budget=150, seed=5)

    def test_all_forms_give_what_random_gives(self):
        for method in (RandomRows, LINES, OWN_PLACER):
            record = emplace.place(self.problem, method, budget=150, seed=5)
            self.assertEqual(found(record), found(self.random), method)
            if method != OWN_PLACER:
                self.assertEqual(record.placement, self.random.placement)

    def test_a_shared_library_is_told_the_scores(self):
        record = emplace.place(self.problem, os.path.join(PLUGINS, "faulty.so"), budget=128, options="best")
        first, second = record.curve
        self.assertGreater(first["mean_s"], first["best_s"])
        self.assertAlmostEqual(second["mean_s"], first["best_s"], places=12)

    def test_annealing(self):
        sys.path.insert(0, EXAMPLES)
        from own_annealing import Annealing
        problem = emplace.Problem("rnnlm:layers=2,steps=4,units=512,batch=64", "k40x4")
        own = emplace.place(problem, "anneal", budget=600, seed=3,
                            options="moves=ops,near=0,propagate=0")
        self.assertLess(own.step_time_s, own.curve[0]["best_s"])
        for method in (Annealing, f"cmd:{sys.executable} {EXAMPLES}/own_annealing.py"):
            record = emplace.place(problem, method, budget=600, seed=3)
            self.assertEqual(found(record), found(own), method)
            self.assertTrue(all(c < 0 or here == there for c, here, there in zip(
                problem.class_of_op, record.placement, own.placement)), method)

    def test_scores_come_back_in_order(self):
        seen = []

        class Method(RandomRows):
            def tell(self, scores):
                seen.extend(scores)

        record = emplace.place(self.problem, Method, budget=100, seed=5)
        rows = RandomRows(type("Task", (), {"seed": 5, "devices": [0] * 3,
                                            "class_count": self.problem.class_count})).ask(100)
        times, fits = emplace.Oracle(self.problem).score(rows, groups=[
            max(c, 0) for c in self.problem.class_of_op])
        self.assertEqual([score.step_time for score in seen], times.tolist())
        self.assertEqual([score.fits for score in seen], fits.tolist())
        self.assertEqual(record.step_time_s, min(times))

    def test_a_callback_ends_the_run(self):
        calls = []

        def watch(scores):
            calls.append(len(scores))
            return len(calls) < 2

        record = emplace.place(self.problem, RandomRows, budget=1000, callback=watch)
        self.assertEqual((record.evaluations, record.stopped_by), (128, "method"))

    def test_an_exception_of_a_method_is_the_caller_s(self):
        class Broken(RandomRows):
            def tell(self, scores):
                raise KeyError("zebra")

        with self.assertRaisesRegex(KeyError, "zebra"):
            emplace.place(self.problem, Broken, budget=100)

    def test_rows_are_lists_of_integers(self):
        count = self.problem.class_count
        kinds = [[0] * count, (0,) * count, memoryview(bytes(count)), array.array("q", [0] * count)]
        refused = [(1.5, "1.5, a float"), (1.0, "1.0, a float"), ("1", "'1', a str"), (None, "None, a NoneType")]
        if numpy is not None:
            kinds += [numpy.zeros(count, "uint8"), numpy.zeros(count, "int64"), [numpy.int32(0)] * count,
                      numpy.zeros((count, 2), "int64")[:, 0]]
            refused += [(numpy.float64(1), r".*1.0.*, a float64")]

        def run(rows):
            class Given(RandomRows):
                def ask(self, _):
                    return rows
            return emplace.place(self.problem, Given, budget=2)

        for row in kinds:
            self.assertEqual(run([kinds[0], row]).evaluations, 2)
        for value, words in refused:
            with self.assertRaisesRegex(TypeError, f"row 1 .*: entry 3 is {words}; .* integer"):
                run([kinds[0], [0] * 3 + [value] + [0] * (count - 4)])
        for rows, words in ((5, "gives 5, a int"), ([5], "row 0 .* 5, a int"), (["1" * count], "row 0 .* a str"),
                            ("11", "a str"), ({0: 1}, "a dict"), ([{0: 1}], "row 0 .* a dict"),
                            ([[[0]] * count], "row 0 .*: entry 0 is a list")):
            with self.assertRaisesRegex(TypeError, words):
                run(rows)
        if numpy is not None:
            for kind, words in (("float64", "0.0, a float"), ("U1", "'', a str"), ("complex64", "0j, a complex")):
                with self.assertRaisesRegex(TypeError, f"row 1 .*: entry 0 is {words}"):
                    run([kinds[0], numpy.zeros(count, kind)])
            with self.assertRaisesRegex(TypeError, "row 0 .*: entry 0 is 0.0, a float"):
                run(numpy.zeros((2, count)))


ANSWER = """
import json, os, sys, time
hello = json.loads(sys.stdin.readline())
rounds = 0
for line in sys.stdin:
    message = json.loads(line)
    if "ask" not in message:
        continue
    rows = [[0] * hello["class_count"]] * message["ask"]
    rounds += 1
    if rounds == 2:
        {fault}
    print(json.dumps({{"classes": rows}}), flush=True)
"""


class Faulty(unittest.TestCase):
    """The second answer is wrong; what the first found stays."""

    @staticmethod
    def command(method, *more, spec=SPEC):
        return [emplace.run.program(), "place", spec, "--machine", MACHINE, "--method", method, "--no-bound", *more]

    def place(self, *arguments, **keywords):
        return subprocess.run(self.command(*arguments, **keywords), capture_output=True, text=True, check=False, timeout=60)

    def run_faulty(self, method, *more):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.h5")
            done = self.place(method, "--budget", "200", "--record", path, *more)
            record = emplace.Record.load(path) if os.path.isfile(path) else None
        return done, record

    def check_method(self, method, words, *more):
        done, record = self.run_faulty(method, *more)
        self.assertEqual(done.returncode, 1, done.stderr)
        said = [line for line in done.stderr.splitlines() if line.startswith("emplace: ")]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertNotIn("no file was written", done.stderr)
        self.assertRegex(done.stderr, words)
        self.assertEqual((record.evaluations, record.stopped_by), (64, "failure"))
        self.assertGreater(record.step_time_s, 0)

    @contextlib.contextmanager
    def program(self, fault):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(ANSWER.format(fault=fault))
            file.flush()
            yield f"cmd:{sys.executable} {file.name}"

    def check_fault(self, fault, words, *more):
        with self.program(fault) as method:
            self.check_method(method, words, *more)

    def test_programs(self):
        for fault, words in (
                ("os.kill(os.getpid(), 11)", r"ended by signal 11 \(Segmentation fault\)"),
                ("sys.exit(3)", "ended with status 3"),
                ("print('zebra', flush=True)", 'answers "zebra"'),
                ("print('[1]', flush=True)", "no object"),
                ("print('{\"placements\": 1}', flush=True)", "without a list"),
                ("print('{\"placements\": [], \"times\": [0.001]}', flush=True)", 'answers with "times"'),
                ("rows = rows * 2", "128 placements, and is asked for 64"),
                ("rows = [[9] * hello['class_count']]", 'op ".*" on device 9'),
                ("rows = [[0]]", r"placement 0 is no list of \d+ devices"),
                ("rows = [['zebra'] * hello['class_count']]", "entry 0 of its placement 0"),
                ("print('[' * 10**7, flush=True)", "(more than|no JSON)")):
            with self.subTest(fault):
                self.check_fault(fault, words)

    def test_a_program_that_hangs(self):
        begin = time.monotonic()
        self.check_fault("time.sleep(600)", "has not answered for 5", "--options", "timeout=5")
        self.assertLess(time.monotonic() - begin, 60)

    def test_a_program_that_hangs_until_the_run_s_time_is_up(self):
        with self.program("time.sleep(600)") as method:
            done, record = self.run_faulty(method, "--seconds", "6")
        self.assertEqual((done.returncode, record.stopped_by), (0, "budget"), done.stderr)

    def test_a_program_that_answers_before_it_has_read_everything(self):
        done = self.place("cmd:cat", spec="nmt:layers=2")
        self.assertEqual(done.returncode, 1)
        self.assertIn('its program answers with "hello"', done.stderr)

    def test_what_is_wrong_from_the_start_leaves_no_record(self):
        for method, words in (("cmd:false", "ended with status 1"),
                              ("./none.so", "No such file"),
                              ("socket:77", "descriptor 77"),
                              ("socket:zebra", "names no descriptor"),
                              ("cmd:true --options", "ended with status 0")):
            done, record = self.run_faulty(method)
            self.assertEqual((done.returncode, record), (1, None), method)
            self.assertRegex(done.stderr, words)
        done, record = self.run_faulty("cmd:true", "--options", "timeout=zebra")
        self.assertRegex(done.stderr, "has no timeout above 0")

    def test_shared_libraries(self):
        for fault, words in (("crash", r"ended by signal 11"), ("exit", "ended with status 3"),
                             ("many", "ask\\(\\) gives 65 placements"),
                             ("device", 'op ".*" on device 9'), ("say", "the placer says no"),
                             ("status", r"ask\(\) fails with status -3"),
                             ("interrupted", r"ask\(\) fails with status -9"),
                             ("elsewhere", r"ask\(\) fails with status -10"),
                             ("number", r"ask\(\) fails with status 77")):
            self.check_method(os.path.join(PLUGINS, "faulty.so"), words, "--options", fault)
        self.check_method(os.path.join(PLUGINS, "faulty.so"), "has not answered for 5", "--options",
                          "hang,timeout=5")
        done, record = self.run_faulty(os.path.join(PLUGINS, "faulty.so"), "--options", "init")
        self.assertRegex(done.stderr, "init\\(\\) fails|no beginning")
        self.assertIsNone(record)

    def test_interrupted_runs_keep_what_they_found(self):
        with self.program("open(hello['options'], 'w').close(); time.sleep(600)") as method, \
                tempfile.TemporaryDirectory() as folder:
            path, mark = os.path.join(folder, "run.h5"), os.path.join(folder, "mark")
            child = subprocess.Popen(self.command(method, "--budget", "200", "--record", path,
                                                  "--options", mark), stdout=subprocess.DEVNULL)
            while not os.path.exists(mark):
                time.sleep(0.05)
            child.terminate()
            self.assertEqual(child.wait(timeout=30), 130)
            self.assertEqual(emplace.Record.load(path).stopped_by, "interrupt")

    def test_files_that_appear_during_a_run_stay(self):
        with self.program("print('theirs', file=open(hello['options'], 'w'))") as method, \
                tempfile.TemporaryDirectory() as folder:
            for option, name, kept in (("--record", "run.h5", "run.kept.h5"), ("--out", "best.json", "best.kept.json")):
                path = os.path.join(folder, name)
                done = self.place(method, "--budget", "200", option, path, "--options", path)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"{name} was made by another program meanwhile", done.stderr)
                self.assertIn(kept, done.stderr)
                with open(path) as file:
                    self.assertEqual(file.read(), "theirs\n")
                self.assertGreater(os.path.getsize(os.path.join(folder, kept)), 0)


SCRIPT = """
import os, sys, time
import emplace

problem = emplace.Problem("{spec}", "{machine}")

class Method:
    by_class = True
    rounds = 0
    def __init__(self, task):
        self.count = task.class_count
    def ask(self, count):
        Method.rounds += 1
        if Method.rounds == 3:
            {fault}
        return [[0] * self.count] * count

try:
    emplace.place(problem, {method}, {budget}, record=sys.argv[1], callback={callback})
except BaseException as error:
    print(type(error).__name__, error, flush=True)
"""


class Ends(unittest.TestCase):
    """A run that does not come to its end keeps what it found, and leaves no lock."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "run.h5")

    def tearDown(self):
        self.folder.cleanup()

    def start(self, method="Method", fault="pass", callback=None, budget="budget=6400"):
        text = SCRIPT.format(spec=SPEC, machine=MACHINE, method=method, fault=fault, callback=callback,
                             budget=budget)
        return subprocess.Popen([sys.executable, "-c", text, self.path], stdout=subprocess.PIPE, text=True,
                                process_group=0)

    def wait_for(self, name):
        while not os.path.exists(os.path.join(self.folder.name, name)):
            time.sleep(0.02)

    def record(self):
        self.assertEqual(os.listdir(self.folder.name), ["run.h5"])
        return emplace.Record.load(self.path)

    def test_a_method_or_callback_that_raises(self):
        for fault, callback, words in (("raise KeyError('zebra')", None, "KeyError 'zebra'"),
                                       ("raise BrokenPipeError('its own')", None, "BrokenPipeError its own"),
                                       ("sys.exit(3)", None, "SystemExit 3"),
                                       ("pass", "lambda scores: 1 / 0", "ZeroDivisionError")):
            child = self.start(fault=fault, callback=callback)
            self.assertIn(words, child.communicate(timeout=60)[0])
            record = self.record()
            self.assertEqual((record.evaluations, record.stopped_by), (64 if callback else 128, "failure"))
            os.remove(self.path)

    def interrupt(self, child, send):
        self.wait_for("run.h5.lock")
        time.sleep(1.5)  # until something is found
        send(child.pid, signal.SIGINT)
        self.assertIn("KeyboardInterrupt", child.communicate(timeout=60)[0])
        record = self.record()
        self.assertEqual(record.stopped_by, "interrupt")
        self.assertGreater(record.evaluations, 0)
        os.remove(self.path)

    def test_ctrl_c(self):
        for send in (os.kill, os.killpg):
            self.interrupt(self.start(fault="time.sleep(60)"), send)
            self.interrupt(self.start(method="'anneal'", budget="seconds=60"), send)

    def test_the_end_of_python_ends_the_program(self):
        for method, fault, budget in (("Method", "time.sleep(60)", "budget=6400"),
                                      ("'anneal'", "pass", "seconds=600")):
            child = self.start(method, fault, budget=budget)
            self.wait_for("run.h5.lock")
            time.sleep(1.5)
            child.kill()
            child.communicate()
            self.wait_for("run.h5")
            while os.path.exists(self.path + ".lock"):
                time.sleep(0.02)
            self.assertIn(self.record().stopped_by, ("interrupt", "failure"))
            os.remove(self.path)


if __name__ == "__main__":
    unittest.main()
