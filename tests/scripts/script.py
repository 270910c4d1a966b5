"""For tests of programs in Python that have no ending: a module of one, and a folder that looks like the sources."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def load(path):
    """The program at a path below the sources, as a module."""
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path).replace("-", "_"), os.path.join(ROOT, path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())  # first, so that it is the last of all cleanups
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run_main(self, module, *options):
        """The status of the program, and what it prints and says."""
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
            status = module.main(["--root", self.folder.name, *options])
        return status, out.getvalue() + errors.getvalue()
