# SPDX-License-Identifier: GPL-3.0-or-later
"""Do agents in files of Python take part in comparisons as the program's own methods do? Do environments
leave records of what they had scored?"""
import json
import os
import subprocess
import tempfile
import textwrap
import unittest

import emplace
from emplace.agent import find, load

try:
    import numpy
except ImportError:
    numpy = None
try:
    import gymnasium
except ImportError:
    gymnasium = None

SPEC, MACHINE = "rnnlm:layers=1,steps=2,units=64,batch=8", "k40x2"
PROGRAM = os.environ["EMPLACE_PROGRAM"]

RANDOM = textwrap.dedent("""
    import emplace
    class Rows:
        by_class = True
        def __init__(self, task):
            self.task, self.candidate, self.metrics = task, 0, {"drawn": 0}
        def ask(self, count):
            rows = []
            for _ in range(count):
                stream = emplace.Random(self.task.seed, self.candidate)
                rows.append(stream.below(len(self.task.devices), self.task.class_count))
                self.candidate += 1
            self.metrics = {"drawn": self.candidate}
            print("printed, which disturbs nothing")
            return rows
    """)

CARD = textwrap.dedent("""
    card:
      peak: {fp32: "20 TFLOP/s", fp16: "40 TFLOP/s"}
      memory: "8 GiB"
      rate: "300 GB/s"
      bus: "PCIe 4 x16"
      class: "consumer"
    """)
TRAIN = textwrap.dedent("""
    def train(task):
        env = task.env("OneShot")
        assert env.problem.graph.names == task.names
        for action, _ in zip(__import__("emplace.env").env.random_actions(env, task.seed), range(1000)):
            env.reset(seed=task.seed)
            task.log(spread=float(action.std()))
            env.step(action)
    """)


def placed(problem, record):
    """The devices of ops that run; a folded op may be anywhere."""
    folded = problem.graph.is_folded.tolist()
    return [record.devices[name] for name, is_folded in zip(problem.graph.names, folded) if not is_folded]


LATE = textwrap.dedent("""
    class Late:
        by_class = True
        def __init__(self, task):
            self.row, self.metrics = [0] * task.class_count, {}
        def ask(self, count):
            return [self.row]
        def tell(self, scores):
            self.metrics = {"late": 1}
    """)


