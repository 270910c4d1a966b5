"""The random streams of the program's methods, so that an agent can draw the same numbers."""
from . import _emplace


class Random:
    """The stream (seed, stream, substream) of Philox4x32-10, as base/rng.h of the program.

    Method `random` draws its candidate i from Random(seed, i): for each colocation class in turn
    one number below the number of devices.
    """

    def __init__(self, seed, stream=0, substream=0):
        self._name = (seed, stream, substream)
        self._first = 0

    def words(self, count):
        """The next count words of 32 bits, uint32."""
        words = _emplace.random_words(*self._name, self._first, count)
        self._first += count
        return words

    def below(self, bound, count=None):
        """A number in 0 .. bound - 1, or count of them, int64."""
        numbers, self._first = _emplace.random_below(
            *self._name, self._first, 1 if count is None else count, bound)
        return int(numbers[0]) if count is None else numbers

    def uniform(self):
        """A number in [0, 1) with 53 bits."""
        high, low = (int(word) for word in self.words(2))
        return ((high >> 5) * 2.0**26 + (low >> 6)) * 2.0**-53
