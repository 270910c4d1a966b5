# SPDX-License-Identifier: GPL-3.0-or-later
"""test_shards.py EMPLACE: do the parts of a study, merged, give the bytes of the whole? Also when a part
is killed at random moments?"""
import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EMPLACE = sys.argv.pop(1)
STUDY = ["table", "1", "--rows", "rnnlm", "--methods", "cpu,gpu,mincut,scotch,refine", "--budget", "40",
         "--seeds", "2", "--threads", "1", "--format", "csv"]


def emplace(*arguments, status=0):
    done = subprocess.run([EMPLACE, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done


def records(folder):
    """Name and bytes of each record; how long runs took differs from time to time."""
    found = {}
    for name in os.listdir(folder):
        if name.endswith((".h5", ".refused.txt")):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
    return found


class Shards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.whole = cls.at("whole")
        cls.table = emplace(*STUDY, "--runs", cls.whole).stdout

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    @classmethod
    def at(cls, name):
        return os.path.join(cls.place.name, name)

    def check_merged(self, parts):
        into = self.at("merged" + os.path.basename(parts[0]))
        emplace("merge", *parts, "--runs", into)
        self.assertEqual(records(into), records(self.whole))
        before = sorted(os.listdir(into))
        self.assertEqual(emplace(*STUDY, "--runs", into).stdout, self.table)
        self.assertEqual(sorted(os.listdir(into)), before, "a run was made again")

    def test_parts_are_the_whole(self):
        for count in (1, 3, 20):  # 20: more than runs
            parts = [self.at(f"of{count}.{i}") for i in range(1, count + 1)]
            for i, part in enumerate(parts, 1):
                os.makedirs(part, exist_ok=True)
                said = emplace(*STUDY, "--shard", f"{i}/{count}", "--runs", part).stdout
                if count > 1:
                    self.assertEqual(said, f"shard {i} of {count} is made; its runs are in {part}\n")
            sizes = [len(records(part)) for part in parts]
            self.assertEqual(sum(sizes), len(records(self.whole)))
            self.assertLessEqual(max(sizes) - min(sizes), 1)
            self.check_merged(parts)

    def test_parts_whose_runs_begin_where_others_end(self):
        orders = ["bench", "order", "--rows", "rnnlm", "--methods", "m-sct,expert", "--budget", "4", "--seeds", "1",
                  "--threads", "1", "--format", "csv", "--runs"]
        whole, shared = self.at("orders"), self.at("orders.shared")
        table = emplace(*orders, whole).stdout.split("\n", 1)[1]  # the first line names the folder
        for i in (2, 1):
            said = emplace(*orders, shared, "--shard", f"{i}/2").stdout
            self.assertEqual(said, f"shard {i} of 2 is made; its runs are in {shared}\n")
        self.assertEqual(records(shared), records(whole))
        again = emplace(*orders, shared)
        self.assertEqual(again.stdout.split("\n", 1)[1], table)
        self.assertEqual(again.stderr.count("on record"), 2 + 2 * 3)

    def test_parts_may_share_a_folder(self):
        shared = self.at("shared")
        for i in (2, 1):
            emplace(*STUDY, "--shard", f"{i}/2", "--runs", shared)
        self.check_merged([shared])

    def test_a_part_that_is_killed_goes_on(self):
        draw, parts = random.Random(1), [self.at("killed.1"), self.at("killed.2")]
        os.mkdir(parts[0])
        emplace(*STUDY, "--shard", "2/2", "--runs", parts[1])
        ends = (signal.SIGKILL, signal.SIGUSR1, signal.SIGTERM)
        for turn in range(21):
            child = subprocess.Popen([EMPLACE, *STUDY, "--shard", "1/2", "--runs", parts[0]],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0.0, 1.0))
            number = ends[turn % len(ends)]
            child.send_signal(number)
            # 75: a scheduler has ended it. It may be done, or not have begun to listen. 130: it had not read yet that it is a part.
            self.assertIn(child.wait(timeout=60), (0, 75, 130, -number))
        emplace(*STUDY, "--shard", "1/2", "--runs", parts[0])
        self.check_merged(parts)

    def test_a_scheduler_ends_a_part(self):
        part = self.at("warned")
        child = subprocess.Popen([EMPLACE, *STUDY, "--budget", "100000", "--shard", "1/2", "--runs", part],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while "seed 1" not in child.stderr.readline():  # a run is made, and the next is under way
            pass
        child.send_signal(signal.SIGUSR1)
        said, warned = child.communicate(timeout=60)
        self.assertEqual(said, "", "a part prints no table")
        self.assertIn("goes on", warned)
        self.assertEqual(child.returncode, 75)

    def test_two_programs_share_a_folder(self):
        tasks = self.at("tasks.txt")
        with open(tasks, "w", encoding="utf-8") as file:
            for layers in (1, 2):
                file.write(f"tiny{layers} rnnlm:layers={layers},steps=2,units=64,batch=8 k40x2\n")
        study = ["bench", "placers", "--tasks", tasks, "--methods", "gpu,random,anneal,ce", "--budgets", "10000",
                 "--seeds", "3", "--draws", "0", "--format", "csv", "--runs"]
        tables = set()
        for turn, pause in enumerate((0, 0, 0.2)):
            folder, children = self.at(f"both{turn}"), []
            for threads in ("1", "2"):
                children.append(subprocess.Popen([EMPLACE, *study, folder, "--threads", threads], text=True,
                                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE))
                time.sleep(pause)
            made = 0
            for child in children:
                said, log = child.communicate(timeout=120)
                self.assertEqual(child.returncode, 0, log)
                tables.add(said.split("\n", 1)[1])  # the first line names the folder
                made += log.count("run took")
            self.assertEqual(made, sum(name.endswith(".h5") for name in os.listdir(folder)), "each run is made once")
            self.assertEqual([name for name in os.listdir(folder) if not name.endswith((".h5", ".timing.json"))], [])
        self.assertEqual(len(tables), 1)

    def test_the_run_of_a_program_that_is_killed_is_taken_over(self):
        study = [*STUDY, "--budget", "3000", "--methods", "refine,anneal", "--runs"]
        folder = self.at("killed")
        first = subprocess.Popen([EMPLACE, *study, folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        first.stderr.readline()
        while not any(name.endswith(".lock") for name in os.listdir(folder)):
            time.sleep(0.01)
        second = subprocess.Popen([EMPLACE, *study, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        first.kill()
        first.communicate()
        said, log = second.communicate(timeout=120)
        self.assertEqual(second.returncode, 0, log)
        self.assertEqual(emplace(*study, folder).stdout, said)

    def test_temporary_files_of_killed_programs_go(self):
        into = self.at("swept")
        emplace("merge", self.whole, "--runs", into)
        record = sorted(records(into))[0]
        stem = record.removesuffix(".h5").removesuffix(".refused.txt")
        stale = [record + ".tmp0", stem + ".timing.json.tmp0", stem + ".checkpoint.h5.tmp3"]
        foreign = ["notes.txt.tmp0", "mine.h5.tmp0", stem + ".h5.tmp", stem + ".h5.tmp0x", stem + ".csv.tmp0", ".tmp0"]
        written = stem + ".timing.json.tmp1"  # by a program that lives
        for command in (["merge", self.whole, "--runs", into], [*STUDY, "--runs", into]):
            for name in [*stale, *foreign, written]:
                with open(os.path.join(into, name), "w", encoding="utf-8") as file:
                    file.write("half")
            with open(os.path.join(into, written), "a", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                emplace(*command)
                there = os.listdir(into)
            self.assertEqual([name for name in stale if name in there], [], command)
            self.assertEqual([name for name in [*foreign, written] if name not in there], [], command)

    def test_what_is_wrong_is_told(self):
        for shard in ("0/2", "3/2", "1", "1/2x", "a/b", "1/0"):
            self.assertIn("--shard is I/N", emplace(*STUDY, "--shard", shard, status=2).stderr)
        self.assertIn("cannot be read", emplace("merge", self.at("none"), "--runs", self.at("x"), status=1).stderr)
        emplace("merge", self.whole, status=2)
        torn = self.at("torn")
        os.mkdir(torn)
        name, content = sorted(records(self.whole).items())[0]
        with open(os.path.join(torn, name), "wb") as file:
            file.write(content[: len(content) // 2])
        self.assertIn(name, emplace("merge", torn, "--runs", self.at("y"), status=1).stderr)
        self.assertNotIn(name, os.listdir(self.at("y")))
        other = self.at("other")
        emplace("merge", self.whole, "--runs", other)
        with open(os.path.join(other, name), "ab") as file:
            file.write(b"x")
        self.assertIn("differ", emplace("merge", self.whole, "--runs", other, status=1).stderr)


if __name__ == "__main__":
    unittest.main()
