# SPDX-License-Identifier: Apache-2.0
"""Which folder may include which: lower never includes upper. `allowed` below is the one table.

    python3 tests/lint/include_rules.py     prints every include that breaks it; status 1 if there is one
"""
import pathlib
import re
import sys

import sources

# folder: folders whose headers it may include, besides its own.
ALLOWED = {
    "src/core": set(),
    "src/io": {"src/core"},
    "src/device": {"src/core"},
    "src/device/cpu": {"src/core", "src/device"},
    "kernels/simt": set(),
    "kernels": {"kernels/simt"},  # raw pointers and sizes
    "kernels/reference": {"src/core", "src/device"},  # the loops take op attributes
    "src/device/cuda": {"src/core", "src/device", "kernels", "kernels/simt"},
    "src/graph": {"src/core", "src/device"},
    "models": {"src/core", "src/device", "src/graph"},
    "data": {"src/core", "src/io"},
    "src/comm": {"src/core", "src/device"},
    "src/comm/nccl_emulated": {"src/core", "src/device", "src/comm", "kernels/simt"},
    "src/optim": {"src/core", "src/device", "src/graph"},
    "src/exchange": {"src/core", "src/device", "src/graph", "src/comm", "src/optim"},
    "src/optim/cuda": {"src/core", "src/device", "src/device/cuda", "src/graph", "src/optim", "kernels"},
    "src/exchange/cuda": {"src/core", "src/device", "src/device/cuda", "src/exchange", "kernels"},
    "src/checkpoint": {"src/core", "src/device", "src/graph", "src/io", "src/optim"},
    "src/train": {
        "src/core", "src/io", "src/device", "src/device/cpu", "src/graph", "src/comm", "src/optim",
        "src/exchange", "src/checkpoint", "models", "data",
    },
}
ALLOWED["src/train/cuda"] = ALLOWED["src/train"] | {
    "src/train", "src/device/cuda", "src/optim/cuda", "src/exchange/cuda",
}
ALLOWED["src/cli"] = ALLOWED["src/train"] | {"src/train"}
# What a program is made of is put together in its main.
ALLOWED["src/cli/main_cuda"] = {"src/cli", "src/train/cuda"}
ALLOWED["src/cli/main_simt"] = {"src/cli", "src/train/cuda", "src/comm", "src/comm/nccl_emulated"}

# Libraries that only some folders may name.
LIBRARIES = {
    "mpi.h": {"src/comm", "src/comm/nccl_emulated"},
    "hdf5.h": {"src/io"},
    "dnnl.hpp": {"src/device/cpu"},
    "jpeglib.h": {"data"},
    "png.h": {"data"},
    "boost/context/detail/fcontext.hpp": {"kernels/simt"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def folder_of(path):
    """The entry of the table that a path belongs to (the longest that fits), or None: tests and bench may all."""
    fitting = [f for f in ALLOWED if pathlib.PurePosixPath(f) in pathlib.PurePosixPath(path).parents]
    return max(fitting, key=len, default=None)


def violations(path, text):
    """Messages for one file; `path` is relative to the root."""
    folder = folder_of(path)
    if folder is None:
        return []
    found = []
    for match in INCLUDE.finditer(text):
        ours, library = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        if ours is not None:
            target = folder_of(ours)
            if target is None:
                found.append(f'{path}:{line}: "{ours}" is not a path from the root to a folder of the program')
            elif target != folder and target not in ALLOWED[folder]:
                found.append(f"{path}:{line}: {folder} may not include {target} ({ours})")
        elif folder not in LIBRARIES.get(library, {folder}):
            found.append(f"{path}:{line}: <{library}> belongs to {', '.join(sorted(LIBRARIES[library]))}")
    return found


def main():
    found = []
    for name in sources.cpp_files():
        found += violations(str(name), (sources.ROOT / name).read_text())
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
