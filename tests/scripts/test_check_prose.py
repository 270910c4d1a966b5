"""Does scripts/check-prose find planted faults, where they stand, and nothing in code, questions and plain prose?"""
import unittest

import script

SCRIPT = script.load("scripts/check-prose")
README = "# Net\n\nA net has layers.\n\n## Use\n\n    Of code nothing is counted.\n\n```sh\necho What that of\n```\n"
SOURCE = '/* Counts layers. What fits? A net, unlike the oracle, is small. */\nint n; /**< of a net */\nconst char s[] = "Of told";\n'
PLANTED = (
    ("README.md", "A net has layers.", "A net has layers. Of a net\nthe layers count.", "README.md:3: opening: Of a net the layers count."),
    ("README.md", "A net has layers.", "- A net.\n- What a net has.", "README.md:4: opening: What a net has."),
    ("README.md", "## Use", "## What it does", "README.md:5: opening: What it does"),
    ("README.md", "A net has layers.", "| net | Of two |\n| --- | --- |", "README.md:3: opening: Of two"),
    ("README.md", "A net has layers.", "Its size is that of a net.", "README.md:3: headless: Its size is that of a net."),
    ("README.md", "A net has layers.", "It is `that of` a net alone.", "README.md:3: word:"),
    ("docs/net.md", "Plain.", "Layers are told to run.", "docs/net.md:1: word: Layers are told to run."),
    ("cli/net.c", "Show a net.", "What is shown.", "cli/net.c:1: opening: What is shown."),
    ("cli/net.c", "Show a net.", 'Show "\n  "those of the net.', "cli/net.c:1: headless: Show those of the net."),
    ("net.c", "Counts layers.", "Of layers the last.", "net.c:1: opening: Of layers the last."),
    ("net.c", "int n;", "/* One.\n *\n * What\n * follows. */\nint n;", "net.c:4: opening: What follows."),
    ("net.c", "int n;", "// One.\n// Of two.\nint n;", "net.c:3: opening: Of two."),
    ("net.py", "# Counts.", "# Counts.\n# What it has.", "net.py:2: opening: What it has."),
    ("net.py", "# Counts.", 'def f():\n    """Of a net."""', "net.py:2: opening: Of a net."),
)


class CheckProse(script.Case):
    def setUp(self):
        super().setUp()
        self.write("README.md", README)
        self.write("docs/net.md", "Plain.\n")
        self.write("cli/net.c", 'const char help[] = "Show a net.\\n\\n  emplace net   # What runs";\n')
        self.write("net.c", SOURCE)
        self.write("net.py", "# Counts.\n")

    def run_script(self, *options):
        return self.run_main(SCRIPT, *options)

    def test_plain_prose_passes(self):
        code, said = self.run_script("--list")
        self.assertEqual(code, 0, said)
        self.assertNotIn(": opening:", said)

    def test_finds_planted_faults(self):
        for name, old, new, fault in PLANTED:
            with self.subTest(fault):
                self.setUp()
                text = self.read(name)
                self.assertIn(old, text)
                self.write(name, text.replace(old, new))
                code, said = self.run_script("--list")
                self.assertIn(fault, said)
                self.assertEqual(code, 1, said)


if __name__ == "__main__":
    unittest.main()
