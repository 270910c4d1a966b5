# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares step times under the runtime `ideal` with SimGrid's, of random placed graphs on machines of two hosts.

    compare.py EMPLACE [--graphs N] [--seed S] [--keep FOLDER]

SimGrid's interface for actors runs the ops of a device one after another, and copies first come first served at the
links of their route. Step times have to be equal within 1 % without copies, and within 3 % with copies. The other
rows of the table say what SimGrid's own rules make of the same steps.
"""

import argparse
import concurrent.futures
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import placed  # noqa: E402

RULES = {"lines": "one after another", "shares": "links shared fairly", "default": "SimGrid's TCP (LV08)"}


def build(folder):
    """Compiles the driver; None where SimGrid or a compiler is missing."""
    try:
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "simgrid"], capture_output=True, text=True, check=True).stdout.split()
        program = folder / "simgrid_step"
        subprocess.run(["g++", "-std=c++17", "-O1", "-o", str(program), str(HERE / "simgrid_step.cpp"), *flags], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return program


def simulate(program, rule, path):
    ran = subprocess.run([program, rule, path], capture_output=True, text=True, timeout=60, check=True)
    return float(ran.stdout)


def examine(job):
    emplace, program, seed, keep = job
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        case = placed.draw_case(emplace, folder, seed, seed % 2 == 1)
        (folder / "case.txt").write_text(case.text())
        times = {rule: simulate(program, rule, folder / "case.txt") for rule in RULES}
        differs = abs(times["lines"] - case.step_s) > (0.03 if case.has_copies() else 0.01) * case.step_s
        if differs and keep:
            shutil.copytree(folder, pathlib.Path(keep) / f"case{seed}", dirs_exist_ok=True)
    return seed, case.has_copies(), case.step_s, times, differs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for the cases that differ")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        program = build(pathlib.Path(name))
        if program is None:
            print("skipped: this needs g++, pkg-config and SimGrid (libsimgrid-dev)")
            return 77
        jobs = [(options.emplace, program, 2 * options.seed * options.graphs + i, options.keep) for i in range(options.graphs)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(examine, jobs))
    print("step time over Emplace's, nearest to 1 first: median, 90th percentile of the distance, greatest distance")
    for with_copies in (False, True):
        chosen = [r for r in results if r[1] == with_copies]
        for rule, title in RULES.items() if chosen else ():
            ratio = [r[3][rule] / r[2] for r in chosen]
            far = sorted(abs(x - 1) for x in ratio)
            print(f"{len(chosen):5} {'with   ' if with_copies else 'without'} copies, {title:21} {statistics.median(ratio):.4f} "
                  f"{100 * far[int(0.9 * (len(far) - 1))]:8.4f} % {100 * far[-1]:8.4f} %")
    for seed, has_copies, step_s, times, differs in results:
        if differs:
            print(f"case {seed}, {'with' if has_copies else 'without'} copies: Emplace {step_s:.6f} s, SimGrid {times['lines']:.6f} s")
    agree = sum(not r[4] for r in results)
    print(f"{agree} of {len(results)} agree")
    return 0 if agree == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
