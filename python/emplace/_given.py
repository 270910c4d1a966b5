"""The arguments of an environment: integers of a shape and below a bound, and groups of ops."""
import operator

import numpy as np


def row(name, given, count, meaning):
    """An array of `count` integers; `meaning` says what they are."""
    numbers = np.asarray(given)
    is_integer = numbers.dtype.kind in "iu"
    if is_integer and numbers.shape == (count,):
        return numbers
    raise (ValueError if is_integer else TypeError)(
        f"{name}: {count} integers in one dimension are needed, {meaning}; this is {numbers.dtype} of "
        f"shape {numbers.shape}")


def check_below(name, numbers, bound, what):
    """Refuses a row whose number for some group is none of `what`."""
    wrong = np.flatnonzero((numbers < 0) | (numbers >= bound))
    if wrong.size > 0:
        raise ValueError(f"{name}: group {wrong[0]} has the {what} {numbers[wrong[0]]}; there are {what}s "
                         f"0 to {bound - 1}")


def devices(name, given, group_count, device_count):
    """A device for each group, as an int32 array of its own."""
    numbers = row(name, given, group_count, "a device for each group")
    check_below(name, numbers, device_count, "device")
    return numbers.astype(np.int32)


def number(given, bound, what):
    """One integer below a bound, out of an action."""
    try:
        value = operator.index(given)
    except TypeError:
        raise TypeError(f"action: one integer is needed, a {what} 0 to {bound - 1}; this is "
                        f"{type(given).__name__}") from None
    if 0 <= value < bound:
        return value
    raise ValueError(f"action: there is no {what} {value}; there are {what}s 0 to {bound - 1}")


def groups(problem, given):
    """The number of each op's group, int32, and the colocation class of each group; None in place of
    the classes where the groups are given. A folded op costs nothing anywhere, and may go with group 0."""
    classes = np.asarray(problem.class_of_op)
    is_placed = classes >= 0
    if isinstance(given, str):  # "metis:32"
        kind, _, count = given.partition(":")
        if count and not count.isdecimal():
            raise ValueError(f"groups: \"{given}\" has no number behind its colon; \"metis:32\" has")
        given = problem.groups(kind, int(count or 64))
    numbers = np.zeros(len(classes), np.int32)
    if given is None:  # some classes hold no op
        used, numbers[is_placed] = np.unique(classes[is_placed], return_inverse=True)
        return numbers, used
    chosen = row("groups", given, len(classes), "the number of each op's group")
    wrong = np.flatnonzero(is_placed & (chosen < 0))
    if wrong.size > 0:
        raise ValueError(f"groups: op \"{problem.graph.names[wrong[0]]}\" is in group {chosen[wrong[0]]}; "
                         "the first group is 0")
    used = np.unique(chosen[chosen >= 0])
    gaps = np.flatnonzero(used != np.arange(used.size))
    if gaps.size > 0:
        raise ValueError(f"groups: no op is in group {gaps[0]}, and one is in group {used[-1]}; groups are "
                         "numbered without gaps")
    numbers[chosen >= 0] = chosen[chosen >= 0]
    return numbers, None
