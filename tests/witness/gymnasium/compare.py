# SPDX-License-Identifier: GPL-3.0-or-later
"""Has Gymnasium check the environments of the Python module.

    compare.py EMPLACE

The module is that of the build of EMPLACE: python/ beside its cli/. Each environment passes `check_env` without an error or a
warning, but that boxes reach to infinity, on several graphs, with and without groups. The last line is "N of M agree".
"""

import argparse
import os
import pathlib
import sys
import warnings

from gymnasium.utils.env_checker import check_env

SPECS = ["rnnlm:layers=1,steps=2,units=64,batch=8", "nmt:layers=2,steps=2,units=64,batch=8"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("emplace")
    program = pathlib.Path(parser.parse_args().emplace).resolve()
    module = program.parent.parent / "python"
    if not list(module.glob("emplace/_emplace*.so")):
        print(f"skipped: that build has no Python module in {module}")
        return 77
    os.environ["EMPLACE_PROGRAM"] = str(program)
    sys.path.insert(0, str(module))
    import emplace
    from emplace.env import Improve, OneShot, Order, Sequential
    import numpy as np

    agree = total = 0
    for spec in SPECS:
        problem = emplace.Problem(spec, "k40x2")
        groups = np.zeros(len(problem.graph), int)
        groups[problem.graph.order] = np.arange(len(groups)) * 12 // len(groups)
        for kind in (OneShot, Improve, Sequential, Order):
            for given in (None, groups):
                total += 1
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    try:
                        check_env(kind(problem) if given is None else kind(problem, groups=given), skip_render_check=True)
                        found = [str(warning.message) for warning in seen if "value is" not in str(warning.message)]
                    except Exception as error:  # what check_env raises is the difference
                        found = [repr(error)]
                print(f"{kind.__name__} of {spec}, {'ops' if given is None else 'groups'}: {'; '.join(found) or 'passes'}")
                agree += not found
    print(f"{agree} of {total} agree")
    return 0 if agree == total else 1


if __name__ == "__main__":
    sys.exit(main())
