"""Tables of the program as DataFrames of pandas where it is installed, else as lists of dicts."""
import csv
import io
import re
from typing import Any

from .run import read_output

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_TEXTS = re.compile(r"commit|(.*_)?hash")  # columns whose digits are no number
_QUANTITIES = re.compile(r".*_(s|ms|frac|bytes|gib|error|off)")  # columns of numbers, if there are any
_WORDS = {"OOM": float("inf"), "inf": float("inf"), "": float("nan")}


def _typed(name, fields):
    """A column as whole numbers, real numbers or texts."""
    is_empty = all(field == "" for field in fields)
    if _TEXTS.fullmatch(name) or (is_empty and not _QUANTITIES.fullmatch(name)):
        return list(fields)
    if all(_WHOLE.fullmatch(field) for field in fields):
        return [int(field) for field in fields]
    if all(field in _WORDS or _NUMBER.fullmatch(field) for field in fields):
        return [_WORDS[field] if field in _WORDS else float(field) for field in fields]
    return list(fields)


def _parse(text):
    made_by = re.match(r"# made by: (.*)", text)
    lines = (line for line in io.StringIO(text, newline="") if not line.startswith("#"))
    rows = [row for row in csv.reader(lines, strict=True) if row]
    names = rows.pop(0) if rows else []
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise ValueError(f"row {number} of the table has {len(row)} fields, not {len(names)}")
    columns = {name: _typed(name, fields) for name, *fields in zip(names, *rows)}
    return columns, made_by[1].strip() if made_by else None


def _table(text):
    columns, made_by = _parse(text)
    try:
        import pandas
    except ImportError:
        return [dict(zip(columns, row)) for row in zip(*columns.values())]
    frame = pandas.DataFrame(columns)
    frame.attrs["made_by"] = made_by
    return frame


def load_sheet(path: str) -> Any:
    """The table of a CSV file that the program has written.

    Numbers are numbers, what does not fit in memory (OOM) is infinite, and a number that is missing is
    NaN. A DataFrame has the command that made it in attrs["made_by"].
    """
    with open(path, encoding="utf-8", newline="") as file:
        return _table(file.read())


def sheet(*arguments: str) -> Any:
    """The table that a command of the program prints: sheet("table", "1", "--rows", "rnnlm").

    The arguments are those of the shell, without --format. The table is that of load_sheet().
    """
    return _table(read_output(*arguments, "--format", "csv"))
