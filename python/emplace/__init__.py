"""Emplace: which device runs each op of a training graph, and how long a step then takes.

    import emplace
    problem = emplace.Problem("rnnlm:layers=1", "k40x2")
    oracle = emplace.Oracle(problem, threads=2)
    times, fits = oracle.score([[0] * problem.graph.op_count,
                                [1] * problem.graph.op_count])

The oracle simulates in this process, without Python's lock, on several threads. Arrays are
numpy.ndarray where numpy is installed and memoryview elsewhere. A refusal of the library is
an emplace.Error with the library's sentence. docs/library.md has more.
"""
import os as _os

if "EMPLACE_DATA" not in _os.environ:  # a wheel brings the machines and runtimes
    _data = _os.path.join(_os.path.dirname(__file__), "data")
    if _os.path.isdir(_data):
        _os.environ["EMPLACE_DATA"] = _data

from ._emplace import Error
from ._emplace import version as _version
from .oracle import Explanation, Oracle
from .outside import Score, Task, serve
from .problem import Graph, Machine, Problem
from .random import Random
from .run import Record, place
from .sheets import load_sheet, sheet

__version__ = _version()
__all__ = ["Error", "Explanation", "Graph", "Machine", "Oracle", "Problem", "Random", "Record",
           "Score", "Task", "load_sheet", "place", "serve", "sheet"]
