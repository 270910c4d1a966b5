# SPDX-License-Identifier: GPL-3.0-or-later
"""A method that speaks lines of JSON: random devices for colocation classes, the same that method
`random` draws. It needs only Python's own library. Run it:

    emplace place nmt:layers=2 --machine k40x2 --method "cmd:python3 own_lines.py" --budget 200
"""
import json
import sys

MASK = 0xFFFFFFFF


def words(seed, stream):
    """The words of a stream (Philox4x32-10), as base/rng.h of the program makes them."""
    number = 0
    while True:
        a, b, c, d = number & MASK, number >> 32, stream, 0
        low, high = seed & MASK, seed >> 32
        for _ in range(10):
            p, q = a * 0xD2511F53, c * 0xCD9E8D57
            a, b, c, d = (q >> 32) ^ b ^ low, q & MASK, (p >> 32) ^ d ^ high, p & MASK
            low, high = (low + 0x9E3779B9) & MASK, (high + 0xBB67AE85) & MASK
        yield from (a, b, c, d)
        number += 1


def below(bound, count, stream):
    """Numbers below a bound from the words of a stream."""
    numbers = []
    while len(numbers) < count:
        product = next(stream) * bound
        if product & MASK >= 2**32 % bound:
            numbers.append(product >> 32)
    return numbers


def main():
    hello = json.loads(sys.stdin.readline())
    candidate = 0
    for line in sys.stdin:
        message = json.loads(line)
        if "ask" in message:
            rows = []
            for _ in range(message["ask"]):
                stream = words(hello["seed"], candidate)
                rows.append(below(len(hello["devices"]), hello["class_count"], stream))
                candidate += 1
            print(json.dumps({"classes": rows}), flush=True)
        # else `told` has the scores, which a random method does not need


main()
