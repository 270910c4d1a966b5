"""Does scripts/check-claims find what the files do not support, and nothing else?"""
import os
import unittest

import script

SCRIPT = script.load("scripts/check-claims")
SHEET = """# made by: scripts/emplace table 0
task,method,preset,shown,budget,seeds,ours_s,min_s,max_s,paper_s,ratio,gain_frac,paper_gain_frac,origin,commit,dirty
Small net,cpu,,median,0,1,5,5,5,6.25,0.8,,,fitted,c0ffee1234,0
Small net,gpu,,median,0,1,OOM,OOM,OOM,OOM,,,,inferred,c0ffee1234,0
Small net,hdp,paper,median,400,3,0.4,0.3,0.5,0.5,0.8,,,predicted,beef567890,1
Small net,hdp,paper,gain,400,3,,,,,,0.125,0.25,,beef567890,1
"Net, 2 layers",cpu,,median,0,1,120,120,120,,,,,,c0ffee1234,0
"Net, 2 layers",gpu,,median,0,1,2,2,2,1,2,,,repeated,c0ffee1234,0
"Net, 2 layers",hdp,paper,median,400,3,1,1,1,1.25,0.8,,,predicted,beef567890,1
"""
TABLE = """<!-- table: bench/results/t.csv
rows: task
columns: key | cpu-median: CPU; gpu-median: GPU; hdp-paper-median: HDP; hdp-paper-gain: gain
cells: range: {}; paper: reported; ratio: ratio
-->
<!-- end -->
"""
RESULTS = f"""# Results

{TABLE}
HDP takes 9 s on the net with 2 layers, and is 9 to
9 % below the CPU. Of 7 pairs 7 are in order. `--budget 400` is a command.

```
scripts/emplace table 0 > bench/results/t.csv
```
"""
PLACEBENCH = "\n## PlaceBench\n\n9 instances\n\n### Leaderboard\n\nNobody.\n\n### Splits\n\n9 splits\n"
MECHANISMS_HEAD = "## Mechanisms\n\n"
CLAIMS = [
    "*\tnet with 2 layers",
    "docs/results.md\tHDP takes {:.0f} s on the net with 2 layers, and is {:.0f} to {:.0f} % below the CPU."
    '\tbench/results/t.csv\tstep("Net, 2 layers", "hdp-paper-median")'
    '\tmin(below(step(t, "hdp-paper-median"), step(t, "cpu-median")) for t in tasks)'
    '\tmax(below(step(t, "hdp-paper-median"), step(t, "cpu-median")) for t in tasks)',
    "docs/results.md\tOf {} pairs {} are in order.\tbench/results/t.csv"
    '\tlen(pairs("cpu-median", "gpu-median", "hdp-paper-median"))'
    '\tsum(pairs("cpu-median", "gpu-median", "hdp-paper-median"))',
]
MADE = """| | CPU | reported | ratio | GPU | reported | ratio | HDP | reported | ratio | gain | reported |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| Small net | 5.00* | 6.25 | 0.80 | OOM+ | OOM | same | 0.400 [0.300-0.500] | 0.50 | 0.80 | 12.5 % | 25.0 % |
| Net, 2 layers | 120.0 | | | 2.00= | 1.00 | 2.00 | 1.00 | 1.25 | 0.80 | | |

- Cells: `*` fitted: 1; `+` inferred: 1; `=` repeated: 1; without a mark, predicted: 2.
- HDP: 400 evaluations, 3 seeds.
- [t.csv](../bench/results/t.csv), made by `scripts/emplace table 0`, commits c0ffee1, beef567, modified.
"""
MECHANISMS = """# made by: emplace mechanisms
row,method,switched,step_time_s,peak_bytes,fits,commit,dirty
net,gpu,nothing,0.8,100,0,c0ffee1234,0
net,gpu,copies,0.7,50,1,c0ffee1234,0
net,gpu,order,0.80001,100,0,c0ffee1234,0
net,random,nothing,2,0,1,c0ffee1234,0
net,random,copies,3,0,0,c0ffee1234,0
net,random,order,2,0,1,c0ffee1234,0
net,cpu,nothing,1.23456,10,1,c0ffee1234,0
net,cpu,copies,1.23456,50,1,c0ffee1234,0
net,cpu,order,1.23456,10,1,c0ffee1234,0
"""
MECHANISMS_MADE = """| | gpu | random | cpu |
| --- | --- | --- | --- |
| nothing | 0.8 s, does not fit | 2 s | 1.235 s |
| copies | -12.5 %, memory -50 %, fits | +50.0 %, no fit | 0, memory +400 % |
| order | 0 | 0 | 0 |

- [m.csv](../bench/results/m.csv), made by `emplace mechanisms`, commit c0ffee1.
"""
MECHANISMS_CLAIM = "\t".join([
    "docs/simulator.md", "Copies cost {:.1f} % to {:.0f} %, and {:.0f} % of the memory.", "bench/results/m.csv",
    '-min(changes("step_time_s", "copies"))', 'max(changes("step_time_s", "copies", without=""))',
    'min(changes("peak_bytes", "copies", among=["net"], without="gpu random"))'])


