# SPDX-License-Identifier: GPL-3.0-or-later
"""test_serve.py EMPLACE: does the server answer as the commands do, each client in its turn, and refuse
what is no request?"""
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

EMPLACE = sys.argv.pop(1)
SPEC, MACHINE = "rnnlm:layers=1,steps=2,units=64,batch=8", "k40x2"
LOAD = {"do": "load", "graph": SPEC, "machine": MACHINE}


def emplace(*arguments):
    return json.loads(subprocess.run([EMPLACE, *arguments, "--format", "json"], capture_output=True,
                                     check=True, text=True).stdout)


def answers(requests, *options):
    """The server's answers on standard output; requests are objects or lines."""
    lines = [r if isinstance(r, str) else json.dumps(r) for r in requests]
    done = subprocess.run([EMPLACE, "serve", *options], input="\n".join(lines) + "\n", check=True,
                          capture_output=True, text=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


def refusal(path):
    done = subprocess.run([EMPLACE, "serve", "--socket", path], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
    return done.stderr


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(100):
            try:
                self.socket.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.05)
        self.file = self.socket.makefile("rw")

    def ask(self, **request):
        self.file.write(json.dumps(request) + "\n")
        self.file.flush()
        return json.loads(self.file.readline())

    def close(self):
        self.file.close()
        self.socket.close()


def arrived(client):
    """The answers that have come and are not read."""
    try:
        return client.socket.recv(1 << 24, socket.MSG_PEEK | socket.MSG_DONTWAIT).count(b"\n")
    except BlockingIOError:
        return 0


class Pipe(unittest.TestCase):
    def test_answers_are_those_of_the_commands(self):
        ops = answers([LOAD])[0]["op_count"]
        cpu, why, run = answers([
            LOAD,
            {"id": "a", "do": "score", "problem": 1, "placements": [[0] * ops]},
            {"do": "explain", "problem": 1, "placement": [0] * ops},
            {"id": 7, "do": "place", "problem": 1, "method": "anneal", "budget": 50, "seed": 3}])[1:]
        self.assertEqual(cpu["id"], "a")
        simulated = emplace("simulate", SPEC, "--machine", MACHINE, "--placement", "cpu", "--why")
        self.assertEqual([float(f"{t:.15g}") for t in cpu["step_time_s"]], [simulated["step_time_s"]])
        self.assertEqual((cpu["fits"], cpu["overflow"]), ([True], [0]))
        self.assertEqual(why["why"], simulated["why"])
        placed = emplace("place", SPEC, "--machine", MACHINE, "--method", "anneal", "--budget", "50",
                         "--seed", "3")
        self.assertEqual((run["id"], float(f"{run['step_time_s']:.15g}"), run["evaluations"]),
                         (7, placed["step_time_s"], 50))
        again = answers([LOAD, {"do": "score", "problem": 1, "placements": [run["placement"]]}])[1]
        self.assertEqual(again["step_time_s"], [run["step_time_s"]])

    def test_files_that_were_written_since_are_read_again(self):
        def ops(path, gpu_s):
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"format": "emplace-ops-1", "ops": [
                    {"name": "a", "gpu_s": gpu_s, "cpu_s": 1, "output_bytes": 1_000_000_000},
                    {"name": "b", "gpu_s": gpu_s, "cpu_s": 1}], "edges": [["a", "b"]]}, file)

        def machine(path, rate):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'''description: "two cards"
nodes: [{{name: "socket:0"}}]
devices:
  - {{model: "haswell-18", at: "socket:0"}}
  - {{model: "k40", count: 2, at: "socket:0", bandwidth: "{rate} GB/s", latency: "0 us"}}
''')

        with tempfile.TemporaryDirectory() as folder:
            graph, card = os.path.join(folder, "g.ops.json"), os.path.join(folder, "cards.yaml")
            load = {"do": "load", "graph": graph, "machine": card}
            ops(graph, 1e-3)
            machine(card, 10)
            path = os.path.join(folder, "serve")
            with subprocess.Popen([EMPLACE, "serve", "--socket", path]) as server:
                client, found = Client(path), []
                for change in (lambda: None, lambda: None, lambda: machine(card, 5), lambda: ops(graph, 2e-3)):
                    change()
                    number = client.ask(**load)["problem"]
                    apart, = client.ask(do="score", problem=number, placements=[[1, 2]])["step_time_s"]
                    found.append((number, apart))
                client.close()
                server.terminate()
        self.assertEqual([number for number, _ in found], [1, 1, 2, 3])
        self.assertAlmostEqual((found[2][1] - 2e-3) / (found[0][1] - 2e-3), 2, delta=0.01)  # half the rate
        self.assertAlmostEqual(found[3][1] - found[2][1], 2e-3, delta=1e-6)  # two ops of 1 ms more

    def test_rows_by_class_are_rows_by_op(self):
        facts = answers([LOAD])[0]
        draw = random.Random(1)
        rows = [[draw.randrange(3) for _ in range(facts["class_count"])] for _ in range(3)]
        answer = answers([LOAD, {"do": "score", "problem": 1, "classes": rows}])[1]
        self.assertEqual(len(answer["step_time_s"]), 3)
        self.assertEqual(len(set(answer["step_time_s"])), 3)

    def test_the_runtime_fits_the_graph(self):
        spec = "transformer:layers=1,hidden=64,heads=4,vocab=100,seq=8,phase=decode"
        load = {"do": "load", "graph": spec, "machine": MACHINE}
        got = answers([load, {**load, "runtime": "graph-launch"}, load, LOAD])
        self.assertEqual([a["runtime"] for a in got], ["graph-launch"] * 3 + ["tf-r1.3"])
        self.assertEqual([a["problem"] for a in got], [1, 2, 1, 3])

    def test_problems_make_room_for_each_other_by_their_bytes(self):
        graphs = [SPEC.replace("steps=2", f"steps={steps}") for steps in (2, 3, 4, 5)]
        loads = [{"do": "load", "graph": graph, "machine": MACHINE} for graph in graphs]
        status = {"do": "status"}
        sizes = [answers([load, status])[1]["problem_bytes"] for load in loads]
        self.assertEqual(sizes, sorted(sizes))
        self.assertGreater(sizes[0], 100_000)
        room = sizes[1] + sizes[2] + sizes[3]  # of any three but the largest two and the least
        got = answers([*loads[:3], status, {"do": "score", "problem": 1, "placements": []}, loads[3], status,
                       *({"do": "score", "problem": number, "placements": []} for number in (1, 2, 3, 4)),
                       {"do": "drop", "problem": 4}, status], "--memory", f"{room} B")
        for answer, kept in ((got[3], sizes[:3]), (got[6], sizes[:1] + sizes[2:])):
            self.assertEqual(answer["problems"], 3)
            self.assertAlmostEqual(answer["problem_bytes"] / sum(kept), 1, delta=0.03)
        self.assertEqual(["error" in answer for answer in got[7:11]], [False, True, False, False])
        self.assertIn("no problem 2 any more", got[8]["error"])
        self.assertAlmostEqual(got[12]["problem_bytes"] / (sizes[0] + sizes[2]), 1, delta=0.03)

    def test_a_problem_of_too_many_bytes_is_refused(self):
        large = {"do": "load", "graph": "nmt:layers=8", "machine": MACHINE}
        got = answers([LOAD, large, {"do": "status"}, {"do": "score", "problem": 1, "placements": []}, LOAD],
                      "--memory", "4 MiB", "--problems", "1")
        self.assertEqual(got[1]["status"], "EMP_ENOMEM")
        self.assertIn("more memory than --memory allows, 4 MiB", got[1]["error"])
        self.assertEqual(got[2]["problems"], 1)
        self.assertNotIn("error", got[3])
        self.assertEqual(got[4]["problem"], 1)

    def test_what_is_no_request_is_told(self):
        cases = (
            ("zebra", "line 1"), ("[]", "a request is an object"), ("{}", 'has "do"'),
            ({"do": "zebra"}, '"do" is "zebra"'), ({"do": "status", "x": 1}, 'has no member "x"'),
            ({"do": "load", "graph": SPEC}, 'needs "machine"'),
            ({"do": "load", "graph": 5, "machine": MACHINE}, '"graph" is no text'),
            ({"do": "load", "graph": "zebra", "machine": MACHINE}, "neither a file nor a workload"),
            ({"do": "load", "graph": SPEC, "machine": "zebra"}, "zebra"),
            ({"do": "score", "problem": 1}, "needs one of"),
            ({"do": "score", "problem": 0, "placements": []}, "from 1 to"),
            ({"do": "score", "problem": 1, "placements": [[0]]}, "has 1 numbers"),
            ({"do": "score", "problem": 1, "placements": [0]}, "has 0 numbers"),
            ({"do": "score", "problem": 1, "placements": [[]] * 4097}, "4097 placements"),
            ({"do": "explain", "problem": 1, "placement": [3]}, "has 1 numbers"),
            ({"do": "place", "problem": 1, "method": "zebra", "budget": 1}, 'no method "zebra"'),
            ({"do": "place", "problem": 1, "method": "cmd:true", "budget": 1}, "from outside"),
            ({"do": "place", "problem": 1, "method": "anneal", "budget": 0}, '"budget" is 0'),
            ({"do": "place", "problem": 1, "method": "anneal", "budget": 1, "options": "x=1"}, "x"),
            ({"id": [], "do": "status"}, '"id" is neither'),
            ({"id": "x" * 100, "do": "status"}, "more than 64 bytes"),
            ("[" * 100000, "line 1"), ('{"do":"status","do":"status"}', "do"))
        got = answers([LOAD, *(request for request, _ in cases)])[1:]
        self.assertEqual(len(got), len(cases))
        for (request, words), answer in zip(cases, got):
            self.assertIn(words, answer["error"], request)
            self.assertRegex(answer["status"], "^EMP_E")

    def test_a_line_that_is_too_long_ends_the_connection(self):
        got = answers(["x" * 3000000, {"do": "status"}], "--line-bytes", "1MB")
        self.assertEqual(len(got), 1)
        self.assertIn("longer than --line-bytes", got[0]["error"])


