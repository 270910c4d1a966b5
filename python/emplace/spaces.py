"""Gymnasium's spaces, Env and VectorEnv where it is installed, else small ones of the same form."""
NEXT_STEP = "NextStep"  # how a vector environment begins new episodes

try:
    from gymnasium import Env
    from gymnasium.spaces import Box, Discrete, MultiDiscrete
    from gymnasium.vector import VectorEnv
    from gymnasium.vector.utils import batch_space

    try:
        from gymnasium.vector import AutoresetMode
        NEXT_STEP = AutoresetMode.NEXT_STEP
    except ImportError:  # before Gymnasium 1.1
        pass
except ImportError:
    import numpy as np

    class Env:
        """What reset() of an environment calls."""

        np_random = None

        def reset(self, *, seed=None, options=None):
            if seed is not None or self.np_random is None:
                self.np_random = np.random.default_rng(seed)

        @property
        def unwrapped(self):
            return self

    class VectorEnv:
        """Many environments as one."""

        @property
        def unwrapped(self):
            return self

    class _Space:
        def __init__(self, shape, dtype, seed=None):
            self.shape, self.dtype = tuple(shape), np.dtype(dtype)
            self.seed(seed)

        def seed(self, seed=None):
            self.np_random = np.random.default_rng(seed)
            return [seed]

        def __contains__(self, x):
            return self.contains(x)

    class Discrete(_Space):
        """0 to n - 1."""

        def __init__(self, n, seed=None):
            super().__init__((), np.int64, seed)
            self.n = np.int64(n)

        def sample(self):
            return np.int64(self.np_random.integers(self.n))

        def contains(self, x):
            return isinstance(x, (int, np.integer)) and 0 <= x < self.n

        def __repr__(self):
            return f"Discrete({self.n})"

    class MultiDiscrete(_Space):
        """A number below each of nvec."""

        def __init__(self, nvec, seed=None):
            self.nvec = np.array(nvec, np.int64)
            super().__init__(self.nvec.shape, np.int64, seed)

        def sample(self):
            return self.np_random.integers(self.nvec)

        def contains(self, x):
            x = np.asarray(x)
            return x.shape == self.shape and x.dtype.kind in "iu" and bool(
                ((x >= 0) & (x < self.nvec)).all())

        def __repr__(self):
            return f"MultiDiscrete({self.nvec})"

    class Box(_Space):
        """Numbers of a shape between two bounds."""

        def __init__(self, low, high, shape, dtype=np.float32, seed=None):
            super().__init__(shape, dtype, seed)
            self.low = np.full(shape, low, dtype)
            self.high = np.full(shape, high, dtype)

        def sample(self):
            high = np.where(np.isfinite(self.high), self.high, self.low + 1)
            return self.np_random.uniform(self.low, high).astype(self.dtype)

        def contains(self, x):
            x = np.asarray(x)
            return x.shape == self.shape and np.can_cast(x.dtype, self.dtype) and bool(
                ((x >= self.low) & (x <= self.high)).all())

        def __repr__(self):
            return f"Box({self.low.min()}, {self.high.max()}, {self.shape}, {self.dtype})"

    def batch_space(space, n):
        """The space of n items of a space."""
        if isinstance(space, Box):
            return Box(space.low[0, 0], space.high[0, 0], (n, *space.shape), space.dtype)
        kinds = space.nvec if isinstance(space, MultiDiscrete) else np.asarray(space.n)
        return MultiDiscrete(np.broadcast_to(kinds, (n, *kinds.shape)))
