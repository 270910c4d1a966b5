"""Does scripts/setup.sh speak of building only when something is built?"""
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GLOBS = "[0/2] Re-checking globbed directories..."


def said(*lines):
    """What ninja_build says where nobody watches, of a build that prints these lines."""
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
    def test_a_build_with_nothing_to_do_is_silent(self):
        self.assertEqual(said(GLOBS, "ninja: no work to do."), "")

    def test_a_build_with_work_is_announced_once(self):
        steps = "[1/2] Building C object a.o", "[2/2] Linking C executable a"
        self.assertEqual(said(GLOBS, *steps), "emplace: building (release)\n")


if __name__ == "__main__":
    unittest.main()
