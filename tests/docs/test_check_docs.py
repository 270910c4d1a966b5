"""Does scripts/check-docs follow documents, and find what does not work?"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "check-docs")
LOADER = importlib.machinery.SourceFileLoader("check_docs", PATH)
SCRIPT = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_docs", LOADER))
LOADER.exec_module(SCRIPT)


class CheckDocs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.write("README.md", "# Net\n")
        self.write("data/net.txt", "one\ntwo\nthree\n")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def follow(self, text, *options):
        """The status and the report for a document of that text."""
        self.write("docs/net.md", text)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = SCRIPT.main(["--root", self.folder.name, "--program", "/bin/echo", *options, "docs/net.md"])
        return status, out.getvalue()

    def good(self, text, *options):
        status, report = self.follow(text, *options)
        self.assertEqual(status, 0, report)
        return report

    def bad(self, text, *sentences):
        status, report = self.follow(text)
        self.assertEqual(status, 1, report)
        for sentence in sentences:
            self.assertIn(sentence, report)

    def test_runs_commands_with_the_program(self):
        report = self.good("```sh\nscripts/emplace a > b\ngrep -x a b\nemplace c \\\n  d\nbuild/release/cli/emplace\n```\n")
        self.assertIn("4 commands and changes of 1 documents, 0 wrong", report)

    def test_finds_a_command_that_fails(self):
        self.bad("\n```sh\ntrue\nfalse # why\n```\n", "docs/net.md:4: `false # why` ended with status 1, not 0")

    def test_expects_a_stated_status(self):
        self.good("<!-- run: exit 3 -->\n```sh\nexit 3\n```\n")
        self.bad("<!-- run: exit 3 -->\n```sh\ntrue\n```\n", "ended with status 0, not 3")

    def test_compares_what_is_shown(self):
        self.good("```console\n$ printf 'a\\nb\\n'\na\nb\n$ true\n```\n")
        self.bad("```console\n$ echo a\nb\n```\n", "docs/net.md:2: `echo a` prints something else than is shown:\n    a")
        self.bad("```console\n$ echo a\n```\n", "prints something else")

    def test_takes_anything_for_dots(self):
        self.good("```console\n$ echo it took 12.5 s\nit took ... s\n$ printf '1\\n2\\n3\\n'\n...\n3\n$ echo 3\n...\n3\n```\n")
        self.bad("```console\n$ printf '1\\n2\\n3\\n'\n...\n2\n```\n", "prints something else")

    def test_leaves_out_what_is_marked(self):
        self.good("<!-- run: no, it takes a GPU -->\n```sh\nfalse\n```\n<!-- run: minutes -->\n```sh\nfalse\n```\n")

    def test_takes_the_mark_of_the_line_before_alone(self):
        self.good("<!-- table: a\nrows: b\n-->\n| a |\n<!-- end -->\n\n<!-- run: no, it fails -->\n```sh\nfalse\n```\n")
        self.bad("<!-- run: no, it fails -->\n\n```sh\nfalse\n```\n", "ended with status 1")

    def test_refuses_commands_without_a_language(self):
        self.bad("```\nscripts/emplace machines\n```\n", "docs/net.md:2: a block of commands is sh or console")
        self.good("```\na picture\n```\n")

    def test_writes_files_and_applies_changes(self):
        self.good("<!-- file: data/new.txt -->\n```text\nfour\n```\n"
                  "```diff\n--- a/data/net.txt\n+++ b/data/net.txt\n@@ -9,2 +9,3 @@\n one\n+and a half\n two\n```\n"
                  "```console\n$ cat data/net.txt data/new.txt\none\nand a half\ntwo\nthree\nfour\n```\n")
        self.assertEqual(self.read("data/net.txt"), "one\ntwo\nthree\n")

    def test_finds_a_change_that_does_not_apply(self):
        self.bad("```diff\n--- a/data/net.txt\n+++ b/data/net.txt\n@@ -1,2 +1,3 @@\n five\n+six\n seven\n```\n",
                 "docs/net.md:2: the change does not apply")

    def test_holds_quotes_to_their_files(self):
        self.good("<!-- from: data/net.txt -->\n```c\ntwo\n  three\n```\n")
        self.bad("<!-- from: data/net.txt -->\n```c\nfour\n```\n", "docs/net.md:3: the block is no part of data/net.txt")

    def test_writes_what_commands_print(self):
        self.good("```console\n$ echo a\nb\n$ echo c\nc\n```\n", "--write")
        self.assertEqual(self.read("docs/net.md"), "```console\n$ echo a\na\n$ echo c\nc\n```\n")

    def test_gives_each_document_a_tree_of_its_own(self):
        self.write("docs/a.md", "```sh\nrm data/net.txt && touch data/left\n```\n")
        self.write("docs/b.md", "```sh\ntest -e data/net.txt -a ! -e data/left\n```\n")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = SCRIPT.main(["--root", self.folder.name, "--program", "/bin/echo"])
        self.assertEqual(status, 0, out.getvalue())
        self.assertIn("of 3 documents", out.getvalue())

    def test_holds_the_front_page_to_a_size(self):
        self.write("README.md", "x" * 121 + "\n" + "\n" * 127 + "<!-- table: a\n" + "x" * 200 + "\n<!-- end -->\n")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = SCRIPT.main(["--root", self.folder.name, "--program", "/bin/echo", "README.md"])
        self.assertEqual(status, 1)
        self.assertIn("README.md:1: the line has 121 characters, at most 120", out.getvalue())
        self.assertIn("README.md: it has 131 lines, at most 130", out.getvalue())
        self.assertIn("2 wrong", out.getvalue())


if __name__ == "__main__":
    unittest.main()
