"""Arrays that the extension makes: numpy's where numpy is installed, else memoryviews."""
try:
    import numpy
except ImportError:
    numpy = None


def make(buffer, code, shape):
    """The items of a buffer, whose type is a letter of the module struct, in a shape."""
    if numpy is not None:
        return numpy.frombuffer(buffer, numpy.dtype(code)).reshape(shape)
    view = memoryview(buffer)
    if 0 in shape:  # memoryview has no such shapes
        return view.cast(code)
    return view.cast(code, shape)
