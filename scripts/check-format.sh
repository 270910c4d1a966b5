#!/usr/bin/env bash
# Fails if a tracked C file is not as clang-format leaves it.
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files -z '*.c' '*.h' '*.inc' '*.cu' | xargs -0 clang-format --dry-run --Werror
