# SPDX-License-Identifier: GPL-3.0-or-later
"""llama.cpp, built from the source that llama-cpp-python's package has, and run with servers as its GPUs."""

import pathlib
import re
import socket
import subprocess
import sys
import tarfile
import time

PACKAGE = "llama_cpp_python-0.3.36"
HERE = pathlib.Path(__file__).parent
OPTIONS = ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1", "-DCMAKE_CXX_FLAGS=-O0", "-DBUILD_SHARED_LIBS=ON", "-DGGML_RPC=ON",
           "-DGGML_NATIVE=OFF", "-DGGML_OPENMP=OFF", "-DGGML_CPU_REPACK=OFF", "-DGGML_LLAMAFILE=OFF", "-DLLAMA_BUILD_TESTS=OFF",
           "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF", "-DLLAMA_BUILD_APP=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_CURL=OFF"]


def build(folder, jobs):
    """Builds the probe and the server of devices; takes some minutes the first time. Returns the folder of programs."""
    source = folder / PACKAGE / "vendor" / "llama.cpp"
    made = folder / "build" / "bin"
    if not source.exists():
        name, version = PACKAGE.rsplit("-", 1)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary",
                        ":all:", "--dest", folder, f"{name}=={version}"], check=True)
        with tarfile.open(folder / f"{PACKAGE}.tar.gz") as tar:
            tar.extractall(folder, filter="data")
    if not (made / "ggml-rpc-server").exists() or not (made / "libllama-common.so").exists():
        subprocess.run(["cmake", "-S", source, "-B", folder / "build", "-G", "Ninja", *OPTIONS], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", folder / "build", f"-j{jobs}", "--target", "ggml-rpc-server", "llama-common", "llama"],
                       check=True, stdout=subprocess.DEVNULL)
    includes = [f"-I{source / part}" for part in ("include", "ggml/include", "common", "src", "vendor")]
    subprocess.run(["c++", "-std=c++17", *includes, HERE / "probe.cpp", "-o", made / "probe", f"-L{made}", "-lllama-common", "-lllama",
                    "-lggml", "-lggml-base", "-Wl,-rpath,$ORIGIN"], check=True)
    return made


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Loaded:
    """The library's report on a model that it has loaded: devices of tensors, and bytes of buffers."""

    def __init__(self, text, name_of_buffer):
        self.tensors = {}  # the last copy of a tensor counts: it is the output's where the head is tied
        self.copies = {}
        self.weights, self.buffers = {}, {}
        for words in (line.split() for line in text.splitlines()):
            if words[0] == "tensor":
                device = name_of_buffer[words[2]]
                self.copies[words[1]] = self.copies.get(words[1], 0) + 1
                self.tensors[words[1]] = (device, int(words[3]))
            elif words[0] == "buffer":
                self.buffers[name_of_buffer[words[1]]] = tuple(map(int, words[2:]))
        for device, size in self.tensors.values():
            self.weights[device] = self.weights.get(device, 0) + size


class Library:
    """The library with three devices, which are servers on this computer: gpu:0 to gpu:2."""

    def __init__(self, programs, devices=3):
        self.programs = programs
        self.ports = [free_port() for _ in range(devices)]
        self.servers = [subprocess.Popen([programs / "ggml-rpc-server", "-p", str(port)], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL) for port in self.ports]
        for port in self.ports:
            self.wait(port)
        self.buffer = {f"CUDA{i}": f"RPC0[127.0.0.1:{port}]" for i, port in enumerate(self.ports)}
        self.name_of_buffer = {buffer: f"gpu:{name[4:]}" for name, buffer in self.buffer.items()} | {"CPU": "cpu:0"}

    def wait(self, port):
        for _ in range(100):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        raise RuntimeError("ggml-rpc-server does not listen")

    def close(self):
        for server in self.servers:
            server.terminate()
            server.wait()

    def translate(self, options):
        """Our CUDA devices are the servers here; only their names differ."""
        before = None
        for option in options:
            if before == "--device":
                yield option.replace("CUDA", "RPC")
            elif before == "--override-tensor":
                yield re.sub(r"=(CUDA\d+)", lambda m: "=" + self.buffer[m[1]], option)
            else:
                yield option
            before = option

    def load(self, path, context, options):
        """Loads the file with these options; the second value is the library's complaint, if any."""
        endpoints = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        ran = subprocess.run([self.programs / "probe", "--rpc", endpoints, "-m", path, "-c", str(context), "--no-warmup", "--load-mode",
                              "none", *self.translate(options)], capture_output=True, text=True, timeout=120, check=False)
        warnings = [line for line in ran.stderr.splitlines() if "DEPRECATED" in line]
        if ran.returncode != 0 or warnings:
            lines = warnings or [line for line in ran.stderr.splitlines() if "rror" in line] or [f"exit status {ran.returncode}"]
            return None, lines[0].split(" ", 1)[-1]
        return Loaded(ran.stdout, self.name_of_buffer), ""
