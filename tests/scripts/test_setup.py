"""Does scripts/setup.sh speak of building only when something is built, and does it build whenever
something has changed?"""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GLOBS = "[0/2] Re-checking globbed directories..."
COMMIT = "[1/11] Looking at the commit"


def said(*lines):
    """The output of ninja_build without a terminal, for a build that prints these lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cmake")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\ncat <<'END'\n" + "\n".join(lines) + "\nEND\n")
        os.chmod(path, 0o755)
        environment = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]}
        script = f'source "{ROOT}/scripts/setup.sh"; ninja_build release >/dev/null'
        return subprocess.run(["bash", "-c", script], env=environment, check=True, text=True,
                              capture_output=True).stderr


class Building(unittest.TestCase):
    def test_only_a_build_with_work_is_announced_once(self):
        self.assertEqual(said(GLOBS, "ninja: no work to do."), "")
        self.assertEqual(said(GLOBS, COMMIT), "")
        steps = "[1/2] Building C object a.o", "[2/2] Linking C executable a"
        line = said(GLOBS, COMMIT, *steps)
        self.assertTrue(line.startswith("emplace: building (release)"), line)
        self.assertEqual(line.count("\n"), 1)


class Tree:
    """A checkout in which sim/a.c, cli/CMakeLists.txt and so on have just been built."""

    def __init__(self, root):
        self.root = root
        for path in ("sim/CMakeLists.txt", "sim/graph/a.c", "include/b.h", "cmake/c.cmake",
                     "CMakeLists.txt", "README.md", "build/release/build.ninja", "model.json"):
            self.write(path)
        self.git("init", "-q")
        self.commit()
        self.age()
        self.stamp()

    def stamp(self):
        """Says that all has been built, a little ago: clocks of files tick slowly."""
        stamp = os.path.join(self.root, "build/release.built")
        self.run(f'tree_now >"{stamp}"')
        then = os.path.getmtime(stamp) - 10
        os.utime(stamp, (then, then))

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=b",
                        *arguments], check=True, capture_output=True)

    def commit(self):
        self.git("add", "sim", "include", "cmake", "CMakeLists.txt", "README.md")
        self.git("commit", "-qm", "a", "--allow-empty")

    def write(self, path):
        os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
        with open(os.path.join(self.root, path), "a", encoding="utf-8") as file:
            file.write("x")

    def age(self):
        """Everything but the stamp becomes an hour old."""
        then = os.path.getmtime(self.root) - 3600
        for folder, folders, files in os.walk(self.root):
            for name in folders + files:
                if name != "release.built":
                    os.utime(os.path.join(folder, name), (then, then))

    def run(self, command):
        script = f'set -o pipefail; source "{ROOT}/scripts/setup.sh"; root="{self.root}"; {command}'
        return subprocess.run(["bash", "-c", script], check=False).returncode

    def is_built(self):
        return self.run("is_built release") == 0


class Changes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Tree(folder.name)

    def expect_change(self):
        self.assertFalse(self.tree.is_built())
        self.tree.age()
        self.tree.stamp()

    def test_files_that_change_come_or_go_are_changes(self):
        self.assertTrue(self.tree.is_built())
        self.tree.write("placement.py")  # the user's
        self.assertTrue(self.tree.is_built())
        for path in ("sim/graph/a.c", "sim/new.c", "include/b.h", "cmake/c.cmake", "CMakeLists.txt"):
            self.tree.write(path)
            self.expect_change()
        os.remove(os.path.join(self.tree.root, "sim/new.c"))
        self.expect_change()
        self.assertTrue(self.tree.is_built())
        os.remove(os.path.join(self.tree.root, "build/release.built"))
        self.assertFalse(self.tree.is_built())

    def test_the_program_tells_whether_any_file_of_the_commit_has_changed(self):
        self.tree.write("README.md")
        self.expect_change()
        self.assertTrue(self.tree.is_built())
        self.tree.git("checkout", "README.md")
        self.expect_change()
        self.tree.write("data.txt")
        self.assertTrue(self.tree.is_built())
        self.tree.git("add", "data.txt")
        self.expect_change()
        self.assertTrue(self.tree.is_built())
        self.tree.commit()
        self.tree.age()
        self.assertFalse(self.tree.is_built())

    def build(self, command, *what):
        """Builds by a cmake that runs this command."""
        path = os.path.join(self.tree.root, "bin", "cmake")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{command}\n")
        os.chmod(path, 0o755)
        arguments = " ".join(("release", *what))
        return self.tree.run(f'PATH="$root/bin:$PATH"; build_preset {arguments} 3>/dev/null')

    def test_a_build_is_remembered_if_it_is_whole_and_succeeds(self):
        self.tree.write("sim/graph/a.c")
        self.assertNotEqual(self.build("exit 1"), 0)
        self.assertFalse(self.tree.is_built())
        self.assertEqual(self.build("exit 0", "one_target"), 0)
        self.assertFalse(self.tree.is_built())
        self.tree.age()
        self.assertEqual(self.build("exit 0"), 0)
        self.assertTrue(self.tree.is_built())
        # what changes during a build is built by the next
        change = f'sleep 0.1; echo >> "{self.tree.root}/sim/graph/a.c"'
        self.assertEqual(self.build(change), 0)
        self.assertFalse(self.tree.is_built())


class Tiers(unittest.TestCase):
    """scripts/test in a checkout of its own, where apt-get, cmake and ctest only note what they are asked for."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.bin = os.path.join(folder.name, "root"), os.path.join(folder.name, "bin")
        self.log = os.path.join(folder.name, "log")
        os.makedirs(self.bin)
        os.makedirs(os.path.join(self.root, "scripts"))
        for name in ("test", "setup.sh"):
            shutil.copy(os.path.join(ROOT, "scripts", name), os.path.join(self.root, "scripts"))
        for name in ("check-format.sh", "check-includes.sh", "check-headers.sh"):
            self.write(os.path.join(self.root, "scripts", name), "")
        with open(os.path.join(self.root, ".gitignore"), "w", encoding="utf-8") as file:
            file.write("build\n")
        for command in (["init", "-q"], ["add", "-A"],
                        ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "a"]):
            subprocess.run(["git", "-C", self.root, *command], check=True)
        for name in ("apt-get", "cmake"):
            self.write(os.path.join(self.bin, name), f'echo {name} "$@" >>"{self.log}"')
        self.write(os.path.join(self.bin, "dpkg-query"), "")
        self.write(os.path.join(self.bin, "sudo"), '"$@"')
        self.answer("")

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def answer(self, line):
        """Sets the line that ctest prints before its count."""
        self.write(os.path.join(self.bin, "ctest"), f'echo ctest "$@" >>"{self.log}"\n'
                   f"echo '{line}'\necho '100% tests passed, 0 tests failed out of 2'")

    def commands(self, option):
        """Lists the commands that scripts/test runs with an option."""
        open(self.log, "w", encoding="utf-8").close()
        environment = {**os.environ, "PATH": self.bin + os.pathsep + os.environ["PATH"]}
        subprocess.run([os.path.join(self.root, "scripts", "test"), option], env=environment, check=True,
                       capture_output=True)
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def test_all_compares_with_other_programs_until_none_is_skipped(self):
        self.answer("1/2 Test #1: test_witness_hdf5 ...***Skipped")
        log = self.commands("--all")
        self.assertIn("-L peers", log)
        installed = next(line for line in log.splitlines() if line.startswith("apt-get install")).split()
        self.assertLessEqual({"graphviz", "hdf5-tools", "python3-venv"}, set(installed))
        self.assertNotIn("python3-torch", installed)
        self.answer("")
        self.assertIn("-L peers", self.commands("--all"))
        self.assertNotIn("-L peers", self.commands("--all"))


if __name__ == "__main__":
    unittest.main()
