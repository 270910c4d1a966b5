"""How long a step takes under a placement, and why."""
from dataclasses import dataclass
from typing import Any, Optional

from . import _emplace


class Oracle(_emplace.Oracle):
    """Scores placements of a problem: Oracle(problem, threads=1).

    Equal placements give equal results, bit for bit, on any number of threads. The simulation runs
    without Python's lock. Threads of Python may share an oracle; it serves them one after another.

    score(placements, levels=None, groups=None) takes rows of devices, [rows, ops], as an array or a
    list; one row alone counts as one. It gives two arrays of a value a row: step times in seconds,
    and whether all devices have enough memory. A step that does not fit has the time that it would
    take with unlimited memory. With levels, 0 to 63 for each op, a device serves what waits at the
    least level first. With groups, the number of each op's group, rows have a device for each group.

    measure() takes the same and gives a dict of arrays: times, fits, overflow (missing memory over
    a device's own, summed over devices), peak_bytes and busy [rows, devices], traffic_bytes.
    """

    def __new__(cls, problem, threads=1):
        return super().__new__(cls, problem, threads)

    def explain(self, placement, levels=None, groups=None):
        """The parts of the step under one placement: an Explanation."""
        devices, starts, ends, oom = self.times(placement, levels, groups)
        table = self.measure(devices, levels)
        names, memory_bytes = self.problem.machine.names, self.problem.memory_bytes
        step = float(table["times"][0])
        rows = [
            DeviceUse(
                name=names[d],
                ops=sum(1 for op in range(len(devices)) if devices[op] == d),
                busy=float(table["busy"][0, d]),
                idle=max(0.0, step - float(table["busy"][0, d])),
                peak_bytes=int(table["peak_bytes"][0, d]),
                memory_bytes=int(memory_bytes[d]),
            )
            for d in range(len(names))
        ]
        return Explanation(step, bool(table["fits"][0]), float(table["overflow"][0]),
                           int(table["traffic_bytes"][0]), oom, rows, devices, starts, ends)


@dataclass(frozen=True)
class DeviceUse:
    """The work of one device in a step: seconds and bytes."""

    name: str
    ops: int  # placed on it
    busy: float  # of a CPU, the time of all its cores over their number; under msr-latency the sum over its ops
    idle: float
    peak_bytes: int
    memory_bytes: int  # that a step can allocate


@dataclass(frozen=True)
class Explanation:
    """A step under one placement. str() is a table to read."""

    step_time: float  # seconds; also of a step that does not fit
    fits: bool
    overflow: float  # missing memory over a device's own, summed over devices
    traffic_bytes: int  # sent between devices
    out_of_memory: Optional[dict]  # the first allocation that did not fit
    devices: list  # a DeviceUse each
    placement: Any  # the legal placement that was simulated
    starts: Any  # second at which each op begins to run; NaN of a folded op
    ends: Any

    def __str__(self):
        lines = [f"step time {self.step_time:.6f} s, "
                 f"{self.traffic_bytes / 2**20:.1f} MiB between devices"]
        if self.out_of_memory:
            lines.append("out of memory: {device} when op \"{op}\" asks for {bytes} bytes at "
                         "{at:.6f} s".format(**self.out_of_memory))
        lines += [f"{d.name:8} busy {d.busy:.6f} s, idle {d.idle:.6f} s, {d.ops} ops, peak "
                  f"{d.peak_bytes / 2**20:.0f} of {d.memory_bytes / 2**20:.0f} MiB"
                  for d in self.devices]
        return "\n".join(lines)
