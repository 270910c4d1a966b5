# SPDX-License-Identifier: GPL-3.0-or-later
"""test_python_speed.py TEAM_SPEED [TURNS]: is Python as fast as C at 64 placements a call?

Both score the same placements in turn. Their step times must be the same; the best rates are printed,
and nothing depends on them, since the computer may be busy."""
import array
import subprocess
import sys
import tempfile
import time

import emplace

BATCH, CALLS = 64, 8


def main(team_speed, turns="1", spec="rnnlm:layers=2,steps=20,units=256,batch=64", machine="k40x2"):
    problem = emplace.Problem(spec, machine)
    ops = len(problem.graph)
    flat = array.array("i")
    for i in range(BATCH):
        flat.extend(int(device) for device in emplace.Random(1, i).below(3, ops))
    rows = memoryview(flat).cast("B").cast("i", (BATCH, ops))
    oracle = emplace.Oracle(problem)
    best_c, best_python = float("inf"), float("inf")
    with tempfile.NamedTemporaryFile() as file:
        flat.tofile(file)
        file.flush()
        for _ in range(int(turns)):
            done = subprocess.run([team_speed, spec, machine, "1", str(CALLS), file.name],
                                  capture_output=True, text=True, check=True)
            seconds, total_ns = done.stdout.split()
            best_c = min(best_c, float(seconds))
            start, total = time.perf_counter(), 0.0
            for _ in range(CALLS):
                total += sum(oracle.score(rows)[0].tolist())
            best_python = min(best_python, time.perf_counter() - start)
            assert abs(total - int(total_ns) * 1e-9) < 1e-6 * total, "other step times than C's"
    rate = CALLS * BATCH / best_python
    print(f"{ops} ops: {rate:.0f} placements a second from Python, "
          f"{100 * best_c / best_python:.1f} % of C's")


if __name__ == "__main__":
    main(*sys.argv[1:])
