"""Methods in Python for the program's loop, which keeps budget, clock, log and scores.

A method has ask(count), which returns up to count rows and none at the end, and may have
tell(scores). A row is a device, an integer, for each op, or for each colocation class if the method
has the attribute by_class = True. It may have the attribute metrics, a dict of numbers such as its loss,
which records keep beside the scores; the first answer has all of its keys. A file with such a class is a
method of the program: `emplace place --method mine.py`. serve(make) makes a program of it, for
`--method "cmd:python3 mine.py"`.
"""
import json
import math
import operator
import os
import reprlib
import sys
import tempfile
from collections.abc import Iterable, Mapping, Set
from typing import Any, Callable, NamedTuple, Optional

from ._emplace import Error
from .problem import Machine, Problem


class Score(NamedTuple):
    """The oracle's score of a row."""

    step_time: float  # seconds; also of what does not fit in memory
    fits: bool
    overflow: float  # missing memory over a device's own, summed over devices


class Task:
    """The task of a method: the graph to be placed, and the rules."""

    def __init__(self, hello: dict):
        self.workload: str = hello["workload"]
        self.machine: str = hello["machine"]
        self.machine_file: str = hello.get("machine_file", "")  # the text of its file
        self.runtime: str = hello["runtime"]
        self.seed: int = hello["seed"]
        self.budget: int = hello["budget"]  # evaluations; 0: not known
        self.options: str = hello["options"]
        # name, kind, memory_bytes, peak_flops_per_s, time_ns of each op
        self.devices: list[dict] = hello["devices"]
        self.names: list[str] = hello["ops"]["name"]
        self.types: list[str] = hello["ops"]["type"]
        self.class_of_op: list[int] = hello["ops"]["class"]
        self.is_folded: list[bool] = hello["ops"]["is_folded"]  # op does not run; has no effect
        self.class_count: int = hello["class_count"]
        self.class_kinds: list[str] = hello["class_kinds"]  # where it may be: "any", "cpu", "gpu"
        self.edges: list[list[int]] = hello["edges"]  # producer, reader, bytes
        self._problem: Optional[Problem] = None


    @property
    def problem(self):
        """The task as an emplace.Problem, which is loaded when it is first read."""
        if self._problem is None:
            self._problem = _load(self)
        return self._problem


def _agrees(problem, task):
    """Whether a problem is that of the task: the ops, their classes, and where and how long they may run."""
    graph = problem.graph
    if graph.op_count != len(task.names) or problem.machine.device_count != len(task.devices):
        return False
    allowed = problem.allowed.tolist()
    for op, of in enumerate(problem.class_of_op.tolist()):
        if of < 0:
            continue
        if of != task.class_of_op[op]:
            return False
        kinds = task.class_kinds[of]
        if any(allowed[op][d] != (kinds in ("any", device["kind"])) for d, device in enumerate(task.devices)):
            return False
    times = problem.op_times.tolist()
    return all(round(row[d] * 1e9) == device["time_ns"][op]
               for op, row in enumerate(times) for d, device in enumerate(task.devices))


def _write_files(folder, text):
    """Writes the files of a text, the machine's and those of its device models, into a folder. Each file is
    behind a line "--- # NAME BYTES". Returns the path of the first."""
    first, rest = None, text.encode()
    while rest:
        head, rest = rest.split(b"\n", maxsplit=1)
        name, size = head.decode().removeprefix("--- # ").rsplit(" ", maxsplit=1)
        path = os.path.normpath(os.path.join(folder, name))
        if not path.startswith(folder + os.sep):
            raise ValueError(f"{name!r}, a file of the task's machine, is outside of the machine's folder")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(rest[:int(size)])
        first, rest = first or path, rest[int(size) + 1:]
    return first


