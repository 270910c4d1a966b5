#!/usr/bin/env bash
# XLA's cost_analysis counts the bytes of an embedding lookup as the whole table, unless a single row is looked up: then it
# counts that row. From one row to two the bytes of a table of 50,000 rows of 64 floats grow from 516 to 12.8 million, while
# 1,024 rows are another 262,000 bytes. An update of two rows counts the table four times. Seen with jax 0.10.2 on a CPU:
#
#   lookup of 1, 2, 1024 rows: 516 12800520 13066240 bytes; update of 2 rows: 51201052 bytes; the table: 12800000
#
# Emplace counts the rows that a fusion gathers or scatters, and copies of whole tables only where the program has them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2
seen=$("$folder/venv/bin/python" - "$folder" <<'P' 2>/dev/null | tail -n 1
import jax
import jax.numpy as jnp

table = jnp.zeros((50000, 64))


def bytes_of(function, rows):
    costs = jax.jit(function).lower(table, jnp.zeros(rows, jnp.int32)).compile().cost_analysis()
    return int((costs[0] if isinstance(costs, list) else costs)["bytes accessed"])


lookups = [bytes_of(lambda t, i: jnp.take(t, i, axis=0), rows) for rows in (1, 2, 1024)]
update = bytes_of(lambda t, i: t.at[i].add(1.0), 2)
print("lookup of 1, 2, 1024 rows: {} {} {} bytes; ".format(*lookups) +
      f"update of 2 rows: {update} bytes; the table: {table.nbytes}")
P
)
echo "$seen"
[[ $seen == "lookup of 1, 2, 1024 rows: 516 12800520 13066240 bytes; update of 2 rows: 51201052 bytes; the table: 12800000" ]]
