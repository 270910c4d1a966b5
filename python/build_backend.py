# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the wheel for `pip install .` (PEP 517), by CMake and Python's own library alone.

The wheel holds the extension with the library in it, the shared libraries that a bare Debian lacks,
and the machine and runtime files. Nothing is fetched. A build needs a C compiler, CMake, pkg-config
and the headers of Python, libcyaml, libyaml and zlib.
"""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BROUGHT = ("libcyaml", "libyaml", "libgomp")  # by the wheel; libc, libm and libz are Python's own


def _version():
    text = (ROOT / "include/emplace/api.h").read_text()
    return ".".join(re.findall(r"^#define EMP_VERSION_[A-Z]+ +(\d+)", text, re.M))


def _metadata():
    return (f"Metadata-Version: 2.1\nName: emplace\nVersion: {_version()}\n"
            "Summary: Device placement: a simulator of training steps as a fast oracle\n"
            "License: GPL-3.0-or-later\nRequires-Python: >=3.11\n")


def _run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}\nemplace: this failed: {' '.join(map(str, command))}")
    return done.stdout


def _build(folder):
    """Builds the extension in a folder; returns its file."""
    _run("cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DEMP_TESTS=OFF",
         "-DEMP_LIBRARY_ONLY=ON", "-DEMP_PYTHON_ALONE=ON", f"-DEMP_PYTHON={sys.executable}")
    _run("cmake", "--build", folder, "--target", "emplace_python", "--parallel",
         str(os.cpu_count()))
    return pathlib.Path(folder) / "python/emplace/_emplace.abi3.so"


def _brought_libraries(extension):
    found = re.findall(r"(\S+) => (\S+)", _run("ldd", extension))
    return {name: path for name, path in found if name.startswith(BROUGHT)}


def _files(extension):
    """Name in the wheel and path of each file."""
    files = {f"emplace/{path.name}": path for path in sorted((ROOT / "python/emplace").iterdir())
             if path.suffix in (".py", ".pyi", ".typed")}
    files[f"emplace/{extension.name}"] = extension
    for name, path in _brought_libraries(extension).items():
        files[f"emplace/libs/{name}"] = path
    for folder in ("machines", "runtimes"):
        for path in sorted((ROOT / "data" / folder).rglob("*")):
            if path.is_file():
                files[f"emplace/data/{path.relative_to(ROOT / 'data')}"] = path
    return files


class _Wheel:
    """A zip file whose last entry lists the others."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.info, self.record = info, []

    def add(self, name, content):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")
        self.zip.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)

    def close(self):
        lines = self.record + [f"{self.info}/RECORD,,", ""]
        self.zip.writestr(zipfile.ZipInfo(f"{self.info}/RECORD"), "\n".join(lines))
        self.zip.close()


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = f"cp311-abi3-{platform}"
    name = f"emplace-{_version()}-{tag}.whl"
    info = f"emplace-{_version()}.dist-info"
    with tempfile.TemporaryDirectory() as folder:
        wheel = _Wheel(pathlib.Path(wheel_directory) / name, info)
        for member, path in _files(_build(folder)).items():
            wheel.add(member, pathlib.Path(path).read_bytes())
        wheel.add(f"{info}/METADATA", _metadata().encode())
        wheel.add(f"{info}/WHEEL", ("Wheel-Version: 1.0\nGenerator: emplace\n"
                                    f"Root-Is-Purelib: false\nTag: {tag}\n").encode())
        wheel.add(f"{info}/entry_points.txt", b"[gymnasium.envs]\n__root__ = emplace.env:_register\n")
        wheel.add(f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())
        wheel.close()
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("emplace has no source archive; install from a clone")
