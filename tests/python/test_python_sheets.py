# SPDX-License-Identifier: GPL-3.0-or-later
"""Are tables of the program the same as DataFrames of pandas and as dicts?"""
import math
import os
import sys
import tempfile
import unittest
from unittest import mock

import emplace

try:
    import pandas
except ImportError:
    pandas = None

TABLE = """# made by: emplace table 9
task,seeds,ours_s,gap_frac,preset,graph_hash,commit
"NMT, 2 layers",5,OOM,,,1234567890123456,10e4
RNNLM,3,0.5,0.25,paper,3848e55912345678,10e4
"""
ROWS = [{"task": "NMT, 2 layers", "seeds": 5, "ours_s": math.inf, "gap_frac": None, "preset": "",
         "graph_hash": "1234567890123456", "commit": "10e4"},
        {"task": "RNNLM", "seeds": 3, "ours_s": 0.5, "gap_frac": 0.25, "preset": "paper",
         "graph_hash": "3848e55912345678", "commit": "10e4"}]


def without_nan(rows):
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


def load(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return emplace.load_sheet(path)


def without_pandas():
    return mock.patch.dict(sys.modules, {"pandas": None})


class Sheets(unittest.TestCase):
    def test_fields_are_numbers_or_texts_by_column(self):
        with without_pandas():
            self.assertEqual(without_nan(load(TABLE)), ROWS)
            self.assertEqual(load("# made by: emplace\n"), [])

    def test_numbers_that_are_all_missing_are_nan(self):
        with without_pandas():
            rows = load("preset,left_out_s\n,\n,\n")
        self.assertEqual(without_nan(rows), [{"preset": "", "left_out_s": None}] * 2)

    def test_a_row_of_another_length_is_told(self):
        with self.assertRaisesRegex(ValueError, "row 2 of the table has 1 fields, not 2"):
            load("a,b\n1,2\n3\n")

    def test_a_command_gives_its_table(self):
        with without_pandas():
            cpu, gpu = emplace.sheet("table", "1", "--rows", "rnnlm", "--methods", "cpu,gpu", "--seeds", "1")
        self.assertEqual((cpu["method"], gpu["method"]), ("cpu", "gpu"))
        self.assertGreater(cpu["ours_s"], gpu["ours_s"])
        with self.assertRaisesRegex(emplace.Error, "zebra"):
            emplace.sheet("table", "1", "--rows", "zebra")

    @unittest.skipIf(pandas is None, "python3-pandas is not installed")
    def test_a_table_is_a_frame_where_pandas_is(self):
        frame = load(TABLE)
        self.assertEqual(frame.attrs["made_by"], "emplace table 9")
        self.assertEqual(without_nan(frame.to_dict("records")), ROWS)
        self.assertEqual([frame[name].dtype.kind for name in ("task", "seeds", "ours_s", "gap_frac")],
                         ["O", "i", "f", "f"])


if __name__ == "__main__":
    unittest.main()
