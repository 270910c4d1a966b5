"""Names and hashes of methods in Python, by which records tell them apart."""
import functools
import hashlib
import inspect
import os
import sys
import types
from typing import Any, Optional

_PLAIN = (int, float, complex, str, bytes, type(None), type(...))  # bool is an int


def name_of(method: Any) -> str:
    """The name of a class or function; of another callable, that of its class."""
    if isinstance(method, functools.partial):
        return name_of(method.func)
    return getattr(method, "__name__", type(method).__name__).strip("<>")  # <lambda>


def code_of(method: Any) -> str:
    """A hash of a method's source in 16 hexadecimal digits. It is that of a class and of the classes above
    it, or of a function, with the functions and classes of the same module that these name. Where there
    is no source, as of what was typed at a prompt, it is that of the compiled code. Values count that
    are arguments, defaults, or of an enclosing function, if they cannot change."""
    own = getattr(method, "emplace_code", None)
    if isinstance(own, str):  # what another object has found out
        return own
    pieces: list[bytes] = []
    _add(method, pieces, set())
    return hashlib.sha256(b"\0".join(pieces)).hexdigest()[:16]


def code_of_program() -> str:
    """Likewise a hash of the file that this process runs, or of nothing at a prompt."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is None or not os.path.isfile(main):
        return hashlib.sha256(b"").hexdigest()[:16]
    with open(main, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def name_of_program() -> str:
    """The name of that file without its folder and ending, or "agent"."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.splitext(os.path.basename(main))[0] if main else "agent"


def _add(thing, pieces, seen):
    """Values that may change are left out: a list that collects scores makes no other method."""
    if isinstance(thing, _PLAIN):
        pieces.append(repr(thing).encode())
    elif isinstance(thing, tuple):
        for item in thing:
            _add(item, pieces, seen)
        pieces.append(b"tuple")
    elif isinstance(thing, frozenset):
        pieces.append(repr(sorted(map(repr, thing))).encode())
    elif id(thing) not in seen:
        seen.add(id(thing))
        _add_code(thing, pieces, seen)


def _add_code(thing, pieces, seen):
    if isinstance(thing, types.CodeType):
        _add((thing.co_code, thing.co_names, thing.co_consts), pieces, seen)
    elif isinstance(thing, types.FunctionType):
        _add_function(thing, pieces, seen)
    elif isinstance(thing, type):
        _add_class(thing, pieces, seen)
    elif isinstance(thing, functools.partial):
        _add((thing.func, thing.args, *thing.keywords.items()), pieces, seen)
    elif isinstance(thing, (staticmethod, classmethod, types.MethodType)):
        _add(thing.__func__, pieces, seen)
    elif isinstance(thing, property):
        _add((thing.fget, thing.fset), pieces, seen)
    elif type(thing).__module__ != "builtins":  # a callable object
        _add((type(thing), *getattr(thing, "__dict__", {}).items()), pieces, seen)


def _source(thing) -> Optional[str]:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return None


def _add_function(function, pieces, seen):
    defaults = (function.__kwdefaults__ or {}).items()
    _add((_source(function) or function.__code__, function.__defaults__, *defaults), pieces, seen)
    for cell in function.__closure__ or ():
        try:
            _add(cell.cell_contents, pieces, seen)
        except ValueError:  # it is not set yet
            pass
    for name in function.__code__.co_names:
        named = function.__globals__.get(name)
        if isinstance(named, (type, types.FunctionType)) and named.__module__ == function.__module__:
            _add(named, pieces, seen)


def _package(kind):
    return kind.__module__.partition(".")[0]


def _add_class(kind, pieces, seen):
    for base in kind.__mro__:
        if base.__module__ == "builtins":
            continue
        source = _source(base)
        _add((base.__qualname__, source), pieces, seen)
        for name, value in vars(base).items() if _package(base) == _package(kind) else ():
            if isinstance(value, (types.FunctionType, staticmethod, classmethod, property)):
                _add(value, pieces, seen)
            elif source is None and not name.startswith("__"):
                _add((name, value), pieces, seen)
