"""Runs of methods by the program `emplace`, and their records."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from typing import Any, Callable, Optional

from ._emplace import Error
from ._identity import code_of, name_of
from .outside import Score, talk
from .problem import Problem


def program() -> str:
    """The path of the program: EMPLACE_PROGRAM, or the one of the same prefix or build tree as the
    module, or `emplace` on the PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    installed = os.path.join(here, *[os.pardir] * 4, "bin", "emplace")
    built = os.path.join(os.path.dirname(os.path.dirname(here)), "cli", "emplace")
    found = os.environ.get("EMPLACE_PROGRAM") or next(filter(os.path.isfile, (installed, built)), None)
    found = found or shutil.which("emplace")
    if not found:
        raise FileNotFoundError("the program emplace is neither in EMPLACE_PROGRAM nor on the PATH")
    return found


def read_output(*arguments, **keywords):
    """The output of the program; its error sentence is an Error. For this package alone."""
    done = subprocess.run([program(), *arguments], capture_output=True, text=True, check=False,
                          **keywords)
    if done.returncode != 0:
        raise _error(done.stderr)
    return done.stdout


def _error(said):
    lines = [line for line in said.splitlines() if line.strip()]
    error = Error(lines[-1].removeprefix("emplace: ") if lines else "emplace has failed")
    error.status = "EMP_EEXTERNAL"
    return error


class Record:
    """The result of one run. Record.load(path) reads the file of a record.

    `facts` has all that `emplace record FILE --format json` says: method, seed, evaluations, curve
    and more, and the command that makes such a run; each is an attribute, too. devices has the name of the device of each op by the op's
    name, placement the number of its device in the order of the problem's ops, if a problem is given.
    failure is the sentence of a method from outside that failed in the middle of the run.
    """

    def __init__(self, facts: dict, devices: dict, placement: Optional[list] = None,
                 failure: Optional[str] = None):
        self.facts = facts
        self.devices = devices
        self.placement = placement
        self.failure = failure

    @classmethod
    def load(cls, path: str, problem: Optional[Problem] = None,
             failure: Optional[str] = None) -> "Record":
        facts = json.loads(read_output("record", path, "--format", "json"))
        with tempfile.TemporaryDirectory() as folder:
            placed = os.path.join(folder, "placed.json")
            read_output("record", path, "--out", placed)
            with open(placed, encoding="utf-8") as file:
                listed = json.load(file)["devices"]
            placement = None if problem is None else problem.load_placement(placed).tolist()
        devices = {op: device for device, ops in listed.items() for op in ops}
        return cls(facts, devices, placement, failure)

    def __getattr__(self, name):
        try:
            return self.__dict__["facts"][name]
        except KeyError:
            raise AttributeError(f"a record has no {name}") from None

    def __repr__(self):
        return f"<emplace.Record by {self.facts.get('method')}>"


def place(problem: Problem, method: Any = "portfolio", budget: Optional[int] = None,
          seed: int = 1, callback: Optional[Callable[[list[Score]], Any]] = None, *,
          seconds: Optional[float] = None, threads: int = 1, options: Optional[str] = None,
          preset: Optional[str] = None, record: Optional[str] = None,
          force: bool = False, name: Optional[str] = None) -> Record:
    """Looks for a placement, as `emplace place` does, and returns the record of the run.

    method is a name that `emplace methods` lists, "./mine.so", "cmd:..." or a method in Python: a
    callable that takes a Task and returns an object with ask(count) and perhaps tell(scores), or a
    function of the name train, an agent with an environment as in a file (emplace.agent). The
    loop, the budget and the scores are the program's. callback(scores) sees each batch of a method
    in Python, and ends the run by returning False. record names a file that keeps the record; one of
    another run is an Error, and is replaced with force=True. The file has what was found until then
    when the method raises an exception, or Ctrl-C does, which reaches the caller.

    A record has the name of a method in Python, that of its class or function unless name is given, and
    a hash of its source: methods of one name that differ in their source make different runs.
    """
    if callback is not None and isinstance(method, str):
        raise ValueError("a callback sees the scores of methods in Python alone")
    if name is not None and isinstance(method, str):
        raise ValueError(f"method {method!r} has a name; name= is for methods in Python")
    with tempfile.TemporaryDirectory() as folder:
        path = record or os.path.join(folder, "run.h5")
        command = [program(), "place", problem.graph.spec, "--machine", problem.machine.name,
                   "--runtime", problem.runtime, "--seed", str(seed), "--threads", str(threads),
                   "--record", path, "--no-bound"]
        for option, value in (("budget", budget), ("seconds", seconds), ("options", options),
                              ("preset", preset)):
            if value is not None:
                command += [f"--{option}", str(value)]
        command += ["--force"] if force else []
        before = _stamp(path)
        code, said = _run_named(command, method) if isinstance(method, str) else \
            _run_python(command, method, name or name_of(method), callback)
        if code != 0 and _stamp(path) == before:
            raise _error(said)
        return Record.load(path, problem, str(_error(said)) if code != 0 else None)


def _stamp(path):
    """The part that differs between two files of a path, or None without a file."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return None
    return there.st_ino, there.st_size, there.st_mtime_ns


def _start(command, log, **keywords):
    """Starts the program in a group of its own, so that Ctrl-C reaches it by _wait() alone, and once
    each time. By EMPLACE_PARENT it ends with this process, however this one ends."""
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, process_group=0,
                            env={**os.environ, "EMPLACE_PARENT": str(os.getpid())}, **keywords)


def _wait(child, log, interrupt=None):
    """The status of the program and what it has said. An exception in this thread, as that of Ctrl-C,
    interrupts the program, which then saves its record, and is raised when it has ended. A second one
    ends the program at once."""
    if interrupt is not None:
        child.send_signal(signal.SIGINT)
    while True:
        try:
            code = child.wait()
            break
        except BaseException as caught:
            child.send_signal(signal.SIGINT)
            interrupt = interrupt or caught
    if interrupt is not None:
        raise interrupt
    log.seek(0)
    return code, log.read()


def _run_named(command, method):
    with tempfile.TemporaryFile("w+") as log:
        return _wait(_start([*command, "--method", method], log), log)


def _method_of(make):
    """What makes a method for a task: the callable itself, or an agent of a function train(task)."""
    from .agent import make as method_of  # a module that also runs by itself must not be loaded before that

    return method_of(make) if getattr(make, "__name__", "") == "train" else make


def _run_python(command, make, name, callback):
    """Has the program run, and answers for the method in this thread. When the method raises, the
    program sees its connection end, and saves what was found before."""
    ours, theirs = socket.socketpair()
    with ours, tempfile.TemporaryFile("w+") as log:
        with theirs:
            method = f"socket:{theirs.fileno()}:{name}:{code_of(make)}"
            child = _start([*command, "--method", method], log, pass_fds=[theirs.fileno()])
        interrupt = failure = None
        try:
            talk(_method_of(make), ours.makefile("rb"), ours.makefile("wb"), callback)
        except KeyboardInterrupt as caught:
            interrupt = caught
        except BaseException as caught:
            failure = caught
        if interrupt is None:
            ours.shutdown(socket.SHUT_RDWR)
        ended = _wait(child, log, interrupt)
        if failure is not None:
            raise failure
        return ended
