"""Does docs/gallery/make make the pictures of its page, and find those that are not what it shows?"""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import script  # pylint: disable=wrong-import-position

SCRIPT = script.load("docs/gallery/make")
PAGE = "![a net](net.svg)\n\n```sh\nscripts/emplace net > net.svg\n```\n"


class Gallery(script.Case):
    def path(self, name):
        return super().path(os.path.join("docs/gallery", name))

    def gallery(self, page, *options):
        """The status and the report, with /bin/echo in the place of the program."""
        self.write("README.md", page)
        return self.run_main(SCRIPT, "--program", "/bin/echo", *options)

    def bad(self, page, sentence, *options):
        status, report = self.gallery(page, *options)
        self.assertEqual(status, 1, report)
        self.assertIn(sentence, report)

    def test_makes_the_pictures_and_finds_them_made(self):
        self.assertEqual(self.gallery(PAGE), (0, "1 pictures, 0 wrong\n"))
        self.assertEqual(self.read("net.svg"), "net\n")
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
        self.bad(PAGE.replace("scripts/emplace net", "head -c 65537 /dev/zero"), "has 65537 bytes, at most 65536")


if __name__ == "__main__":
    unittest.main()
