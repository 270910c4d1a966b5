# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares step times under the runtime `ideal` with StarPU's in its SimGrid mode, on machines of one host.

    compare.py EMPLACE [--graphs N] [--seed S] [--starpu PREFIX] [--keep FOLDER]

The ops are StarPU's tasks, pinned to workers, with the same costs; tensors are data handles. Step times have to be
equal within 1 % without copies, and within 3 % with copies. StarPU has rules of its own for copies that meet. Where
they matter, its step time has to be that of SimGrid under these rules, within 1 %.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import placed  # noqa: E402

RULES = {"arrived": "StarPU, tasks submitted as inputs arrive", "streams": "SimGrid, copies by StarPU's rules",
         "submitted": "StarPU, all tasks submitted at the start"}
VERSION = "1.3.10+dfsg-2"
NODES = 32  # rows of StarPU's files of buses


def build_starpu(folder):
    """Builds Debian's source of StarPU for SimGrid, and returns where it is; None where this is not possible."""
    prefix = folder / "prefix"
    if (prefix / "lib/pkgconfig/starpu-1.3.pc").exists():
        return prefix
    (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
    (folder / "debian.sources").write_text("Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\n"
                                           "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
    lists = ["-o", f"Dir::Etc::sourcelist={folder}/debian.sources", "-o", "Dir::Etc::sourceparts=/dev/null", "-o", f"Dir::State::lists={folder}/lists"]
    leave_out = ["cuda", "opencl", "mpi", "build-doc", "build-tests", "build-examples", "starpufft", "socl", "fortran", "starpurm", "static"]
    steps = [(["apt-get", *lists, "update"], folder), (["apt-get", *lists, "source", f"starpu={VERSION}"], folder),
             (["./configure", f"--prefix={prefix}", "--enable-simgrid", "--without-fxt", *(f"--disable-{name}" for name in leave_out)], None),
             (["make", "-j2", "-C", "src", "install"], None), (["make", "install-data"], None)]
    with open(folder / "build.log", "w", encoding="utf-8") as log:
        for command, where in steps:
            source = next((path for path in folder.glob("starpu-*") if path.is_dir()), folder)
            try:
                ran = subprocess.run(command, cwd=where or source, stdout=log, stderr=log, check=False)
            except OSError:
                return None
            if ran.returncode != 0:
                return None
    return prefix


def write_platform(machine, folder):
    """Writes what StarPU knows of a computer: a platform of SimGrid, and the files of its buses."""
    bus = folder / "models" / "bus"
    bus.mkdir(parents=True)
    names = ["RAM"] + [f"CUDA{i}" for i in range(len(machine.devices) - 1)]
    xml = ["<?xml version='1.0'?>", '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">', '<platform version="4.1">',
           '<config id="General">', '<prop id="network/model" value="CM02"/>', '<prop id="network/TCP-gamma" value="0"/>',
           '<prop id="network/latency-factor" value="1"/>', '<prop id="network/bandwidth-factor" value="1"/>',
           '<prop id="network/weight-S" value="0"/>', '<prop id="network/crosstraffic" value="0"/>', "</config>",
           '<zone id="AS0" routing="Full">', '<host id="MAIN" speed="1f"/>']
    xml += [f'<host id="CPU{i}" speed="1Gf"/>' for i in range(len(machine.devices) + 1)]
    xml += ['<host id="RAM" speed="1f"/>']
    xml += [f'<host id="{name}" speed="1Gf"><prop id="memsize" value="12000000000"/><prop id="memcpy_peer" value="1"/></host>'
            for name in names[1:]]
    xml += [f'<link id="link{i}" bandwidth="{link.bytes_per_s:.17g}Bps" latency="0s"/>' for i, link in enumerate(machine.links)]
    latency = [["nan"] * NODES for _ in range(NODES)]
    bandwidth = [["nan"] * NODES for _ in range(NODES)]
    routes = []
    for a, start in enumerate(names):
        latency[a][a] = bandwidth[a][a] = "0.000000"
        for b, end in enumerate(names):
            if a == b:
                continue
            way = machine.route(a, b)
            latency[a][b] = f"{machine.latency_s(a, b) * 1e6:f}"
            bandwidth[a][b] = f"{min(machine.links[i].bytes_per_s for i in way) * 1e-6:f}"
            xml.append(f'<link id="{start}-{end}" bandwidth="1e15Bps" latency="{machine.latency_s(a, b):.17g}s" sharing_policy="FATPIPE"/>')
            routes += [f'<route src="{start}" dst="{end}" symmetrical="NO"><link_ctn id="{start}-{end}"/>',
                       *(f'<link_ctn id="link{i}"/>' for i in way), "</route>"]
    (bus / "drawn.platform.v4.xml").write_text("\n".join([*xml, *routes, "</zone>", "</platform>"]))
    for name, rows in (("latency", latency), ("bandwidth", bandwidth)):
        (bus / f"drawn.{name}").write_text("# by memory\n" + "".join("\t".join(row) + "\n" for row in rows))


def simulate(program, rule, folder):
    settings = dict(os.environ, STARPU_PERF_MODEL_DIR=str(folder / "models"), STARPU_HOSTNAME="drawn", STARPU_HOME=str(folder),
                    STARPU_SIMGRID_CUDA_MALLOC_COST="0", STARPU_SIMGRID_CUDA_QUEUE_COST="0", STARPU_SIMGRID_TASK_SUBMIT_COST="0",
                    STARPU_SIMGRID_FETCHING_INPUT_COST="0", STARPU_SILENT="1")
    ran = subprocess.run([program, rule, folder / "case.txt"], capture_output=True, text=True, timeout=60, check=False, env=settings)
    if ran.returncode != 0:
        raise RuntimeError(f"StarPU: {ran.stderr.strip()[-2000:]}")
    return float(ran.stdout)


def examine(job):
    emplace, starpu, simgrid, seed, keep = job
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        case = placed.draw_case(emplace, folder, seed, seed % 2 == 1, hosts=1)
        (folder / "case.txt").write_text(case.text())
        write_platform(case.machine, folder)
        times = {rule: simulate(starpu, rule, folder) for rule in ("arrived", "submitted")}
        times["streams"] = placed.run_simgrid(simgrid, "streams", folder / "case.txt")
        is_equal = abs(times["arrived"] - case.step_s) <= (0.03 if case.has_copies() else 0.01) * case.step_s
        if keep and not is_equal:
            shutil.copytree(folder, pathlib.Path(keep) / f"case{seed}", dirs_exist_ok=True)
    return placed.Result(seed, case.has_copies(), case.step_s, times, is_equal)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--starpu", help="where StarPU is installed; else Debian's source is built")
    parser.add_argument("--keep", help="a folder for the cases that differ")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        simgrid = placed.compile_driver(HERE.parent / "simgrid/simgrid_step.cpp", "simgrid", name)
        prefix = pathlib.Path(options.starpu).resolve() if options.starpu else build_starpu(HERE.parents[2] / "build/witness/starpu-source")
        starpu = placed.compile_driver(HERE / "starpu_step.c", "starpu-1.3", name, prefix) if simgrid and prefix else None
        if starpu is None:
            print(f"skipped: this needs compilers, pkg-config, SimGrid (libsimgrid-dev) and Debian's source of StarPU {VERSION}")
            return 77
        jobs = [(options.emplace, starpu, simgrid, 2 * options.seed * options.graphs + i, options.keep) for i in range(options.graphs)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(examine, jobs))
    placed.print_ratios(results, RULES)
    explained = unexplained = 0
    for result in results:
        if result.is_equal:
            continue
        if result.has_copies and abs(result.times["arrived"] - result.times["streams"]) <= 0.01 * result.times["streams"]:
            explained += 1
        else:
            unexplained += 1
            print(result.line("arrived"))
    print(f"{explained} differ from Emplace by more than 3 % and from SimGrid under StarPU's rules of copies by at most 1 %")
    print(f"{len(results) - unexplained} of {len(results)} agree")
    return 0 if unexplained == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
