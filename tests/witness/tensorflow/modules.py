# SPDX-License-Identifier: GPL-3.0-or-later
"""Ten small modules: seven of Keras, three of tf.Module."""

import keras
import tensorflow as tf
from keras import layers


def convolutional():
    return keras.Sequential([
        keras.Input((32, 32, 3)), layers.Conv2D(32, 3, strides=2, padding="same"), layers.BatchNormalization(), layers.ReLU(),
        layers.DepthwiseConv2D(3, padding="same"), layers.Conv2D(64, 1), layers.Conv2DTranspose(16, 2, strides=2),
        layers.GlobalAveragePooling2D(), layers.Dense(10)])


def recurrent():
    return keras.Sequential([keras.Input((7, 32)), layers.Bidirectional(layers.LSTM(48, return_sequences=True)), layers.GRU(32), layers.Dense(8)])


def attention():
    x = keras.Input((24, 64))
    return keras.Model(x, layers.MultiHeadAttention(4, 16)(x, x, use_causal_mask=True))


def diffusion():
    x, time = keras.Input((8, 8, 16)), keras.Input((64,))
    h = layers.Conv2D(32, 3, padding="same")(keras.activations.silu(layers.GroupNormalization(4)(x)))
    h = h + layers.Reshape((1, 1, 32))(layers.Dense(32)(keras.activations.silu(time)))
    h = layers.Conv2D(32, 3, padding="same")(keras.activations.silu(layers.GroupNormalization(4)(h))) + layers.Conv2D(32, 1)(x)
    pixels = layers.Reshape((64, 32))(layers.GroupNormalization(4)(h))
    h = h + layers.Reshape((8, 8, 32))(layers.MultiHeadAttention(4, 8)(pixels, pixels))
    return keras.Model([x, time], layers.Conv2D(4, 3, padding="same")(layers.UpSampling2D()(h)))


def norms():
    return keras.Sequential([
        keras.Input((12, 64)), layers.LayerNormalization(), layers.Dense(64), layers.BatchNormalization(), layers.GroupNormalization(8),
        layers.UnitNormalization(), layers.Dropout(0.1)])


def bag():
    items, user = keras.Input((5,), dtype="int32"), keras.Input((), dtype="int32")
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(layers.Embedding(500, 32)(items)), layers.Embedding(50, 32)(user)])
    return keras.Model([items, user], layers.Dense(1, activation="sigmoid")(layers.Dense(64, activation="relu")(x)))


def transformer():
    tokens = keras.Input((None,), dtype="int32")
    x = layers.Embedding(100, 32)(tokens)
    h = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(4, 8)(h, h)
    x = x + layers.Dense(32)(layers.Dense(64, activation="gelu")(layers.LayerNormalization()(x)))
    return keras.Model(tokens, layers.Dense(100)(x))


class Experts(tf.Module):
    def __init__(self):
        super().__init__()
        self.gate = tf.Variable(tf.random.normal((32, 4)))
        self.up, self.down = tf.Variable(tf.random.normal((4, 32, 64))), tf.Variable(tf.random.normal((4, 64, 32)))

    def __call__(self, x):
        odds = tf.nn.softmax(x @ self.gate)
        best, chosen = tf.math.top_k(odds, 2)
        mask = tf.reduce_sum(tf.one_hot(chosen, 4) * best[:, :, None], 1)
        y = tf.einsum("etf,efd->etd", tf.nn.gelu(tf.einsum("td,edf->etf", x, self.up)), self.down)
        return tf.einsum("etd,te->td", y, mask)


class StateSpace(tf.Module):
    def __init__(self):
        super().__init__()
        self.into, self.out = tf.Variable(tf.random.normal((32, 64))), tf.Variable(tf.random.normal((64, 32)))
        self.decay = tf.Variable(tf.random.uniform((64,)))

    def __call__(self, x):
        u = tf.einsum("btd,de->bte", x, self.into)
        h, ys = tf.zeros((2, 64)), []
        for t in range(6):
            h = self.decay * h + u[:, t]
            ys.append(h)
        return tf.einsum("bte,ed->btd", tf.stack(ys, 1), self.out)


class Control(tf.Module):
    """A branch that depends on data, and a loop of known length."""

    def __init__(self):
        super().__init__()
        self.wide, self.narrow = tf.Variable(tf.random.normal((32, 128))), tf.Variable(tf.random.normal((128, 32)))
        self.again = tf.Variable(tf.random.normal((32, 32)))

    def __call__(self, x):
        x = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.gelu(x @ self.wide) @ self.narrow, lambda: x)
        return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.tanh(x @ self.again)), (0, x))[1]


def floats(*shape):
    return tf.TensorSpec(shape, tf.float32)


def whole(*shape):
    return tf.TensorSpec(shape, tf.int32)


MODULES = {
    "convolutional": (convolutional, [floats(4, 32, 32, 3)]),
    "recurrent": (recurrent, [floats(4, 7, 32)]),
    "attention": (attention, [floats(2, 24, 64)]),
    "experts": (Experts, [floats(24, 32)]),
    "diffusion": (diffusion, [floats(2, 8, 8, 16), floats(2, 64)]),
    "state space": (StateSpace, [floats(2, 6, 32)]),
    "norms": (norms, [floats(4, 12, 64)]),
    "embedding bag": (bag, [whole(16, 5), whole(16)]),
    "transformer": (transformer, [whole(4, 9)]),
    "control flow": (Control, [floats(8, 32)]),
}
