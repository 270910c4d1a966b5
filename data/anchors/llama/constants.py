#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the constants of sim/cost/kernel.c that follow from kernels.tsv.

With one row a product takes a fixed time, that of its bytes at the rate of bf16, and that of unpacking:
the slope over the weights gives cycles a weight and lane. With 2048 rows it reaches FLOP a cycle and multiprocessor.
"""

import csv
import pathlib
import statistics

MULTIPROCESSORS, LANES, CLOCK_HZ = 132, 64, 1.983e9
BITS = {
    "q4_0": 4.5, "q4_1": 5, "q5_0": 5.5, "q5_1": 6, "q8_0": 8.5, "q2_K": 2.625, "q3_K": 3.4375, "q4_K": 4.5, "q5_K": 5.5,
    "q6_K": 6.5625, "iq2_xxs": 2.0625, "iq2_xs": 2.3125, "iq3_xxs": 3.0625, "iq1_s": 1.5625, "iq4_nl": 4.5, "iq3_s": 3.4375,
    "iq2_s": 2.5625, "iq4_xs": 4.25, "iq1_m": 1.75, "mxfp4": 4.25, "nvfp4": 4.5,
}  # fmt: skip


def slope(points):
    """Least squares: seconds a weight."""
    weights, times = zip(*points)
    w, t = statistics.fmean(weights), statistics.fmean(times)
    return sum((a - w) * (b - t) for a, b in points) / sum((a - w) ** 2 for a in weights)


def main():
    path = pathlib.Path(__file__).with_name("kernels.tsv")
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    times = {}
    for row in csv.DictReader(lines, delimiter="\t"):
        size = int(row["m"]) * int(row["k"])
        times.setdefault((row["format"], int(row["n"])), []).append((size, float(row["us"]) * 1e-6))
    byte_s = slope(times["bf16", 1]) / 2
    for name, bits in BITS.items():
        cycles = (slope(times[name, 1]) - bits / 8 * byte_s) * MULTIPROCESSORS * LANES * CLOCK_HZ
        large = [2 * size * 2048 / t for size, t in times[name, 2048] if size > 2048 * 2048]
        large.sort()
        print(f"{name:8} {cycles:5.2f} {statistics.fmean(large) / (MULTIPROCESSORS * CLOCK_HZ):6.0f}")


if __name__ == "__main__":
    main()
