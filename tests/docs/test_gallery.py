"""Does docs/gallery/make make the pictures of its page, and find those that are not what it shows?"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "gallery", "make")
LOADER = importlib.machinery.SourceFileLoader("gallery", PATH)
SCRIPT = importlib.util.module_from_spec(importlib.util.spec_from_loader("gallery", LOADER))
LOADER.exec_module(SCRIPT)
PAGE = "![a net](net.svg)\n\n```sh\nscripts/emplace net > net.svg\n```\n"


class Gallery(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.makedirs(self.path(""))

    def path(self, name):
        return os.path.join(self.folder.name, "docs/gallery", name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def gallery(self, page, *options):
        """The status and the report, with /bin/echo in the place of the program."""
        self.write("README.md", page)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = SCRIPT.main(["--root", self.folder.name, "--program", "/bin/echo", *options])
        return status, out.getvalue()

    def bad(self, page, sentence, *options):
        status, report = self.gallery(page, *options)
        self.assertEqual(status, 1, report)
        self.assertIn(sentence, report)

    def test_makes_the_pictures_and_finds_them_made(self):
        self.assertEqual(self.gallery(PAGE), (0, "1 pictures, 0 wrong\n"))
        with open(self.path("net.svg"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "net\n")
        self.assertEqual(self.gallery(PAGE, "--check"), (0, "1 pictures, 0 wrong\n"))

    def test_finds_what_has_changed(self):
        self.write("net.svg", "another\n")
        self.bad(PAGE, "docs/gallery/net.svg is not what its command makes", "--check")
        self.write("net.svg", "net\n")
        self.write("left.svg", "net\n")
        self.bad(PAGE, "docs/gallery/left.svg is not what its command makes", "--check")

    def test_finds_what_is_not_shown_or_not_made(self):
        self.bad(PAGE.replace("![a net](net.svg)", ""), "makes net.svg, and does not show it")
        self.bad(PAGE + "![two](two.svg)\n", "shows two.svg, which no command makes")
        self.assertFalse(os.path.exists(self.path("net.svg")))

    def test_finds_a_command_that_fails_and_a_large_picture(self):
        self.bad(PAGE.replace("scripts/emplace net", "false"), "ended with status 1")
        self.bad(PAGE.replace("scripts/emplace net", "head -c 60001 /dev/zero"), "has 60001 bytes, at most 60000")


if __name__ == "__main__":
    unittest.main()
