# SPDX-License-Identifier: GPL-3.0-or-later
"""Twelve small functions of parameters and inputs. `unroll` writes loops of known length out."""

import jax
import jax.numpy as jnp
from jax import lax


def numbers(*shapes):
    keys = jax.random.split(jax.random.key(0), len(shapes))
    return [jax.random.normal(key, shape) * 0.1 for key, shape in zip(keys, shapes)]


def conv(x, w, groups=1):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)


def normalise(x, axes):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(axes, keepdims=True) + 1e-5)


def convolutional(p, x, unroll):
    return conv(jax.nn.relu(conv(x, p[0])), p[1])


def recurrent(p, x, unroll):
    def cell(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ p[0] + h @ p[1] + p[2], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((x.shape[1], p[1].shape[0]))
    return lax.scan(cell, (zero, zero), x, unroll=unroll)[1]


def attend(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(mask, scores, -1e30)), v)


def attention(p, x, unroll):
    q, k, v = (jnp.einsum("bte,ehd->bthd", x, w) for w in p[:3])
    return jnp.einsum("bthd,hde->bte", attend(q, k, v), p[3])


def experts(p, x, unroll):
    odds = jax.nn.softmax(x @ p[0])
    chosen = jax.nn.one_hot(lax.top_k(odds, 2)[1], odds.shape[1]).sum(1) * odds
    y = jnp.einsum("etf,efd->etd", jax.nn.gelu(jnp.einsum("td,edf->etf", x, p[1])), p[2])
    return jnp.einsum("etd,te->td", y, chosen)


def diffusion(p, x, unroll):
    """A residual block, then attention over pixels of a smaller image."""
    h = conv(jax.nn.silu(normalise(x, (1, 2))), p[0])
    h = conv(jax.nn.silu(normalise(h, (1, 2))), p[1]) + conv(x, p[2])
    small = lax.reduce_window(h, 0.0, lax.add, (1, 8, 8, 1), (1, 8, 8, 1), "VALID") / 64
    pixels = small.reshape(small.shape[0], -1, 1, small.shape[-1])
    pixels = pixels + attend(pixels @ p[3], pixels @ p[4], pixels)
    return h + jnp.repeat(jnp.repeat(pixels.reshape(small.shape), 8, 1), 8, 2)


def state_space(p, x, unroll):
    """A scan that is a tree of sums: no loop."""
    u = x @ p[0]
    decay = jnp.broadcast_to(jax.nn.sigmoid(p[1]), u.shape)

    def join(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    return lax.associative_scan(join, (decay, u))[1] @ p[2]


def norms(p, x, unroll):
    x = normalise(x, (-1,)) * p[1]
    return normalise(jax.nn.relu(x @ p[0]), (0,)) * p[2] * lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-6)


def bag(p, x, unroll):
    items = (jnp.arange(x.shape[0] * 4) * 7) % p[0].shape[0]
    sums = jax.ops.segment_sum(p[0][items], jnp.repeat(jnp.arange(x.shape[0]), 4), x.shape[0])
    return jax.nn.relu(jnp.concatenate([sums, x], 1) @ p[1]) @ p[2]


def layers(p, x, unroll):
    """Layers of one shape, recomputed in the backward pass."""
    layer = jax.checkpoint(lambda x, w: (x + jax.nn.gelu(x @ w), None))
    return lax.scan(layer, x, p[0], unroll=unroll)[0]


def control(p, x, unroll):
    """A branch that depends on data, of which one side is longer."""
    x = x @ p[0]
    return lax.cond(x.sum() > 0, lambda x: jax.nn.gelu(x @ p[1]) @ p[2] + 1.0, lambda x: x, x)


def blockwise(p, x, unroll):
    """Attention over blocks of queries, each of which meets the keys block by block with a running softmax."""
    q, k, v = (jnp.stack(jnp.split(x @ w, 4, 1)) for w in p)

    def rows(_, q):
        def columns(state, block):
            most, total, y = state
            scores = jnp.einsum("bqd,bkd->bqk", q, block[0]) / q.shape[-1] ** 0.5
            new = jnp.maximum(most, scores.max(-1))
            odds, scale = jnp.exp(scores - new[..., None]), jnp.exp(most - new)
            return (new, total * scale + odds.sum(-1), y * scale[..., None] + odds @ block[1]), None

        zero = jnp.zeros(q.shape[:2])
        _, total, y = lax.scan(columns, (zero - 1e30, zero, q * 0), (k, v), unroll=unroll)[0]
        return None, y / total[..., None]

    return jnp.concatenate(lax.scan(rows, None, q, unroll=unroll)[1], 1)


def routes(p, x, unroll):
    """A branch of several, each with weights of its own."""
    chosen = jnp.argmax(x[0, :3])
    return lax.switch(chosen, [lambda x: x @ p[0], lambda x: jax.nn.relu(x @ p[1]) @ p[2], lambda x: x * p[3]], x)


MODULES = {
    "convolutional": (convolutional, [(3, 3, 4, 8), (3, 3, 8, 8)], (1, 128, 128, 4)),
    "recurrent": (recurrent, [(64, 256), (64, 256), (256,)], (12, 16, 64)),
    "attention": (attention, [(64, 4, 16), (64, 4, 16), (64, 4, 16), (4, 16, 64)], (2, 64, 64)),
    "experts": (experts, [(64, 4), (4, 64, 128), (4, 128, 64)], (64, 64)),
    "diffusion": (diffusion, [(3, 3, 8, 8), (3, 3, 8, 8), (1, 1, 8, 8), (8, 8), (8, 8)], (1, 128, 128, 8)),
    "state space": (state_space, [(64, 64), (64,), (64, 64)], (64, 64)),
    "norms": (norms, [(64, 64), (64,), (64,)], (128, 64)),
    "embedding bag": (bag, [(200, 32), (96, 64), (64, 8)], (64, 64)),
    "remat": (layers, [(5, 64, 64)], (32, 64)),
    "blockwise": (blockwise, [(64, 64), (64, 64), (64, 64)], (8, 128, 64)),
    "routes": (routes, [(64, 64), (64, 128), (128, 64), (64,)], (32, 64)),
    "control flow": (control, [(64, 64), (64, 128), (128, 64)], (32, 64)),
}