class Socket(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "serve")
        # AddressSanitizer would keep all freed memory up to 256 MB.
        self.server = subprocess.Popen([EMPLACE, "serve", "--socket", self.path, "--most-runs", "1"],
                                       env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=4"})

    def tearDown(self):
        self.server.terminate()
        self.assertEqual(self.server.wait(timeout=30), 130)
        self.assertFalse(os.path.exists(self.path))
        self.folder.cleanup()

    def stop_server(self):
        """Until SIGCONT."""
        self.server.send_signal(signal.SIGSTOP)
        os.waitpid(self.server.pid, os.WUNTRACED)

    def begin_run(self, client, **more):
        """The process of a run that does not end, below the one that watches it."""
        client.ask(**LOAD)
        client.file.write(json.dumps({"do": "place", "problem": 1, "method": "anneal", "budget": 10_000_000,
                                      **more}) + "\n")
        client.file.flush()
        below = self.server.pid
        for _ in range(2):
            listed = ""
            while not listed:
                with open(f"/proc/{below}/task/{below}/children", encoding="ascii") as children:
                    listed = children.read()
                time.sleep(0.01)
            below = int(listed.split()[0])
        return below

    def memory_kib(self):
        with open(f"/proc/{self.server.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

    def test_a_hundred_clients_are_each_served(self):
        first = Client(self.path)
        classes = first.ask(**LOAD)["class_count"]
        row = [[1] * classes]
        expected = first.ask(do="score", problem=1, classes=row)["step_time_s"]
        before, order, wrong = self.memory_kib(), [], []

        def work(number):
            client = Client(self.path)
            for turn in range(10):
                answer = client.ask(id=turn, do="score", problem=1, classes=row)
                order.append((turn, number))
                if (answer["id"], answer["step_time_s"]) != (turn, expected):
                    wrong.append(answer)
            client.close()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((wrong, len(order)), ([], 1000))
        self.assertLess(self.memory_kib() - before, 65536)
        first.close()

    def test_a_hundred_queues_move_on_together(self):
        """Stopped in the middle, the server has answered each of a hundred clients about as often. The
        queues are of one length, so that a busy computer, on which all may be done by then, fails nothing."""
        clients, requests = [Client(self.path) for _ in range(100)], 20
        classes = clients[0].ask(**LOAD)["class_count"]
        request = json.dumps({"do": "score", "problem": 1, "classes": [[1] * classes] * 2}) + "\n"
        self.stop_server()
        for client in clients:
            client.file.write(request * requests)
            client.file.flush()
        self.server.send_signal(signal.SIGCONT)
        while arrived(clients[-1]) == 0:
            time.sleep(0.001)
        self.stop_server()
        answered = [arrived(client) for client in clients]
        self.server.send_signal(signal.SIGCONT)
        self.assertLessEqual(max(answered) - min(answered), 2)
        for client in clients:
            for _ in range(requests):
                self.assertEqual(json.loads(client.file.readline())["fits"], [True] * 2)
            client.close()

    def test_scores_do_not_wait_for_runs(self):
        slow, slower, quick = Client(self.path), Client(self.path), Client(self.path)
        quick.ask(**LOAD)
        for client, budget in ((slow, 20000), (slower, 10)):
            client.file.write(json.dumps({"do": "place", "problem": 1, "method": "anneal",
                                          "budget": budget}) + "\n")
            client.file.flush()
        begin = time.monotonic()
        self.assertEqual(quick.ask(do="status")["problems"], 1)
        asked = time.monotonic() - begin
        self.assertEqual(json.loads(slow.file.readline())["evaluations"], 20000)
        self.assertLess(asked, (time.monotonic() - begin) / 2)
        self.assertEqual(json.loads(slower.file.readline())["evaluations"], 10)
        for client in (slow, slower, quick):
            client.close()

    def test_clients_that_leave_while_others_come_keep_no_place(self):
        early = [Client(self.path) for _ in range(80)]
        self.assertIn("problems", early[-1].ask(do="status"))
        self.stop_server()
        for client in early + [Client(self.path) for _ in range(60)]:
            client.file.write('{"do": "sta')
            client.file.flush()
            client.close()
        last = Client(self.path)
        self.server.send_signal(signal.SIGCONT)
        self.assertIn("problems", last.ask(do="status"))
        last.close()

    def test_connections_end_while_a_run_is_under_way(self):
        other, long = Client(self.path), Client(self.path)
        self.begin_run(other, id=1)
        long.socket.settimeout(60)
        long.socket.sendall(b"x" * ((4 << 20) + 1))
        self.assertIn("longer than --line-bytes", long.file.readline())
        self.assertEqual(long.file.read(), "")
        other.close()
        long.close()

    def test_a_run_that_has_died_is_answered_under_its_id(self):
        client = Client(self.path)
        run = self.begin_run(client, id=7)
        os.kill(run, signal.SIGKILL)
        answer = json.loads(client.file.readline())
        self.assertEqual((answer["id"], answer["error"]), (7, "the run has ended without an answer"))
        self.assertIn("problems", client.ask(do="status"))
        client.close()

    def test_a_second_server_is_refused(self):
        Client(self.path).close()
        self.assertIn("another server", refusal(self.path))


class Signals(unittest.TestCase):
    def test_a_signal_ends_a_long_request(self):
        large = {"do": "load", "graph": "rnnlm:layers=8,steps=2000", "machine": MACHINE}
        with subprocess.Popen([EMPLACE, "serve", "--memory", "16 GiB"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            server.stdin.write(json.dumps(large) + "\n")
            server.stdin.flush()
            ticks = 0
            while ticks < os.sysconf("SC_CLK_TCK"):  # until it has worked for a second
                with open(f"/proc/{server.pid}/stat", encoding="ascii") as stat:
                    ticks = int(stat.read().split()[13])
                time.sleep(0.01)
            server.send_signal(signal.SIGINT)
            out, err = server.communicate(timeout=60)
        self.assertEqual((server.returncode, out, err), (130, "", "emplace: interrupted\n"))


class Places(unittest.TestCase):
    def test_places_that_are_taken_are_refused(self):
        with tempfile.NamedTemporaryFile() as file:
            for path, part in ((file.name, "is no socket"), ("", "needs a path")):
                self.assertIn(part, refusal(path))
            self.assertTrue(os.path.exists(file.name))

    def test_answers_that_cannot_be_written_are_told(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([EMPLACE, "serve"], input='{"do": "status"}\n', stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write to standard output", done.stderr)


if __name__ == "__main__":
    unittest.main()