class CheckClaims(script.Case):
    def setUp(self):
        super().setUp()
        self.write("README.md", "# Net\n\n9 lives\n\n## Results\n\nNone.\n\n## Use\n\n9 lives\n")
        self.write("docs/results.md", RESULTS + PLACEBENCH)
        self.write("docs/simulator.md", f"# Model\n\n9 rules\n\n{MECHANISMS_HEAD}None.\n\n### Net\n\n9 layers\n")
        self.write("bench/validate/README.md", "# Validation\n")
        self.write("docs/methods.md", "## Open questions of the papers\n")
        self.write("docs/report.md", "# Report\n")
        self.write("docs/limits.md", "# Limits\n\n9 lives\n")
        self.write("graphs/workloads/README.md", "# Workloads\n\n9 sizes\n")
        self.write("docs/bounds.md", "# Bounds\n\n9 lemmas\n")
        self.write("docs/claims/sentences.tsv", "\n".join(CLAIMS))
        self.write("bench/results/t.csv", SHEET)

    def change(self, name, old, new):
        text = self.read(name)
        self.assertIn(old, text)
        self.write(name, text.replace(old, new))

    def run_script(self, *options):
        return self.run_main(SCRIPT, *options)

    def make(self):
        self.assertEqual(self.run_script("--write"), (0, ""))
        self.assertEqual(self.run_script(), (0, ""))

    def expect_error(self, *parts):
        code, errors = self.run_script()
        self.assertEqual(code, 1)
        for part in parts:
            self.assertIn(part, errors)

    def test_writes_tables_and_figures(self):
        self.make()
        self.assertIn(f"-->\n{MADE}<!-- end -->", self.read("docs/results.md"))
        self.assertIn("HDP takes 1 s on the net with 2 layers, and is 92 to\n99 % below the CPU.", self.read("docs/results.md"))
        self.assertIn("Of 4 pairs 3 are in order.", self.read("docs/results.md"))

    def test_a_field_can_be_shown_as_percent(self):
        table = "<!-- table: bench/results/v.csv\nrows: workload\ncells: error%: off\n-->\n"
        self.write("bench/results/v.csv", "# made by: emplace validate\nworkload,error,commit,dirty\nnet,-0.125,abcdef0123,0\n")
        self.write("bench/validate/README.md", f"{table}<!-- end -->\n")
        self.make()
        self.assertIn("| | off |\n| --- | --- |\n| net | -12.5 % |\n", self.read("bench/validate/README.md"))

    def test_a_point_behind_a_figure_is_no_decimal_point(self):
        self.write("docs/report.md", "# Report\n\nHDP takes 7.2.\n")
        self.write("docs/claims/sentences.tsv", "\n".join([*CLAIMS, 'docs/report.md\tHDP takes {:.1f}.\tbench/results/t.csv\t'
                                                           'step("Net, 2 layers", "hdp-paper-median")']))
        self.make()
        self.assertEqual(self.read("docs/report.md"), "# Report\n\nHDP takes 1.0.\n")
        self.make()
        self.assertEqual(self.read("docs/report.md"), "# Report\n\nHDP takes 1.0.\n")

    def test_writing_again_changes_nothing(self):
        self.make()
        before = self.read("docs/results.md")
        self.make()
        self.assertEqual(self.read("docs/results.md"), before)

    def test_sees_changes(self):
        """One text of a made document, or of its sources, becomes another."""
        table, results, claims = "bench/results/t.csv", "docs/results.md", "docs/claims/sentences.tsv"
        for name, old, new, *parts in (
                (table, "3,1,1,1,1.25", "3,1.9,1.9,1.9,1.25", f"{results}:3: the table", f'"1" is 2 in {table}'),
                (table, "3,1,1,1,1.25", "3,121,121,121,1.25", f"{claims}:2: 121.0 is not below 120.0"),
                (results, "92 to", "93 to", f'{results}:18: "93" is 92'),
                (results, "are in order", "are ordered", f"{claims}:3:", "Of 4 pairs 3 are in order."),
                (results, "2.00=", "2.00", f"{results}:3: the table"),
                (results, "is a command", "is 12.5 % faster\non three nets", f"{results}:19:", '"12.5"', f"{results}:20:", '"three"'),
                # only the results of the front page, and parts of other pages
                ("README.md", "None.", "None, 5 times.", "README.md:7:", '"5"'),
                (results, "Nobody.", "Nobody, 5 times.", f"{results}:31:", '"5"'),
                ("docs/simulator.md", "None.", "None, 5 times.", "docs/simulator.md:7:", '"5"'),
                ("docs/simulator.md", MECHANISMS_HEAD, "", "docs/simulator.md:1: it lacks the part"),
                # a figure of a template needs a source, too
                (claims, CLAIMS[2], CLAIMS[2].replace("pairs {}", "pairs 3").rsplit("\t", 1)[0], 'has "3"'),
                (claims, "\tlen(pairs(", "\tlen(tasks) == 3\tlen(pairs(", f"{claims}:3: len(tasks) == 3 does not hold"),
                (claims, "\tlen(pairs(", '\tstep("Small net", "gpu-median")\tlen(pairs(', f'{claims}:3: step("Small net", "gpu-median") is inf'),
                (claims, "pairs {} are", "pairs {} of {} are", f"{claims}:3: the template has 3 figures"),
                (claims, "docs/results.md\tOf", "docs/other.md\tOf", f"{claims}:3: docs/other.md"),
                (claims, '"Net, 2 layers", "hdp-paper-median"', '"Net, 2 layers", "hdp"', f"{claims}:2: 0 rows of {table}")):
            with self.subTest(f"{old} becomes {new}"):
                self.setUp()
                self.make()
                self.change(name, old, new)
                self.expect_error(*parts)

    def test_conditions_may_hold(self):
        self.make()
        self.change("docs/claims/sentences.tsv", "\tlen(pairs(", "\tlen(tasks) == 2\tlen(pairs(")
        self.assertEqual(self.run_script(), (0, ""))

    def test_accuracy_leaves_out_rows_without_a_prediction(self):
        self.make()
        figures = '\tlen(errors("cpu-median", "hdp-paper-median")) == 3 and compared == tasks\tlen(pairs('
        self.change("docs/claims/sentences.tsv", "\tlen(pairs(", figures)
        self.assertEqual(self.run_script(), (0, ""))
        self.change("bench/results/t.csv", "1,1,1,1.25,0.8,,,predicted", "1,1,1,1.25,0.8,,,inferred")
        self.expect_error("docs/claims/sentences.tsv:3: " + figures.split("\t")[1] + " does not hold, so the sentence must change")
        self.change("docs/claims/sentences.tsv", figures.split("\t")[1],
                    'compared == ["Small net"] and len(errors("cpu-median", "hdp-paper-median")) == 2')
        self.expect_error('docs/results.md:')

    def test_reads_lists_and_fitted_cells(self):
        self.write("errors.csv", "# percent off; made by a script\nstep, batch 32\t+44.7\nstep, batch 64\t-43.5\n")
        self.write("cpu.yaml", '# left_out: as the others predict it\nfit:\n  cells:\n'
                   '    - {name: "net:cpu", published: "2 s", fitted: "2.1 s", off: "+5 %", left_out: "2.5 s"}\n')
        self.write("docs/methods.md", "## Open questions of the papers\n")
        self.write("docs/report.md", "# Report\n")
        self.write("docs/limits.md", "# Limits\n\nSteps are up to 1 % too long. Left out, it is 1 % too long.\n")
        self.write("docs/claims/sentences.tsv", self.read("docs/claims/sentences.tsv") + "\n"
                   'docs/limits.md\tSteps are up to {:.0f} % too long.\terrors.csv\tmax(cells("value"))\n'
                   'docs/limits.md\tLeft out, it is {:.0f} % too long.\tcpu.yaml'
                   '\tabove(cell("left_out", name="net:cpu"), cell("published", name="net:cpu"))\n')
        self.make()
        self.assertIn("Steps are up to 45 % too long. Left out, it is 25 % too long.", self.read("docs/limits.md"))

    def test_shows_what_mechanisms_change(self):
        table = "<!-- table: bench/results/m.csv\nrows: switched\ncolumns: method\ncells: change: {}\nwhere: row=net\n-->\n"
        self.write("bench/results/m.csv", MECHANISMS)
        self.write("docs/simulator.md", f"{MECHANISMS_HEAD}{table}<!-- end -->\n\nCopies cost 1 % to 2 %, and 3 % of the memory.\n")
        self.write("docs/claims/sentences.tsv", self.read("docs/claims/sentences.tsv") + "\n" + MECHANISMS_CLAIM)
        self.make()
        self.assertEqual(self.read("docs/simulator.md"), f"{MECHANISMS_HEAD}{table}{MECHANISMS_MADE}<!-- end -->\n\n"
                         "Copies cost 12.5 % to 50 %, and 400 % of the memory.\n")

    def test_says_how_to_remake_a_file_that_lacks_something(self):
        command = "remake it with `scripts/emplace table 0 > bench/results/t.csv`"
        self.change("docs/results.md", "rows: task", "rows: network")
        self.write("docs/claims/sentences.tsv", "")
        self.run_script("--write")
        self.assertIn(f"There is no table yet. bench/results/t.csv has no column network: {command}.\n", self.read("docs/results.md"))
        self.change("docs/results.md", "rows: network", "rows: task\nwhere: seeds=5, task=Small net")
        self.run_script("--write")
        self.assertIn(f"bench/results/t.csv has no row with seeds=5, task=Small net: {command}.\n", self.read("docs/results.md"))
        os.remove(self.path("bench/results/t.csv"))
        self.run_script("--write")
        self.assertIn(f"There is no table yet. bench/results/t.csv is missing: {command}.\n", self.read("docs/results.md"))
        self.write("bench/results/t.csv", SHEET.replace(",gpu,", ",other,"))
        self.change("docs/results.md", "where: seeds=5, task=Small net\n", "")
        self.run_script("--write")
        self.assertIn(f"- bench/results/t.csv lacks GPU: {command}.\n", self.read("docs/results.md"))


if __name__ == "__main__":
    unittest.main()
