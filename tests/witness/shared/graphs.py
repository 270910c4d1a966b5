# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads files by Emplace and prints what was compared as a table: for the witnesses that are exporters."""

import json
import pathlib
import subprocess


def read_graph(emplace, path, ops=False, options=()):
    """Emplace's numbers of a file, with its ops if they are asked for; or {"refusal": sentence}."""
    path = pathlib.Path(path)
    out = path.with_name(path.name + ".graph.json")
    command = [emplace, "graph", str(path), "--json", *options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if ran.returncode != 0:
        lines = ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"]
        return {"refusal": lines[-1].replace(str(path), path.name)}
    read = json.loads(ran.stdout)
    if ops:
        subprocess.run([emplace, "graph", str(path), "--out", str(out), "--force", *options], capture_output=True, timeout=300, check=True)
        read["ops"] = json.loads(out.read_text())["ops"]
        out.unlink()
    return read


def close(seen, expected, relative=0.02):
    return seen == expected or (expected != 0 and abs(seen - expected) <= relative * abs(expected))


class Table:
    """Rows of what was compared; a row agrees if it has no complaint."""

    def __init__(self):
        self.rows, self.complaints = [], []

    def add(self, module, form, parameters, flops, complaint, note=""):
        self.rows.append((module, form, parameters, flops, complaint or note or "agrees"))
        self.complaints.append(bool(complaint))

    def compare(self, read, module, form, parameters, flops, seen_flops=None, relative=0.02, note="", known=()):
        """Compares one file. None for parameters or flops: the file does not have them. `known`: beginnings of types that the page names
        as not read."""
        if "refusal" in read:
            self.add(module, form, "", "", "refused: " + read["refusal"])
            return
        complaint = ""
        own_parameters = read["parameter_count"]
        own_flops = read["flops"] if seen_flops is None else seen_flops
        if parameters is not None and own_parameters != parameters:
            complaint = f"{parameters} parameters, Emplace says {own_parameters}"
        elif flops is not None and not close(own_flops, flops, relative):
            complaint = f"{flops:.6g} FLOP, Emplace says {own_flops:.6g}"
        unknown = [kind for kind in read.get("unknown_op_types", ()) if not kind.startswith(tuple(known))]
        if not complaint and unknown:
            complaint = "unknown: " + ", ".join(unknown)
        self.add(module, form, "" if parameters is None else own_parameters, "" if flops is None else f"{own_flops:.4g}", complaint, note)

    def print(self):
        """Prints the rows and the count; returns the exit status."""
        heads = ("module", "form", "parameters", "FLOP", "")
        widths = [max(len(str(row[i])) for row in [heads, *self.rows]) for i in range(4)]
        for row in [heads, *self.rows]:
            cells = [f"{row[0]:<{widths[0]}}", f"{row[1]:<{widths[1]}}", f"{row[2]:>{widths[2]}}", f"{row[3]:>{widths[3]}}", row[4]]
            print("  ".join(cells).rstrip())
        agree = len(self.rows) - sum(self.complaints)
        print(f"{agree} of {len(self.rows)} agree")
        return 0 if agree == len(self.rows) else 1