def run(folder, *arguments, status=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


class Agents(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = kept.name

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def compare(self, methods, *more):
        self.write("tasks.txt", f"small {SPEC} {MACHINE}\n"
                   f"larger rnnlm:layers=1,steps=3,units=64,batch=8 {MACHINE}\n")
        return run(self.folder, "bench", "placers", "--tasks", "tasks.txt", "--methods", methods, "--budgets",
                   "40", "--seeds", "2", "--draws", "0", "--rankings", "ranks.csv", "--force", *more)

    def test_an_agent_stands_in_the_comparison_with_ranks(self):
        self.write("mine.py", RANDOM)
        said = self.compare("anneal,random,mine.py,again=mine.py:Rows")
        with open(os.path.join(self.folder, "ranks.csv"), encoding="utf-8") as file:
            table = [line.rstrip("\n").split(",") for line in file if not line.startswith("#")]
        rows = {row[table[0].index("entrant")]: dict(zip(table[0], row)) for row in table[1:]}
        self.assertEqual(set(rows), {"anneal", "random", "mine", "again"}, said)
        self.assertEqual(rows["mine"]["mean_rank"], rows["random"]["mean_rank"])
        self.assertEqual(rows["again"]["mean_rank"], rows["random"]["mean_rank"])
        self.assertLess(float(rows["anneal"]["mean_rank"]), float(rows["mine"]["mean_rank"]))

    def test_runs_are_on_record_until_the_agent_is_edited(self):
        self.write("mine.py", RANDOM)
        self.compare("mine.py")
        before = set(os.listdir(os.path.join(self.folder, "runs")))
        self.compare("mine.py")
        self.assertEqual(set(os.listdir(os.path.join(self.folder, "runs"))), before)
        self.write("mine.py", RANDOM + "\n# edited\n")
        self.compare("mine.py")
        self.assertGreater(len(os.listdir(os.path.join(self.folder, "runs"))), len(before))

    def test_python_warns_of_nothing(self):
        self.write("mine.py", RANDOM)
        done = subprocess.run([PROGRAM, "place", SPEC, "--machine", MACHINE, "--method", "mine.py", "--budget", "4"],
                              capture_output=True, text=True, cwd=self.folder, check=True)
        self.assertNotIn("Warning", done.stderr)

    def test_a_task_whose_placements_are_limited_has_no_environment(self):
        self.write("mine.py", TRAIN)
        said = run(self.folder, "place", SPEC, "--machine", MACHINE, "--method", "mine.py", "--budget", "4",
                   "--forbid", "cpu", status=1)
        self.assertIn("classes or devices to choose from that its files do not have", said)

    def test_an_agent_has_an_identity(self):
        self.write("mine.py", RANDOM)
        said = json.loads(self.compare("gpu,mine.py", "--options", "mine:rate=2", "--format", "json"))
        agent, = said["outside"]
        self.assertEqual((agent["entrant"], agent["method"], agent["options"]), ("mine", "mine.py", "rate=2"))
        self.assertRegex(agent["code"], "^[0-9a-f]{16}$")
        self.assertIn(f"code {agent['code']}", self.compare("gpu,mine.py", "--options", "mine:rate=2"))
        self.write("mine.py", RANDOM + "\n# edited\n")
        again = json.loads(self.compare("gpu,mine.py", "--format", "json"))
        self.assertNotEqual(again["outside"][0]["code"], agent["code"])

    def test_an_agent_has_a_column_in_a_table(self):
        self.write("mine.py", RANDOM)
        table = run(self.folder, "table", "1", "--rows", "rnnlm", "--methods", "gpu,mine.py", "--budget", "20",
                    "--seeds", "1", "--format", "csv")
        self.assertIn(",mine.py,", table)
        said = run(self.folder, "table", "2", "--rows", "rnnlm", "--methods", "mine.py", status=1)
        self.assertIn("table 2 has no method", said)

    def test_shards_share_the_runs_of_an_agent(self):
        self.write("mine.py", RANDOM)
        for shard in ("1/2", "2/2"):
            run(self.folder, "bench", "placers", "--rows", "rnnlm", "--methods", "gpu,mine.py", "--budgets", "4",
                "--seeds", "2", "--draws", "0", "--shard", shard)
        records = [name for name in os.listdir(os.path.join(self.folder, "runs")) if name.endswith(".h5")]
        self.assertEqual(sum("mine" in name for name in records), 2, records)

    def test_records_keep_the_metrics_of_an_agent(self):
        self.write("mine.py", RANDOM)
        run(self.folder, "place", SPEC, "-m", MACHINE, "--method", "mine.py", "--budget", "130", "--record",
            "a.h5", "--no-bound")
        record = emplace.Record.load(os.path.join(self.folder, "a.h5"))
        self.assertEqual(record.method, "mine.py")
        self.assertEqual([point["drawn"] for point in record.curve], [64, 128, 130])

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_an_agent_trains_on_an_environment_that_the_program_scores(self):
        self.write("mine.py", TRAIN)
        for method in ("mine.py", "random"):
            run(self.folder, "place", SPEC, "-m", MACHINE, "--method", method, "--budget", "70", "--record",
                f"{method[0]}.h5", "--no-bound")
        mine, random = (emplace.Record.load(os.path.join(self.folder, f"{name}.h5")) for name in "mr")
        self.assertEqual((mine.step_time_s, mine.evaluations), (random.step_time_s, 70))
        problem = emplace.Problem(SPEC, MACHINE)
        self.assertEqual(placed(problem, mine), placed(problem, random))
        self.assertIn("spread", mine.curve[-1])

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_the_example_of_the_documents_learns(self):
        example = os.path.join(os.path.dirname(__file__), "../../docs/examples/own_agent.py")
        run(self.folder, "place", SPEC, "-m", MACHINE, "--method", f"own={example}", "--budget", "150", "--record",
            "a.h5", "--no-bound", "--options", "rate=0.3")
        curve = emplace.Record.load(os.path.join(self.folder, "a.h5")).curve
        self.assertLess(curve[-1]["best_s"], curve[0]["best_s"])
        self.assertIn("advantage", curve[-1])

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_a_machine_of_ones_own_reaches_the_environment(self):
        with open(os.path.join(os.path.dirname(__file__), "../../data/machines/k40x2.yaml"), encoding="utf-8") as file:
            text = file.read()
        self.write("own.yaml", text)
        self.write("mine.py", TRAIN)
        run(self.folder, "place", SPEC, "-m", "own.yaml", "--method", "mine.py", "--budget", "3", "--no-bound")
        # a device model of one's own, in the folder beside the machine's file
        os.mkdir(os.path.join(self.folder, "models"))
        self.write("models/mine.yaml", CARD)
        self.write("own.yaml", text.replace('"k40"', '"mine"'))
        run(self.folder, "place", SPEC, "-m", "own.yaml", "--method", "mine.py", "--budget", "3", "--no-bound")

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_a_function_train_is_an_agent_in_this_program_as_in_a_file(self):
        self.write("mine.py", TRAIN)
        names = {}
        exec(compile(TRAIN, "mine", "exec"), names)  # pylint: disable=exec-used
        here = emplace.place(emplace.Problem(SPEC, MACHINE), names["train"], budget=30)
        there = emplace.place(emplace.Problem(SPEC, MACHINE), os.path.join(self.folder, "mine.py"), budget=30)
        self.assertEqual(here.method, "train")
        self.assertEqual([point["best_s"] for point in here.curve], [point["best_s"] for point in there.curve])

        def train(task):
            raise ValueError("of mine")

        with self.assertRaisesRegex(ValueError, "of mine"):
            emplace.place(emplace.Problem(SPEC, MACHINE), train, budget=30)

    def test_a_request_without_rows_does_not_end_the_run(self):
        def train(task):
            row = [0] * len(task.names)
            for count in (2, 0, 5):
                assert len(task.oracle.score(numpy.array([row] * count, int).reshape(count, len(row)))[0]) == count

        self.assertEqual(emplace.place(emplace.Problem(SPEC, MACHINE), train, budget=40).evaluations, 7)

    def test_what_goes_wrong_is_one_sentence(self):
        cases = (("x = 1", "no class with ask() and no function train()"),
                 (RANDOM + "\nclass More(Rows): pass\n", "several classes with ask(), Rows, More"),
                 ("def train(task):\n    raise ValueError('of mine')", "ended with status 1"),
                 (LATE, "is not among those of its first answer"))
        for text, part in cases:
            self.write("mine.py", text)
            said = run(self.folder, "place", SPEC, "-m", MACHINE, "--method", "mine.py", "--budget", "9", status=1)
            self.assertIn(part, said)

    def test_a_named_thing_of_the_file_is_found(self):
        self.write("mine.py", RANDOM + "\nclass More(Rows): pass\n")
        module = load(os.path.join(self.folder, "mine.py"))
        self.assertEqual(find(module, "More").__name__, "More")
        with self.assertRaises(SystemExit):
            find(module, "Less")


@unittest.skipIf(numpy is None, "numpy is not installed")
class Environments(unittest.TestCase):
    def setUp(self):
        import emplace.env
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.path = os.path.join(kept.name, "run.h5")
        self.problem = emplace.Problem(SPEC, MACHINE)

    def test_an_environment_leaves_the_record_of_its_agent(self):
        env = emplace.env.OneShot(self.problem, record=self.path, agent="mine", options="rate=2")
        env.reset(seed=5)
        for number, action in zip(range(70), emplace.env.random_actions(env, 5)):
            env.log(loss=number, half=number / 2)
            env.step(action)
            env.reset()
        self.assertFalse(os.path.exists(self.path))
        env.close()
        record = emplace.Record.load(self.path)
        random = emplace.place(self.problem, "random", budget=70, seed=5)
        self.assertEqual((record.method, record.seed, record.options), ("mine", 5, "rate=2"))
        self.assertEqual((record.step_time_s, record.evaluations), (random.step_time_s, 70))
        self.assertEqual(placed(self.problem, record), placed(self.problem, random))
        self.assertEqual([point["loss"] for point in record.curve], list(range(70)))
        env.close()  # does nothing more
        with self.assertRaises(FileExistsError):
            emplace.env.OneShot(self.problem, record=self.path)

    def test_vectors_and_steps_are_recorded_too(self):
        with self.subTest("vector"):
            many = emplace.env.Vector(emplace.env.OneShot, self.problem, 4, groups="names:8", record=self.path)
            many.reset(seed=1)
            many.action_space.seed(1)
            for _ in range(3):
                many.step(many.action_space.sample())
                many.reset()
            many.close()
            self.assertEqual(emplace.Record.load(self.path).evaluations, 12)
        os.remove(self.path)
        with self.subTest("improve"):
            env = emplace.env.Improve(self.problem, groups="metis:4", record=self.path)
            env.reset(seed=1)
            for _ in range(env.group_count):
                env.step(1)
            env.close()
            self.assertEqual(emplace.Record.load(self.path).evaluations, env.group_count + 1)

    def test_what_a_record_cannot_hold_is_refused_before_any_work(self):
        for keywords, reason in (({"record": "/no/such/folder/run.h5"}, "no folder"),
                                 ({"record": self.path, "options": "x" * 256}, "room for 255")):
            with self.assertRaisesRegex((ValueError, OSError), reason):
                emplace.env.OneShot(self.problem, **keywords)
        env = emplace.env.OneShot(self.problem, record=self.path)
        with self.assertRaisesRegex(ValueError, "none that a record can hold"):
            env.reset(seed=2**63)
        with self.assertRaisesRegex(ValueError, "room for 16 metrics"):
            env.log(**{f"m{i}": i for i in range(17)})
        with self.assertRaisesRegex(ValueError, "room for 63"):
            env.log(**{"m" * 64: 1})

    def test_a_record_that_cannot_be_written_keeps_its_scores(self):
        folder = os.path.join(os.path.dirname(self.path), "inner")
        os.mkdir(folder)
        env = emplace.env.OneShot(self.problem, record=os.path.join(folder, "run.h5"))
        env.reset(seed=1)
        env.step(env.action_space.sample())
        os.rmdir(folder)
        with self.assertRaises(emplace.Error):
            env.close()
        os.mkdir(folder)
        env.close()
        self.assertEqual(emplace.Record.load(os.path.join(folder, "run.h5")).evaluations, 1)

    def test_an_unused_environment_leaves_none(self):
        env = emplace.env.OneShot(self.problem, record=self.path)
        env.close()
        self.assertFalse(os.path.exists(self.path))
        with self.assertRaises(ValueError):
            emplace.env.OneShot(self.problem).log(loss=1)

    def test_groupings_are_those_of_the_program(self):
        for kind, most in (("metis", 8), ("scotch", 8), ("names", 8), ("colocrl", 1000)):
            groups = self.problem.groups(kind, most)
            used = {number for number in groups if number >= 0}
            self.assertEqual(used, set(range(len(used))), kind)
            self.assertLessEqual(len(used), most + 1)
            self.assertGreater(len(used), 1)
            env = emplace.env.OneShot(self.problem, groups=groups)
            self.assertEqual(env.group_count, len(used))
        named = emplace.env.OneShot(self.problem, groups="metis:8")
        self.assertEqual(named.groups.tolist(),
                         emplace.env.OneShot(self.problem, groups=self.problem.groups("metis", 8)).groups.tolist())
        for wrong in ("zebra", "metis:x", "metis:0"):
            with self.assertRaises((emplace.Error, ValueError)):
                emplace.env.OneShot(self.problem, groups=wrong)

    def test_a_step_can_be_explained_and_bounded(self):
        env = emplace.env.OneShot(self.problem, render_mode="ansi")
        self.assertIn("no placement", env.render())
        env.reset()
        env.step(numpy.zeros(env.group_count, int))
        text = env.render()
        self.assertTrue(text.startswith("bound by"), text)
        self.assertLessEqual(text.count("\n"), 10)
        self.assertEqual(text, self.problem.explain([0] * self.problem.graph.op_count))
        best = emplace.place(self.problem, budget=50).step_time_s
        self.assertTrue(0 < self.problem.bound() <= best)

    @unittest.skipIf(gymnasium is None, "gymnasium is not installed")
    def test_gymnasium_makes_them(self):
        for kind in ("OneShot", "Improve", "Sequential"):
            env = gymnasium.make(f"emplace/{kind}-v0", problem=self.problem, groups="metis:4")
            env.reset(seed=1)
            env.step(env.action_space.sample())
            env.close()


class Graphs(unittest.TestCase):
    OPS = {"a": {"gpu_s": 1e-3, "cpu_s": 2e-2, "output_bytes": 4096}, "b": {"gpu_s": 2e-3, "cpu_s": 9e-2},
           "c": {"gpu_s": 2e-3, "cpu_s": 9e-2}}

    def test_a_graph_of_ones_own_ops_is_placed_and_recorded(self):
        graph = emplace.Graph.from_ops(self.OPS, edges=[("a", "b"), ("a", "c")], controls=[])
        self.assertEqual((graph.names, graph.op_count), (["a", "b", "c"], 3))
        problem = emplace.Problem(graph, MACHINE, "ideal")
        record = emplace.place(problem, "anneal", budget=60)
        self.assertTrue(3e-3 <= record.step_time_s < 5e-3, record.step_time_s)
        self.assertNotEqual(record.devices["b"], record.devices["c"])

    def test_it_may_lie_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.json")
            made = emplace.Graph.from_ops(self.OPS, [("a", "b")], path=path)
            self.assertEqual(emplace.Graph(path).names, made.names)
            with self.assertRaises(FileExistsError):
                emplace.Graph.from_ops(self.OPS, [], path=path)
        with self.assertRaisesRegex(emplace.Error, "there is no op \"z\""):
            emplace.Graph.from_ops(self.OPS, [("a", "z")])


if __name__ == "__main__":
    unittest.main()
