# SPDX-License-Identifier: Apache-2.0
"""What each kernel takes of a multiprocessor, as ptxas told it (see record_usage.py), and how many blocks then fit."""
import dataclasses
import pathlib
import re
import subprocess

# Per multiprocessor: registers, bytes of shared memory, warps, blocks. CUDA programming guide, "Compute Capabilities".
LIMITS = {"sm_75": (65536, 64 * 1024, 32, 16), "sm_80": (65536, 164 * 1024, 64, 32), "sm_90a": (65536, 228 * 1024, 64, 32)}
MEASURED = ("sm_80", "sm_90a")  # what tables of the documentation show; every kernel is compiled for them
RESERVED_SHARED = 1024  # of each block, for the system

ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


@dataclasses.dataclass
class Usage:
    registers: int
    shared: int  # static, bytes
    stack: int
    spills: int


def demangle(names):
    done = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, check=True)
    return [tidy(name) for name in done.stdout.splitlines()]


def tidy(name):
    """`batch_norm_apply_kernel<__nv_bfloat16, true>`: no namespaces; nvcc and g++ write the anonymous one differently."""
    name = re.sub(r"_GLOBAL__N__\w+::|\(anonymous namespace\)::", "", name)
    name = re.sub(r"\btrireme::(kernels|simt|bench)::", "", name)
    name = re.sub(r"\((?:int|bool|unsigned int)\)", "", name)
    return re.sub(r"^void ", "", name)


def of_build(folder):
    """{(kernel, arch): Usage} over all *.usage files of a build."""
    mangled = {}
    for path in sorted(pathlib.Path(folder).rglob("*.usage")):
        entry = stack = spills = None
        for line in path.read_text().splitlines():
            if found := ENTRY.search(line):
                entry = found.groups()
            elif found := SPILLS.search(line):
                stack, spills = int(found[1]), int(found[2]) + int(found[3])
            elif (found := USED.search(line)) and entry:
                mangled[entry] = Usage(int(found[1]), int(found[2] or 0), stack or 0, spills or 0)
                entry = stack = spills = None
    names = demangle([name for name, _ in mangled])
    return {(name, arch): usage for name, ((_, arch), usage) in zip(names, mangled.items())}


def blocks_per_multiprocessor(usage, arch, threads, dynamic_shared):
    registers, shared, warps, blocks = LIMITS[arch]
    warps_per_block = -(-threads // 32)
    registers_per_warp = -(-usage.registers * 32 // 256) * 256
    shared_per_block = -(-(usage.shared + dynamic_shared + RESERVED_SHARED) // 128) * 128
    return min(blocks, warps // warps_per_block, registers // registers_per_warp // warps_per_block,
               shared // shared_per_block)


def occupancy(usage, arch, threads, dynamic_shared):
    """Share of the warps that a multiprocessor can hold."""
    blocks = blocks_per_multiprocessor(usage, arch, threads, dynamic_shared)
    return blocks * -(-threads // 32) / LIMITS[arch][2]
