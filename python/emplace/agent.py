"""Runs a method in a file of Python for the program, which starts it for `--method FILE.py`:

    python3 -m emplace.agent FILE [NAME]

NAME is a class or a function of the file; without it, the file has one class with ask(), or a function
train(). A class is a method as emplace.outside says. A function train(task) is an agent that has an
environment, trains on it, and ends by returning:

    def train(task):
        env = task.env("OneShot", groups="metis:32")
        env.reset(seed=task.seed)
        while True:
            env.step(env.action_space.sample())
            env.reset()

The program scores what the environment is asked to score. When the budget is used up, the next step raises
RunEnded, which no `except Exception` catches. task.log(loss=0.3) sets metrics that the record keeps from
the next score on; the first call, before any score, names all of them.
"""
import importlib.util
import inspect
import os
import queue
import sys
import threading
from typing import Any, Callable, Optional

from .outside import Task, talk


class RunEnded(BaseException):
    """The budget of the run is used up."""


class _Oracle:
    """Scores rows by the program: the part of an emplace.Oracle that environments use."""

    def __init__(self, method, problem):
        self._method = method
        self.problem = problem

    def score(self, placements, levels=None, groups=None):
        """Step times and whether they fit, a value a row."""
        import numpy as np

        if levels is not None:
            raise ValueError("the program decides devices here, and no order")
        rows = np.atleast_2d(np.asarray(placements))
        if groups is not None:
            rows = rows[:, np.asarray(groups)]
        scores = self._method.score(rows.tolist())
        return (np.array([score.step_time for score in scores]),
                np.array([score.fits for score in scores], bool))


class AgentTask(Task):
    """The task of an agent that trains on environments."""

    def __init__(self, task: Task, method: "Trainer"):
        self.__dict__.update(task.__dict__)
        self._method = method
        self._oracle: Optional[_Oracle] = None

    @property
    def oracle(self) -> _Oracle:
        """Scores placements of the task by the program."""
        if self._oracle is None:
            self._oracle = _Oracle(self._method, self.problem)
        return self._oracle

    def env(self, kind: Any = "OneShot", **keywords):
        """An environment of emplace.env by its name or class, whose placements the program scores."""
        from . import env as envs

        made = getattr(envs, kind) if isinstance(kind, str) else kind
        return made(self.problem, oracle=self.oracle, **keywords)

    def vector(self, kind: Any, num_envs: int, **keywords):
        """num_envs environments as an emplace.env.Vector."""
        from . import env as envs

        made = getattr(envs, kind) if isinstance(kind, str) else kind
        return envs.Vector(made, self.problem, num_envs, oracle=self.oracle, **keywords)

    def log(self, **metrics: float) -> None:
        """Sets metrics that the record keeps beside the scores."""
        self._method.metrics = {**self._method.metrics, **metrics}


class Trainer:
    """train(task) in a thread of its own, as a method that is asked and told."""

    def __init__(self, train: Callable[[AgentTask], Any], task: Task):
        self.metrics: dict[str, float] = {}
        self._rows: queue.Queue = queue.Queue()
        self._scores: queue.Queue = queue.Queue()
        self._left: list = []  # rows of the request under way that are not yet asked for
        self._told: list = []
        self._failure: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, args=(train, AgentTask(task, self)), daemon=True)
        self._thread.start()

    def _run(self, train, task):
        try:
            train(task)
        except RunEnded:
            pass
        except BaseException as failure:  # it is raised where the program asks
            self._failure = failure
        self._rows.put([])

    def score(self, rows):
        """Called by the agent's thread: has the program score the rows."""
        if not rows:  # which would say that the agent has ended
            return []
        self._rows.put(rows)
        scores = self._scores.get()
        if scores is None:
            self._scores.put(None)  # also of the next call
            raise RunEnded("the budget of the run is used up")
        return scores

    def ask(self, count):
        """Rows of the agent's request; none when it has ended."""
        if not self._left:
            self._left = self._rows.get()
            self._told = []
            if self._failure is not None:
                raise self._failure
        rows, self._left = self._left[:count], self._left[count:]
        return rows

    def tell(self, scores):
        """Gives the scores of a whole request to the agent."""
        self._told.extend(scores)
        if not self._left:
            self._scores.put(self._told)

    def close(self):
        """Lets the agent end, which may save what it has learned."""
        self._scores.put(None)
        self._thread.join()


def find(module, name: Optional[str] = None):
    """The class or function of a module that is its method."""
    if name is not None:
        if not hasattr(module, name):
            raise SystemExit(f"{module.__file__} has no {name}")
        return getattr(module, name)
    own = [thing for thing in vars(module).values()
           if inspect.isclass(thing) and thing.__module__ == module.__name__ and hasattr(thing, "ask")]
    if not own and callable(getattr(module, "train", None)):
        return module.train
    if len(own) == 1:
        return own[0]
    what = "no class with ask() and no function train()" if not own else \
        "several classes with ask(), " + ", ".join(thing.__name__ for thing in own)
    raise SystemExit(f"{module.__file__} has {what}; name one, as in {os.path.basename(module.__file__)}:NAME")


def load(path: str):
    """The module of a file, whose folder is on the path for modules that it imports."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("emplace_agent", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def make(found: Any) -> Callable[[Task], Any]:
    """A callable that takes a task and gives a method."""
    is_trainer = inspect.isfunction(found) and not hasattr(found, "ask")
    return (lambda task: Trainer(found, task)) if is_trainer else found


def main(arguments: list[str]) -> None:
    """Speaks for the method on standard input and output; what it prints goes to standard error."""
    if not 1 <= len(arguments) <= 2:
        raise SystemExit("usage: python3 -m emplace.agent FILE [NAME]")
    writer = sys.stdout.buffer
    sys.stdout = sys.stderr
    talk(make(find(load(arguments[0]), *arguments[1:])), sys.stdin.buffer, writer)


if __name__ == "__main__":
    main(sys.argv[1:])
