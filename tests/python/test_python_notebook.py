# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the notebook of docs/gallery run from top to bottom? Its cells are run one after another in this
Python, and by nbclient where that is installed."""
import contextlib
import io
import json
import os
import unittest

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "gallery", "emplace.ipynb")

try:
    import nbclient
    import nbformat
except ImportError:
    nbclient = None


def code_cells():
    with open(PATH, encoding="utf-8") as file:
        return [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]


class Notebook(unittest.TestCase):
    def setUp(self):
        try:
            import numpy as _
        except ImportError:
            self.skipTest("python3-numpy is not installed")

    def test_cells_run_one_after_another(self):
        names = {"__name__": "__main__"}
        for number, cell in enumerate(code_cells(), 1):
            with self.subTest(cell=number), contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
                self.assertNotEqual(said.getvalue(), "")
        self.assertIn("</svg>", names["picture"])

    @unittest.skipIf(nbclient is None, "python3-nbclient is not installed")
    def test_it_runs_under_jupyter(self):
        nbclient.NotebookClient(nbformat.read(PATH, as_version=4), timeout=300).execute()

    def test_it_is_kept_without_outputs(self):
        for cell in code_cells():
            self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))


if __name__ == "__main__":
    unittest.main()
