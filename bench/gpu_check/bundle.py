# SPDX-License-Identifier: Apache-2.0
"""--make-bundle: programs, the libraries that a bare GPU machine lacks, and CIFAR-10, in one archive beside the scripts.

Not in it: the driver, cuDNN and NCCL, which such a machine has (as packages or Python wheels), and nvcc."""
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

import places

MOST_BYTES = 60_000_000
# The C library belongs to the machine; a copy is taken for machines that have an older one.
C_LIBRARY = ("ld-linux-x86-64.so", "libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "libresolv.so", "libutil.so",
             "libmvec.so", "libanl.so")
NETWORKS = ("ucx", "ofi", "psm", "openib", "verbs", "usnic", "portals")
OF_THE_MACHINE = ("libcuda.so", "libnvidia-", "libcudnn", "libnccl")


def needed_libraries(binaries):
    """Paths of the shared libraries that the binaries are linked with, by the name that they are looked for."""
    found = {}
    for binary in binaries:
        listing = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False).stdout
        for line in listing.splitlines():
            words = line.split()
            if "not found" in line:
                raise places.Missing(f"{binary} needs {words[0]}, which is not on this machine")
            if len(words) >= 3 and words[1] == "=>":
                found[words[0]] = pathlib.Path(words[2])
            elif words and words[0].startswith("/") and "ld-linux" in words[0]:
                found[pathlib.Path(words[0]).name] = pathlib.Path(words[0])
    return found


def copy_stripped(source, target, programs=False):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    target.chmod(0o755)
    if programs:
        subprocess.run(["strip", str(target)], check=True)


def plugins_beside(library, pattern):
    """Plug-ins of Open MPI or PMIx, which lie in a folder somewhere below that of one of its libraries; without those for
    networks, which one rank does not need and which need many libraries."""
    found = sorted(library.resolve().parent.rglob(pattern))
    return [plugin for plugin in found if not any(word in plugin.name for word in NETWORKS)]


def share_folder(library, name):
    """Help texts, without which a message is only a name."""
    for folder in library.resolve().parents:
        if (folder / "share" / name).is_dir():
            return folder / "share" / name
    return None


def copy_plugins(library, pattern, target):
    """Programs find them by the environment that places.Bundle sets. Gives the libraries that they need."""
    plugins = plugins_beside(library, pattern)
    target.mkdir(parents=True)
    for plugin in plugins:
        shutil.copy(plugin, target)
    return needed_libraries(plugins)


def copy_libraries(binaries, files):
    libraries = needed_libraries(binaries)
    mpi = next(path for name, path in libraries.items() if name.startswith("libmpi.so"))
    libraries.update(copy_plugins(mpi, "mca_*.so", files / "openmpi/components"))
    help_texts = share_folder(mpi, "openmpi")
    if help_texts is not None:
        shutil.copytree(help_texts, files / "openmpi/share/openmpi")
    pmix = [path for name, path in libraries.items() if name.startswith("libpmix.so")]
    if pmix:
        libraries.update(copy_plugins(pmix[0], "pmix_mca_*.so", files / "pmix/components"))
    for name, path in sorted(libraries.items()):
        if name.startswith(OF_THE_MACHINE):
            continue
        copy_stripped(path.resolve(), files / ("glibc" if name.startswith(C_LIBRARY) else "lib") / name)


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=places.ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no commit"


def make(arguments, target):
    place = places.Build((arguments.build or places.ROOT / "build/release").resolve(), False, arguments.cifar)
    if not arguments.no_build:
        place.bring_up_to_date()
    programs = [place.trireme(), place.golden_check(), *(place.kernel_test(f) for f in places.FAMILIES)]
    binaries = [pathlib.Path(command[0]) for command in programs]
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        files = scratch / "files"
        for binary in binaries:
            copy_stripped(binary, files / "bin" / binary.name, programs=True)
        copy_libraries(binaries, files)
        shutil.copy(place.golden_vectors(scratch), files / "emulator.txt")
        data = place.dataset(scratch)
        (files / "data").mkdir()
        for name in ("train.h5", "val.h5"):
            shutil.copy(data / name, files / "data" / name)
        archive = target / places.BUNDLE_FILES
        environment = {**os.environ, "XZ_OPT": "-4 -T0"}
        subprocess.run(["tar", "-C", str(scratch), "-cJf", str(archive), "files"], check=True, env=environment)
    copy_scripts(target)
    check_size(target)


def copy_scripts(target):
    shutil.copy(places.HERE.parent / "gpu_check.sh", target)
    (target / "gpu_check").mkdir(exist_ok=True)
    for script in places.HERE.glob("*.py"):
        shutil.copy(script, target / "gpu_check")
    (target / places.MANIFEST).write_text(json.dumps({"commit": commit(), "glibc": places.glibc_version()}) + "\n")


def check_size(target):
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        raise places.Missing(f"the bundle in {target} has {size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.0f}")
    print(f"{target}: {size / 1e6:.1f} MB; there: {target.name}/gpu_check.sh")
