"""The placements that an environment has scored, of which a record is made."""
import os

import numpy as np

from ._identity import code_of, code_of_program, name_of, name_of_program
from .run import place


class _Replay:
    """A method that proposes what was scored before, in the same order, with the metrics of then."""

    by_class = True

    def __init__(self, log, emplace_code):
        self.log, self.emplace_code = log, emplace_code
        self.next, self.metrics = 0, {}

    def __call__(self, task):
        first = np.zeros(task.class_count, np.int64)
        classes = np.asarray(task.class_of_op)
        ops = np.flatnonzero(classes >= 0)[::-1]
        first[classes[ops]] = ops  # the lowest op of a class decides for it
        self.first = first
        return self

    def ask(self, count):
        """At most the rows up to the next change of metrics."""
        log, begin = self.log, self.next
        end = begin + 1
        while end < min(begin + count, len(log.rows)) and log.metrics[end] is log.metrics[begin]:
            end += 1
        end = min(end, len(log.rows))
        if begin < len(log.rows):
            self.metrics = {name: log.metrics[begin].get(name, float("nan")) for name in log.names}
        self.next = end
        return [log.rows[i][log.groups][self.first].tolist() for i in range(begin, end)]


# Limits of a record, as in run/store/store.h.
_TEXT_BYTES, _NAME_BYTES, _METRICS, _SEED_MAX = 255, 63, 16, 2**63 - 1


def _check_length(what, text, most):
    if len(text.encode()) > most:
        raise ValueError(f"{what} has {len(text.encode())} bytes; a record has room for {most}")


class Log:
    """The placements that an agent has had scored. save() gives them to the program once more, which scores
    them and writes the record of a run."""

    def __init__(self, problem, groups, path, agent, options):
        self.path = os.fspath(path)
        if os.path.isfile(self.path) and os.path.getsize(self.path) > 0:
            raise FileExistsError(f"{self.path} is there already; remove it, or name another file")
        folder = os.path.dirname(self.path) or "."
        if not os.access(folder, os.W_OK | os.X_OK):
            raise FileNotFoundError(f"{self.path} cannot be written: {folder} is no folder that may be written to")
        _check_length("options", str(options or ""), _TEXT_BYTES)
        self.problem, self.groups, self.options = problem, groups, options
        self.agent, self.seed = agent, 1
        self.rows: list = []
        self.metrics: list = []  # of each row, as they were set by then
        self.names: list = []
        self.now: dict = {}

    def set(self, metrics):
        """Sets metrics from the next row on."""
        names = self.names + [name for name in metrics if name not in self.names]
        if len(names) > _METRICS:
            raise ValueError(f"a record has room for {_METRICS} metrics, and these are {len(names)}: {', '.join(names)}")
        for name in metrics:
            _check_length(f"the metric {name[:20]}...", name, _NAME_BYTES)
        self.now = {**self.now, **{name: float(value) for name, value in metrics.items()}}
        self.names = names

    def begin(self, seed):
        """Takes the seed of the first episode."""
        if self.rows or seed is None:
            return
        if not 0 <= seed <= _SEED_MAX:
            raise ValueError(f"the seed {seed} is none that a record can hold: they are 0 to {_SEED_MAX}")
        self.seed = int(seed)

    def add(self, rows):
        """Adds rows of a device for each group, which were scored."""
        for row in np.atleast_2d(np.asarray(rows)):
            self.rows.append(row.astype(np.uint8))
            self.metrics.append(self.now)

    def save(self):
        """Writes the record, if anything was scored; gives it."""
        if not self.rows:
            return None
        if self.agent is None or isinstance(self.agent, str):
            name, code = self.agent or name_of_program(), code_of_program()
        else:
            name, code = name_of(self.agent), code_of(self.agent)
        return place(self.problem, _Replay(self, code), budget=len(self.rows), seed=self.seed, name=name,
                     options=self.options, record=self.path)
