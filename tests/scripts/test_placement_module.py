# SPDX-License-Identifier: GPL-3.0-or-later
"""Does `emplace place --out FILE.py` give each op the device that the JSON gives it?"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile


class Operation:
    """What tf.device() hands to a device function."""

    def __init__(self, name):
        self.name = name


emplace = os.path.join(os.environ["EMP_BINARY_DIR"], "cli", "emplace")
run = ["place", "rnnlm:steps=2", "-m", "k40x2", "--method", "random", "--budget", "2", "--record", "run.h5"]

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for arguments in (run, ["record", "run.h5", "--out", "p.json"], ["record", "run.h5", "--out", "p.py"]):
        subprocess.run([emplace, *arguments], check=True, stdout=subprocess.DEVNULL)
    with open("p.json") as file:
        devices = json.load(file)["devices"]
    spec = importlib.util.spec_from_file_location("placement", "p.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

ops = 0
for device, names in devices.items():
    kind, number = device.split(":")
    for name in names:
        ops += 1
        got = module.device_of(Operation(name))
        if got != f"/device:{kind.upper()}:{number}":
            sys.exit(f"{name} is on {got}, not {device}")
if ops < 100:
    sys.exit(f"{ops} ops only")
if module.device_of(Operation("no/such/op")) != "":
    sys.exit("an unknown op has a device")
