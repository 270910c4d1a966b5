# SPDX-License-Identifier: GPL-3.0-or-later
"""Has Graphviz draw what --dot writes.

    compare.py EMPLACE

`dot -Tsvg` draws each file without a word, with as many nodes and edges as the file has. The last line is "N of M agree".
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"
CASES = [("rnnlm:layers=2,steps=4", "k40x2", 0), ("nmt:layers=4,steps=4", "k40x4", 0), ("inception_v3", "p100x4", 0),
         ("rnnlm:layers=2,steps=4", "k40x2", 1), ("rnnlm:layers=2,steps=4", "k40x2", 2), ("nmt:layers=2,steps=3", "k40x4", 1),
         ("nmt:layers=2,steps=3", "k40x4", 3), ("inception_v3", "k40x4", 1), ("inception_v3", "p100x4", 2), ("rnnlm:layers=1,steps=2", "cpu2", 4)]


def differ(emplace, spec, machine, depth, folder):
    """A sentence on what is wrong with the drawing."""
    path = folder / "graph.dot"
    ran = subprocess.run([emplace, "simulate", spec, "-m", machine, "-p", "heft", "--no-bound", "--dot", str(path),
                          *(["--dot-depth", str(depth)] if depth > 0 else []), "--force"], capture_output=True, text=True, check=False, timeout=120)
    if ran.returncode != 0:
        return ran.stderr
    drawn = subprocess.run(["dot", "-Tsvg", str(path)], capture_output=True, text=True, check=False, timeout=120)
    if drawn.returncode != 0 or drawn.stderr:
        return f"dot says: {drawn.stderr or drawn.returncode}"
    parsed = json.loads(subprocess.run(["dot", "-Tdot_json", str(path)], capture_output=True, text=True, check=True, timeout=120).stdout)
    nodes = sum("nodes" not in item and not item.get("name", "").startswith("cluster") for item in parsed.get("objects", []))
    kinds = [group.get("class") for group in xml.fromstring(drawn.stdout).iter(f"{SVG}g")]
    counts = kinds.count("node"), kinds.count("edge")
    lines = [line for line in path.read_text().splitlines() if " -> " in line and "style=invis" not in line]
    if counts != (nodes, len(lines)) or nodes == 0:
        return f"drawn: {counts[0]} nodes and {counts[1]} edges; in the file: {nodes} and {len(lines)}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    emplace = parser.parse_args().emplace
    if shutil.which("dot") is None:
        print("skipped: dot is missing (Debian's graphviz)")
        return 77
    agree = 0
    with tempfile.TemporaryDirectory() as folder:
        for spec, machine, depth in CASES:
            wrong = differ(emplace, spec, machine, depth, pathlib.Path(folder))
            print(f"{spec} on {machine}, {f'depth {depth}' if depth > 0 else 'by layers'}: {wrong or 'drawn'}")
            agree += not wrong
    print(f"{agree} of {len(CASES)} agree")
    return 0 if agree == len(CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
