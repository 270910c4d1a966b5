# SPDX-License-Identifier: GPL-3.0-or-later
"""A list scheduler that OpenEvolve is to improve: it rewrites what stands between the two marks."""


# EVOLVE-BLOCK-START
def place(ops, devices, copy_time):
    """Gives a device for each op.

    ops: in an order in which inputs come first. An op has "times" (seconds on each device), "devices" (those it may
    be on), "inputs" (pairs: the number of an op, and the bytes that it sends), and "class": ops of one class must be
    on one device, and go where the first of them is.
    devices: their number; copy_time(source, target, bytes): seconds.
    """
    free = [0.0] * devices
    placement, done, home = [], [], {}
    for op in ops:
        choices = [home[op["class"]]] if op["class"] in home else op["devices"]

        def end_on(device):
            ready = max((done[source] + copy_time(placement[source], device, size) for source, size in op["inputs"]), default=0.0)
            return max(ready, free[device]) + op["times"][device]

        chosen = min(choices, key=end_on)
        done.append(end_on(chosen))
        free[chosen] = done[-1]
        placement.append(chosen)
        home.setdefault(op["class"], chosen)
    return placement
# EVOLVE-BLOCK-END
