"""The objects to place: graphs, machines, and a graph on a machine under a runtime."""
import atexit
import contextlib
import json
import os
import tempfile
from typing import Any, Union

from . import _emplace

Path = Union[str, "os.PathLike[str]"]


def _plain(value):
    """A number of numpy as one of Python."""
    return value.item()


def _remove(path):
    with contextlib.suppress(OSError):
        os.remove(path)


class Graph(_emplace.Graph):
    """The ops of one training step, and the tensors between them.

    `Graph(spec_or_path)` takes a workload spec ("nmt:layers=2,units=512") or a file of a graph. It
    does not change. Each attribute that is an array or a list is made anew when it is read.
    """

    def __init__(self, spec_or_path):
        self.spec = spec_or_path

    @classmethod
    def load(cls, spec_or_path):
        """The graph of a workload spec or of a file."""
        return cls(spec_or_path)

    @classmethod
    def from_ops(cls, ops, edges, controls=(), path=None):
        """A graph of ops with times of your own.

            Graph.from_ops({"a": {"gpu_s": 1e-3, "cpu_s": 2e-2, "output_bytes": 4096},
                            "b": {"gpu_s": 2e-3, "cpu_s": 9e-2}}, edges=[("a", "b")])

        `ops` has the values of each op by its name: seconds on a GPU and on a core of a CPU (`gpu_s`, `cpu_s`),
        bytes of its result (`output_bytes`), and what docs/models.md lists besides; what is left out is 0.
        `edges` has pairs of names: the op that makes a result and one that reads it; `controls` likewise has an
        op and one that waits for it. The graph lies in the file `path`, which the program can read as any
        graph; without it, in a temporary file that is removed when the process ends."""
        listed = [{"name": name, **values} for name, values in dict(ops).items()]
        text = json.dumps({"format": "emplace-ops-1", "ops": listed, "edges": [list(edge) for edge in edges],
                           "controls": [list(edge) for edge in controls]}, default=_plain)
        if path is None:
            with tempfile.NamedTemporaryFile("w", suffix=".ops.json", delete=False, encoding="utf-8") as file:
                file.write(text)
            atexit.register(_remove, file.name)
            return cls(file.name)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
        return cls(os.fspath(path))

    def __len__(self):
        return self.op_count

    def __repr__(self):
        return f"<emplace.Graph {self.spec!r}, {self.op_count} ops>"


class Machine(_emplace.Machine):
    """Devices and what joins them. `Machine(name_or_path)` takes "k40x2" or a YAML file."""

    def __init__(self, name_or_path):
        self.name = name_or_path

    @classmethod
    def load(cls, name_or_path):
        """The machine of that name or file."""
        return cls(name_or_path)

    def __len__(self):
        return self.device_count

    def __repr__(self):
        return f"<emplace.Machine {self.name!r}, {self.device_count} devices>"


class Problem(_emplace.Problem):
    """A graph that is to be placed on a machine under a runtime.

    graph and machine may be what Graph and Machine take. Without runtime, a name or a file, it is
    graph.default_runtime: the profile that fits where the graph comes from. A placement is a device for each op; it is
    legal when each op is on a device that can run it, with its colocation class. Where a function
    takes a placement, legalize() is applied to it.
    """

    def __new__(cls, graph, machine, runtime=None, name=None):
        if not isinstance(graph, Graph):
            graph = Graph(graph)
        if not isinstance(machine, Machine):
            machine = Machine(machine)
        if runtime is None:
            runtime = graph.default_runtime
        self = super().__new__(cls, graph, machine, runtime, name or graph.spec)
        self.runtime = runtime
        self.name = name or graph.spec
        return self

    def __deepcopy__(self, memo):
        return self  # it does not change

    def __reduce__(self):
        """A copy in another process is loaded from the same files."""
        return Problem, (self.graph.spec, self.machine.name, self.runtime, self.name)

    def groups(self, kind: str = "metis", count: int = 64, seed: int = 1) -> list[int]:
        """The number of each op's group, by a grouping of the program's learners: "metis" or "scotch", at
        most `count` groups that exchange little; "colocrl", as many as its rules make; "names", by layer,
        direction and block of time steps. Ops that can only run on a CPU are one more group, the last;
        folded ops are in none, which is -1."""
        numbers, groups = self._group(kind, count, seed)
        classes = self.class_of_op
        return [groups if number < 0 <= of else number
                for number, of in zip(numbers.tolist(), classes.tolist())]

    def save_placement(self, path: Path, placement: Any, step_time: float = -1.0,
                       force: bool = False) -> None:
        """Writes a placement file, whole or not at all. step_time, in seconds, is for readers;
        a negative one says that the placement does not fit in memory, and an infinite one or NaN
        is an Error. A file that is there already is a FileExistsError; force=True replaces it."""
        path = os.fspath(path)
        if not force and os.path.isfile(path) and os.path.getsize(path) > 0:
            raise FileExistsError(f"{path} is there already; name another file, or give force=True to "
                                  "replace it")
        super().save_placement(path, self.legalize(placement), step_time)

    def load_placement(self, path: Path) -> Any:
        """The placement of a file: a device for each op, int32."""
        return super().load_placement(os.fspath(path))

    def __repr__(self):
        return f"<emplace.Problem {self.name!r} on {self.machine.name!r}, {self.runtime}>"
