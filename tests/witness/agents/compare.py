# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs agents of others on the environments of the Python module: PPO of Stable-Baselines3, and PPO in PyTorch.

    compare.py EMPLACE [--simulations N]

Each example must end with a placement that is faster than the mean of its first ones, and of which simulate says the same
step time. The last line is "N of M agree".
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
SPEC, MACHINE = "rnnlm:layers=2,steps=10,units=1024,batch=128", "k40x2"
NUMBER = r"(\d+\.\d+) s"


def differ(program, example, simulations, folder):
    """A sentence on what is wrong, or ""; and what the example says."""
    placement = folder / "best.json"
    ran = subprocess.run([sys.executable, str(ROOT / "docs/examples" / example), str(simulations), str(placement)],
                         capture_output=True, text=True, check=False, timeout=600)
    if ran.returncode != 0:
        return ran.stderr[-500:], ""
    said = ran.stdout.strip()
    found = re.search(f"first .*?{NUMBER}, of the last {NUMBER}, best {NUMBER}", said)
    if not found:
        return "the example prints no times", said
    first, last, best = map(float, found.groups())
    if not best < first or not last < first:
        return "nothing was learned", said
    simulated = json.loads(subprocess.run([program, "simulate", SPEC, "-m", MACHINE, "-p", str(placement), "--no-bound",
                                           "--format", "json"], capture_output=True, text=True, check=True, timeout=300).stdout)
    if abs(simulated["step_time_s"] - best) > 1e-6 or not simulated["feasible"]:
        return f"simulate says {simulated['step_time_s']:.6f} s", said
    return "", said


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--simulations", type=int, default=6400)
    given = parser.parse_args()
    program = pathlib.Path(given.emplace).resolve()
    module = program.parent.parent / "python"
    if not list(module.glob("emplace/_emplace*.so")):
        print(f"skipped: that build has no Python module in {module}")
        return 77
    os.environ.update(EMPLACE_PROGRAM=str(program), PYTHONPATH=str(module), OMP_NUM_THREADS="1")
    examples = ["sb3_ppo.py", "cleanrl_ppo.py"]
    agree = 0
    for example in examples:
        with tempfile.TemporaryDirectory() as folder:
            wrong, said = differ(str(program), example, given.simulations, pathlib.Path(folder))
        print(f"{example}: {said}" + (f": {wrong}" if wrong else ""))
        agree += not wrong
    print(f"{agree} of {len(examples)} agree")
    return 0 if agree == len(examples) else 1


if __name__ == "__main__":
    sys.exit(main())
