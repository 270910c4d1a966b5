"""The random streams of the program's methods, so that an agent can draw the same numbers."""
import operator

from . import _emplace


def _whole(name, number, first, last):
    number = operator.index(number)
    if not first <= number <= last:
        raise ValueError(f"{name} is {number}, no whole number from {first} to {last}")
    return number


class Random:
    """The stream (seed, stream, substream) of Philox4x32-10, as base/rng.h of the program.

    Method `random` draws its candidate i from Random(seed, i): for each colocation class in turn
    one number below the number of devices.
    """

    def __init__(self, seed, stream=0, substream=0):
        self._name = (_whole("seed", seed, 0, 2**64 - 1), _whole("stream", stream, 0, 2**32 - 1),
                      _whole("substream", substream, 0, 2**32 - 1))
        self._first = 0

    def words(self, count):
        """The next count words of 32 bits, uint32."""
        words = _emplace.random_words(*self._name, self._first, count)
        self._first += count
        return words

    def below(self, bound, count=None):
        """A number in 0 .. bound - 1, or count of them, int64."""
        bound = _whole("bound", bound, 1, 2**32 - 1)
        numbers, self._first = _emplace.random_below(
            *self._name, self._first, 1 if count is None else count, bound)
        return int(numbers[0]) if count is None else numbers

    def uniform(self):
        """A number in [0, 1) with 53 bits."""
        high, low = (int(word) for word in self.words(2))
        return ((high >> 5) * 2.0**26 + (low >> 6)) * 2.0**-53
