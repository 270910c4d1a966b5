"""Types of the extension. Array: numpy.ndarray where numpy is installed, else memoryview."""
from typing import Any, Optional, Sequence, Union

Array = Any
Rows = Union[Array, Sequence[int], Sequence[Sequence[int]]]

class Error(Exception):
    status: str

class Graph:
    def __new__(cls, spec_or_path: str) -> "Graph": ...
    default_runtime: str
    op_count: int
    names: list[str]
    types: list[str]
    flops: Array
    persistent_bytes: Array
    is_folded: Array
    order: Array
    edges: Array
    edge_bytes: Array
    controls: Array
    def find(self, name: str) -> int: ...

class Machine:
    def __new__(cls, name_or_path: str) -> "Machine": ...
    device_count: int
    names: list[str]
    is_gpu: Array
    memory_bytes: Array
    def copy_time(self, source: int, target: int, bytes: int) -> float: ...
    def find(self, name: str) -> int: ...

class Problem:
    def __new__(cls, graph: Graph, machine: Machine, runtime: str, name: str) -> "Problem": ...
    graph: Graph
    machine: Machine
    class_count: int
    class_of_op: Array
    op_times: Array
    allowed: Array
    def legalize(self, placement: Rows) -> Array: ...
    def save_placement(self, path: str, placement: Rows, step_time: float) -> None: ...
    def load_placement(self, path: str) -> Array: ...

class Oracle:
    def __new__(cls, problem: Problem, threads: int = 1) -> "Oracle": ...
    problem: Problem
    def score(self, placements: Rows, levels: Optional[Rows] = None,
              groups: Optional[Rows] = None) -> tuple[Array, Array]: ...
    def measure(self, placements: Rows, levels: Optional[Rows] = None,
                groups: Optional[Rows] = None) -> dict[str, Array]: ...
    def times(self, placements: Rows, levels: Optional[Rows] = None,
              groups: Optional[Rows] = None) -> tuple[Array, Array, Array, Optional[dict]]: ...

def random_words(seed: int, stream: int, substream: int, first: int, count: int) -> Array: ...
def random_below(seed: int, stream: int, substream: int, first: int, count: int,
                 bound: int) -> tuple[Array, int]: ...
def version() -> str: ...
