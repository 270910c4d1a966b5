# SPDX-License-Identifier: GPL-3.0-or-later
"""Has Model Explorer's own types read what --model-explorer writes.

    compare.py EMPLACE

The graph becomes a GraphCollection of model_explorer.graph_builder without an unknown or missing member; each file of
node data becomes a GraphNodeData of model_explorer.node_data_builder, which writes the same. All nodes that edges, overlays
and node data name are there, and the seconds of a GPU's ops add up to what simulate says. The last line is "N of M agree".
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import dacite
from model_explorer import graph_builder, node_data_builder

CASES = [("nmt:layers=2,steps=3", "k40x4", "expert", "cpu"), ("rnnlm:layers=2,steps=4", "k40x2", "heft", "gpu"),
         ("inception_v3", "p100x4", "etf", "expert"), ("resnet", "k40x2", "gpu", "cpu")]
STRICT = dacite.Config(strict=True)
# The package's type says that values are numbers; its text, and its page, know others.
ANY_VALUE = dacite.Config(strict=True, check_types=False)


def read_graph(path):
    collection = dacite.from_dict(graph_builder.GraphCollection, json.loads(path.read_text("utf-8")), STRICT)
    graph, = collection.graphs
    nodes = {node.id for node in graph.nodes}
    assert len(nodes) == len(graph.nodes), "an id of two nodes"
    for node in graph.nodes:
        for edge in node.incomingEdges:
            assert edge.sourceNodeId in nodes, edge
    for side in (graph.tasksData.edgeOverlaysDataListLeftPane, graph.tasksData.edgeOverlaysDataListRightPane):
        assert len(side) == 2
        for data in side:
            overlay, = data.overlays
            assert overlay.edges, data.name
            for edge, following in zip(overlay.edges, overlay.edges[1:]):
                assert edge.targetNodeId == following.sourceNodeId, "the path is no chain"
            assert {edge.sourceNodeId for edge in overlay.edges} | {edge.targetNodeId for edge in overlay.edges} <= nodes
    return graph.id, nodes


def read_data(path, graph, nodes):
    content = json.loads(path.read_text("utf-8"))
    assert list(content) == [graph]
    config = ANY_VALUE if path.name.endswith(".device.json") else STRICT
    data = dacite.from_dict(node_data_builder.GraphNodeData, content[graph], config)
    assert data.results.keys() == nodes
    again = json.loads(data.to_json_string())
    for key, value in content[graph].items():
        assert again[key] == value, key
    return {node: result.value for node, result in data.results.items()}


def compare(emplace, spec, machine, placements, folder):
    prefix = folder / "step"
    done = subprocess.run([emplace, "simulate", spec, "-m", machine, "-p", placements[0], "--beside", placements[1], "--no-bound",
                           "--model-explorer", str(prefix), "--force", "--format", "json"],
                          capture_output=True, text=True, check=True, timeout=300)
    busy_s = json.loads(done.stdout)["busy_s"]
    graph, nodes = read_graph(pathlib.Path(f"{prefix}.json"))
    for number in (1, 2):
        device, seconds, wait = (read_data(pathlib.Path(f"{prefix}.{number}.{data}.json"), graph, nodes)
                                 for data in ("device", "seconds", "wait"))
        assert min(wait.values()) >= 0
        total = collections.Counter()
        for node, value in seconds.items():
            total[device[node]] += value
        for name, value in busy_s.items() if number == 1 else ():
            assert not name.startswith("gpu") or abs(total[name] - value) < 1e-6, (name, total[name], value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    emplace = parser.parse_args().emplace
    agree = 0
    with tempfile.TemporaryDirectory() as folder:
        for spec, machine, *placements in CASES:
            try:
                compare(emplace, spec, machine, placements, pathlib.Path(folder))
                wrong = ""
            except (AssertionError, dacite.DaciteError, subprocess.CalledProcessError) as error:
                wrong = f"{type(error).__name__}: {error}"
            print(f"{spec} on {machine}: {wrong or 'read'}")
            agree += not wrong
    print(f"{agree} of {len(CASES)} agree")
    return 0 if agree == len(CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
