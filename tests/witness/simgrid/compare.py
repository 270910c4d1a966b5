# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares step times under the runtime `ideal` with SimGrid's, of random placed graphs on machines of two hosts.

    compare.py EMPLACE [--graphs N] [--seed S] [--keep FOLDER]

Actors of SimGrid run the ops of a device one after another, and copies first come first served at the links of their
route. Step times have to be equal within 1 % without copies, and within 3 % with copies. The other rows of the table
say what SimGrid's own rules make of the same steps.
"""

import argparse
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import placed  # noqa: E402

RULES = {"lines": "one after another", "shares": "links shared fairly", "default": "links shared fairly, LV08's factors"}


def examine(job):
    emplace, program, seed, keep = job
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        case = placed.draw_case(emplace, folder, seed, seed % 2 == 1)
        (folder / "case.txt").write_text(case.text())
        times = {rule: placed.run_simgrid(program, rule, folder / "case.txt") for rule in RULES}
        is_equal = abs(times["lines"] - case.step_s) <= (0.03 if case.has_copies() else 0.01) * case.step_s
        if keep and not is_equal:
            shutil.copytree(folder, pathlib.Path(keep) / f"case{seed}", dirs_exist_ok=True)
    return placed.Result(seed, case.has_copies(), case.step_s, times, is_equal)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for the cases that differ")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        program = placed.compile_driver(HERE / "simgrid_step.cpp", "simgrid", name)
        if program is None:
            print("skipped: this needs g++, pkg-config and SimGrid (libsimgrid-dev)")
            return 77
        jobs = [(options.emplace, program, 2 * options.seed * options.graphs + i, options.keep) for i in range(options.graphs)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(examine, jobs))
    placed.print_ratios(results, RULES)
    for result in results:
        if not result.is_equal:
            print(result.line("lines"))
    equal = sum(result.is_equal for result in results)
    print(f"{equal} of {len(results)} agree")
    return 0 if equal == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
