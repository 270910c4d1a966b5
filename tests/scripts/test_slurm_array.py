# SPDX-License-Identifier: GPL-3.0-or-later
"""Does scripts/slurm-array submit a task a part, hand on the scheduler's signals, and queue again what they end?

An sbatch of our own keeps what it gets. The job's script is run as Slurm would, with a program that waits for a signal."""
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/slurm-array"
SBATCH = '#!/bin/sh\nprintf "%s\\n" "$@" > options\ncat > job\n'
SCONTROL = '#!/bin/sh\necho "$@" > requeued\n'
PROGRAM = """#!/bin/sh
printf "%s\\n" "$@" > arguments
trap 'exit 75' USR1 TERM
case "$*" in *fails*) exit 3 ;; *ends*) exit 0 ;; esac
touch waits
while :; do sleep 0.02; done
"""


class SlurmArray(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.place.name)
        for name, text in (("sbatch", SBATCH), ("scontrol", SCONTROL), ("program", PROGRAM)):
            path = self.folder / name
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}",
                            "EMPLACE": str(self.folder / "program")}

    def tearDown(self):
        self.place.cleanup()

    def lines(self, name):
        return (self.folder / name).read_text(encoding="utf-8").splitlines()

    def submit(self, *arguments, status=0):
        done = subprocess.run([SCRIPT, *arguments], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def start(self, task):
        environment = {**self.environment, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_JOB_ID": "17",
                       "SLURM_CPUS_PER_TASK": "4"}
        task = subprocess.Popen(["bash", "job"], cwd=self.folder, env=environment, stderr=subprocess.DEVNULL,
                                start_new_session=True)
        self.addCleanup(self.end, task)
        return task

    @staticmethod
    def end(task):
        """Whatever a failure has left, which would wait for ever."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(task.pid, signal.SIGKILL)
        task.wait()

    def test_a_task_is_a_part(self):
        self.submit("8", "--time=1:00:00", "--", "table", "1", "--rows", "it ends")
        options = self.lines("options")
        self.assertEqual(options[0], "--array=1-8")
        self.assertIn("--requeue", options)
        self.assertIn("--signal=B:USR1@120", options)
        self.assertEqual(options[-1], "--time=1:00:00")
        self.assertEqual(self.start(3).wait(), 0)
        self.assertEqual(self.lines("arguments"),
                         ["table", "1", "--rows", "it ends", "--shard", "3/8", "--threads", "4"])
        self.assertFalse((self.folder / "requeued").exists())

    def test_what_the_scheduler_ends_is_queued_again(self):
        for number in (signal.SIGUSR1, signal.SIGTERM):
            self.submit("2", "--", "ablate", "refine")
            task = self.start(2)
            while not (self.folder / "waits").exists():
                time.sleep(0.01)
            task.send_signal(number)
            self.assertEqual(task.wait(timeout=30), 75)
            self.assertEqual(self.lines("requeued"), ["requeue 17_2"])
            (self.folder / "waits").unlink()
            (self.folder / "requeued").unlink()

    def test_other_failures_stay(self):
        self.submit("2", "--", "fails")
        self.assertEqual(self.start(1).wait(), 3)
        self.assertFalse((self.folder / "requeued").exists())

    def test_what_is_wrong_is_told(self):
        for arguments, part in ((["many", "--", "table"], "number of parts"), (["2", "table"], "follows --"),
                                (["2", "--"], "follows --"), (["2", "--", "table", "--shard", "1/2"], "--shard"),
                                (["2", "--", "table", "--threads=2"], "--threads is what")):
            self.assertIn(part, self.submit(*arguments, status=2).stderr)
        self.assertFalse((self.folder / "job").exists())


if __name__ == "__main__":
    unittest.main()
