"""Does scripts/check-docs follow documents, and find what does not work?"""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import script  # pylint: disable=wrong-import-position

SCRIPT = script.load("scripts/check-docs")
PATCH = "```diff\n--- a/data/net.txt\n+++ b/data/net.txt\n"


class CheckDocs(script.Case):
    def setUp(self):
        super().setUp()
        self.write("README.md", "# Net\n")
        self.write("data/net.txt", "one\ntwo\nthree\n")

    def follow(self, text, *options):
        """The status and the report for a document of that text."""
        self.write("docs/net.md", text)
        return self.run_main(SCRIPT, "--program", "/bin/echo", *options, "docs/net.md")

    def test_finds_what_does_not_work(self):
        for text, *sentences in (
                ("\n```sh\ntrue\nfalse # why\n```\n", "docs/net.md:4: `false # why` ended with status 1, not 0"),
                ("<!-- run: exit 3 -->\n```sh\ntrue\n```\n", "ended with status 0, not 3"),
                ("```console\n$ echo a\nb\n```\n", "docs/net.md:2: `echo a` prints", "\n    a"),
                ("```console\n$ echo a\n```\n", "`echo a` prints"),
                ("```console\n$ printf '1\\n2\\n3\\n'\n...\n2\n```\n", "prints"),
                ("<!-- run: no, it fails -->\n\n```sh\nfalse\n```\n", "ended with status 1"),
                ("```\nscripts/emplace machines\n```\n", "docs/net.md:2: a block of commands"),
                (PATCH + "@@ -1,2 +1,3 @@\n five\n+six\n seven\n```\n", "docs/net.md:2: the change"),
                ("<!-- from: data/net.txt -->\n```c\nfour\n```\n", "docs/net.md:3:", "data/net.txt")):
            with self.subTest(text):
                status, report = self.follow(text)
                self.assertEqual(status, 1, report)
                for sentence in sentences:
                    self.assertIn(sentence, report)

    def test_takes_what_works(self):
        for text, *sentences in (
                ("```sh\nscripts/emplace a > b\ngrep -x a b\nemplace c \\\n  d\nbuild/release/cli/emplace\n```\n",
                 "4 commands and changes of 1 documents, 0 wrong"),
                ("<!-- run: exit 3 -->\n```sh\nexit 3\n```\n",),
                ("```console\n$ printf 'a\\nb\\n'\na\nb\n$ true\n```\n",),
                # anything for dots
                ("```console\n$ echo it took 12.5 s\nit took ... s\n$ printf '1\\n2\\n3\\n'\n...\n3\n$ echo 3\n...\n3\n```\n",),
                # what is marked is left out, by the mark of the line before only
                ("<!-- run: no, it takes a GPU -->\n```sh\nfalse\n```\n<!-- run: minutes -->\n```sh\nfalse\n```\n",),
                ("<!-- table: a\nrows: b\n-->\n| a |\n<!-- end -->\n\n<!-- run: no, it fails -->\n```sh\nfalse\n```\n",),
                ("```\na picture\n```\n",),
                ("<!-- file: data/new.txt -->\n```text\nfour\n```\n" + PATCH + "@@ -9,2 +9,3 @@\n one\n+and a half\n two\n```\n"
                 "```console\n$ cat data/net.txt data/new.txt\none\nand a half\ntwo\nthree\nfour\n```\n",),
                ("<!-- from: data/net.txt -->\n```c\ntwo\n  three\n```\n",)):
            with self.subTest(text):
                status, report = self.follow(text)
                self.assertEqual(status, 0, report)
                for sentence in sentences:
                    self.assertIn(sentence, report)
        self.assertEqual(self.read("data/net.txt"), "one\ntwo\nthree\n")

    def test_writes_what_commands_print(self):
        self.assertEqual(self.follow("```console\n$ echo a\nb\n$ echo c\nc\n```\n", "--write")[0], 0)
        self.assertEqual(self.read("docs/net.md"), "```console\n$ echo a\na\n$ echo c\nc\n```\n")

    def test_gives_each_document_a_tree_of_its_own(self):
        self.write("docs/a.md", "```sh\nrm data/net.txt && touch data/left\n```\n")
        self.write("docs/b.md", "```sh\ntest -e data/net.txt -a ! -e data/left\n```\n")
        status, report = self.run_main(SCRIPT, "--program", "/bin/echo")
        self.assertEqual(status, 0, report)
        self.assertIn("of 3 documents", report)

    def test_holds_the_front_page_to_a_size(self):
        self.write("README.md", "x" * 121 + "\n" + "\n" * 127 + "<!-- table: a\n" + "x" * 200 + "\n<!-- end -->\n")
        status, report = self.run_main(SCRIPT, "--program", "/bin/echo", "README.md")
        self.assertEqual(status, 1)
        for part in ("README.md:1: the line has 121 characters", "README.md: it has 131 lines", "2 wrong"):
            self.assertIn(part, report)


if __name__ == "__main__":
    unittest.main()
