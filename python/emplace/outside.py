"""Methods in Python for the program's loop, which keeps budget, clock, log and scores.

A method has ask(count), which returns up to count rows and none at the end, and may have
tell(scores). A row is a device for each op, or for each colocation class if the method has the
attribute by_class = True. serve(make) is the whole of a program for `emplace place --method
"cmd:python3 mine.py"`.
"""
import json
import sys
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


def _plain(rows):
    return [row.tolist() if hasattr(row, "tolist") else [int(d) for d in row] for row in rows]


def talk(make: Callable[[Task], Any], reader, writer,
         watch: Optional[Callable[[list[Score]], Any]] = None) -> None:
    """Speaks for a method until the other end closes. watch(scores) sees each batch of scores;
    when it returns False, the run ends."""
    method, goes_on = None, True
    for line in reader:
        message = json.loads(line)
        if "hello" in message:
            method = make(Task(message))
        elif "ask" in message:
            rows = _plain(method.ask(message["ask"])) if goes_on else []
            kind = "classes" if getattr(method, "by_class", False) else "placements"
            writer.write(json.dumps({kind: rows}, separators=(",", ":")).encode() + b"\n")
            writer.flush()
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
