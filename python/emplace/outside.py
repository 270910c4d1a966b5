"""Methods in Python for the program's loop, which keeps budget, clock, log and scores.

A method has ask(count), which returns up to count rows and none at the end, and may have
tell(scores). A row is a device, an integer, for each op, or for each colocation class if the method
has the attribute by_class = True. serve(make) is the whole of a program for `emplace place --method
"cmd:python3 mine.py"`.
"""
import json
import operator
import reprlib
import sys
from collections.abc import Iterable, Mapping, Set
from typing import Any, Callable, NamedTuple, Optional


class Score(NamedTuple):
    """What the oracle said of a row."""

    step_time: float  # seconds; also of what does not fit in memory
    fits: bool
    overflow: float  # missing memory over a device's own, summed over devices


class Task:
    """What a method is told first: what is to be placed, and by what rules."""

    def __init__(self, hello: dict):
        self.workload: str = hello["workload"]
        self.machine: str = hello["machine"]
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
    when it returns False, the run ends."""
    method, goes_on = None, True
    for line in _lines(reader):
        message = json.loads(line)
        if "hello" in message:
            method = make(Task(message))
        elif "ask" in message:
            rows = _plain(method.ask(message["ask"])) if goes_on else []
            if not _send(writer, {"classes" if getattr(method, "by_class", False) else "placements": rows}):
                return
        elif "told" in message:
            scores = [Score(s["step_time_s"], s["fits"], s["overflow"]) for s in message["told"]]
            if hasattr(method, "tell"):
                method.tell(scores)
            if watch is not None and watch(scores) is False:
                goes_on = False


def serve(make: Callable[[Task], Any]) -> None:
    """Speaks for a method on standard input and output. What the method prints goes to standard
    error."""
    writer = sys.stdout.buffer
    sys.stdout = sys.stderr
    talk(make, sys.stdin.buffer, writer)
