"""Gymnasium's spaces, Env, VectorEnv and ResetNeeded where it is installed, else small ones of the
same form."""
NEXT_STEP = "NextStep"  # how a vector environment begins new episodes

try:
    from gymnasium import Env
    from gymnasium.error import ResetNeeded
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

    class ResetNeeded(Exception):
        """A step outside an episode."""

    class _Seeded:
        """The part that Env and VectorEnv share."""

        metadata = {"render_modes": []}
        render_mode = None
        spec = None
        _np_random = None
        _np_random_seed = None

        def _seed(self, seed=None):
            sequence = np.random.SeedSequence(seed)
            self._np_random = np.random.Generator(np.random.PCG64(sequence))
            self._np_random_seed = sequence.entropy

        @property
        def np_random(self):
            """The random numbers of the environment."""
            if self._np_random is None:
                self._seed()
            return self._np_random

        @np_random.setter
        def np_random(self, generator):
            self._np_random, self._np_random_seed = generator, -1

        @property
        def np_random_seed(self):
            """The seed of np_random, or -1 where another generator was put in its place."""
            if self._np_random is None:
                self._seed()
            return self._np_random_seed

        @property
        def unwrapped(self):
            """The environment itself; a wrapper of Gymnasium gives the one inside."""
            return self

        def render(self):
            """There is nothing to see, as metadata["render_modes"] says."""
            raise NotImplementedError(f"{type(self).__name__} has no render modes")

    class Env(_Seeded):
        """One environment."""

        def reset(self, *, seed=None, options=None):
            if seed is not None:
                self._seed(seed)

        def close(self):
            pass

        def has_wrapper_attr(self, name):
            return hasattr(self, name)

        def get_wrapper_attr(self, name):
            return getattr(self, name)

        def set_wrapper_attr(self, name, value, *, force=True):
            if not force and not hasattr(self, name):
                return False
            setattr(self, name, value)
            return True

        def __str__(self):
            return f"<{type(self).__name__} instance>"

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()
            return False

    class VectorEnv(_Seeded):
        """Many environments as one."""

        num_envs: int
        closed = False

        def close(self, **keywords):
            """Closes what close_extras() closes, once."""
            if not self.closed:
                self.close_extras(**keywords)
                self.closed = True

        def close_extras(self, **keywords):
            pass

        def __repr__(self):
            return f"{type(self).__name__}(num_envs={self.num_envs})"

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