def _load(task):
    """The machine is one of the data folder, or is read from the files that the task has of it."""
    try:
        problem = Problem(task.workload, task.machine, task.runtime)
        if _agrees(problem, task):
            return problem
    except Error:
        pass
    if task.machine_file:
        with tempfile.TemporaryDirectory() as folder:
            problem = Problem(task.workload, Machine(_write_files(folder, task.machine_file)), task.runtime)
        if _agrees(problem, task):
            return problem
    raise ValueError(f"the task {task.workload} on {task.machine} has costs, classes or devices to "
                     "choose from that its files do not have, so that an environment cannot be made of it; use "
                     "the task's own attributes")


def _is_list(given):
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping, Set))


def _plain_row(row, number):
    """A row as a list of integers. A float is refused even if it is whole: it is more often a
    probability than a device."""
    where = f"row {number} of what ask() gives"
    values = row.tolist() if hasattr(row, "tolist") else row
    if not _is_list(values):
        raise TypeError(f"{where} is {reprlib.repr(row)}, a {type(row).__name__}; it is a list of integers")
    values = list(values)
    kinds = set(map(type, values))
    if kinds <= {int}:
        return values
    if list in kinds:
        raise TypeError(f"{where}: entry {[*map(type, values)].index(list)} is a list; the number of a "
                        "device is an integer")
    plain = []
    for value in values:
        try:
            plain.append(int(operator.index(value)))
        except TypeError:
            raise TypeError(f"{where}: entry {len(plain)} is {reprlib.repr(value)}, a {type(value).__name__}; "
                            "the number of a device is an integer") from None
    return plain


def _plain(rows):
    if isinstance(rows, memoryview):  # it gives no rows of several dimensions one by one
        rows = rows.tolist()
    if not _is_list(rows):
        raise TypeError(f"ask() gives {reprlib.repr(rows)}, a {type(rows).__name__}; it gives a list of rows")
    return [_plain_row(row, number) for number, row in enumerate(rows)]


def _plain_metric(value):
    """A number of a metric, or None, which is null, for one that is not known."""
    number = float(value)  # also of numpy and of tensors with one element
    return number if math.isfinite(number) else None


def _lines(reader):
    """The lines of the other end, until it has gone."""
    try:
        yield from reader
    except ConnectionError:
        return


def _send(writer, message):
    """Whether the other end takes a line."""
    try:
        writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        writer.flush()
    except ConnectionError:
        return False
    return True


def talk(make: Callable[[Task], Any], reader, writer,
         watch: Optional[Callable[[list[Score]], Any]] = None) -> None:
    """Speaks for a method until the other end closes. watch(scores) sees each batch of scores;
    when it returns False, the run ends. A method with close() is closed at the end."""
    methods: list = []
    try:
        _talk(make, reader, writer, watch, methods)
    finally:
        for method in methods:
            if hasattr(method, "close"):
                method.close()


def _talk(make, reader, writer, watch, methods):
    goes_on = True
    for line in _lines(reader):
        message = json.loads(line)
        if "hello" in message:
            methods.append(make(Task(message)))
        elif "ask" in message:
            if not _send(writer, _answer(methods[-1], message["ask"]) if goes_on else {"placements": []}):
                return
        elif "told" in message:
            scores = [Score(s["step_time_s"], s["fits"], s["overflow"]) for s in message["told"]]
            if hasattr(methods[-1], "tell"):
                methods[-1].tell(scores)
            if watch is not None and watch(scores) is False:
                goes_on = False


def _answer(method, count):
    rows = _plain(method.ask(count))
    answer = {"classes" if getattr(method, "by_class", False) else "placements": rows}
    metrics = getattr(method, "metrics", None)
    if metrics:
        answer["metrics"] = {name: _plain_metric(value) for name, value in metrics.items()}
    return answer


def serve(make: Callable[[Task], Any]) -> None:
    """Speaks for a method on standard input and output. The method's own output goes to standard
    error."""
    writer = sys.stdout.buffer
    sys.stdout = sys.stderr
    talk(make, sys.stdin.buffer, writer)
