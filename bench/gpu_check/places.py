# SPDX-License-Identifier: Apache-2.0
"""Where the programs come from (a build folder or a bundle) and in which environment they run."""
import glob
import json
import os
import pathlib
import shutil
import site
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUNDLE_FILES, MANIFEST = "files.tar.xz", "bundle.json"
FAMILIES = ("augment", "batch_norm", "cast", "conv2d", "dropout", "elementwise", "gemm", "linear", "optimizer", "pool2d",
            "softmax_cross_entropy", "step")
CIFAR_ARCHIVE = "data/cifar10-jpeg.tar.xz"


class Missing(Exception):
    """What is not there, and what to do about it."""


def wheel_folders():
    """Folders of NVIDIA's Python wheels that have shared libraries: cuDNN and NCCL often come so."""
    roots = {*sys.path, *site.getsitepackages(), site.getusersitepackages()}
    found = [pathlib.Path(f) for root in sorted(r for r in roots if r) for f in glob.glob(f"{root}/nvidia/*/lib")]
    wanted = ("libcudnn.so", "libnccl.so", "libcublas")
    return [str(f) for f in dict.fromkeys(found) if any(f.glob(f"{name}*") for name in wanted)]


def base_environment():
    """Of programs started here: one rank, no launcher; the wheels' libraries come last."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TRIREME_", "OMPI_", "SIMT_"))}
    environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1",
                       OMPI_MCA_ess_singleton_isolated="1")
    folders = [environment.get("LD_LIBRARY_PATH", ""), *wheel_folders()]
    environment["LD_LIBRARY_PATH"] = ":".join(f for f in folders if f)
    return environment


def glibc_version():
    name, version = os.confstr("CS_GNU_LIBC_VERSION").split()
    return tuple(map(int, version.split("."))) if name == "glibc" else (0,)


class Build:
    """Programs of a build folder; `emulated`: those over the emulator."""

    def __init__(self, folder, emulated, cifar):
        self.folder, self.emulated, self.cifar = folder, emulated, cifar
        self.environment = base_environment()
        self.where = str(folder)

    def program(self, name):
        path = self.folder / name
        if not path.exists():
            raise Missing(f"{path} is not there: without --no-build it would be built")
        return [str(path)]

    def trireme(self):
        return self.program("trireme-simt" if self.emulated else "trireme")

    def kernel_test(self, family):
        return self.program(f"kernels_{family}_test" if self.emulated else f"kernels_{family}_cuda_test")

    def golden_check(self):
        return self.program("golden_check_simt" if self.emulated else "golden_check_cuda")

    def golden_vectors(self, scratch):
        """The emulator's, to compare the card's with."""
        file = scratch / "emulator.txt"
        subprocess.run([*self.program("golden_check_simt"), str(file)], check=True, stdout=subprocess.DEVNULL)
        return file

    def dataset(self, scratch):
        """Folder with train.h5 and val.h5."""
        return packed_cifar(self.cifar, self.trireme(), self.environment, scratch)

    def targets(self):
        if self.emulated:
            return ["trireme-simt", "golden_check_simt", *(f"kernels_{family}_test" for family in FAMILIES)]
        return ["trireme", "golden_check_simt", "cuda_kernel_tests"]

    def bring_up_to_date(self):
        if not (self.folder / "CMakeCache.txt").exists():
            run_loud(["cmake", "--preset", "release", "-B", str(self.folder)])
        run_loud(["cmake", "--build", str(self.folder), "--target", *self.targets()])


class Bundle:
    """What `bundle.make` put together on another machine; unpacked beside itself at first use."""

    emulated = False

    def __init__(self, folder):
        manifest = json.loads((folder / MANIFEST).read_text())
        self.files = folder / "files"
        if not (self.files / "complete").exists():
            shutil.rmtree(self.files, ignore_errors=True)
            with tarfile.open(folder / BUNDLE_FILES) as archive:
                archive.extractall(folder)
            (self.files / "complete").touch()
        self.where = f"{folder}, of {manifest['commit']}"
        self.environment = base_environment()
        folders = [str(self.files / "lib"), self.environment["LD_LIBRARY_PATH"]]
        self.environment["LD_LIBRARY_PATH"] = ":".join(f for f in folders if f)
        self.environment["OPAL_PREFIX"] = str(self.files / "openmpi")
        self.environment["OMPI_MCA_mca_base_component_path"] = str(self.files / "openmpi/components")
        self.environment["PMIX_MCA_mca_base_component_path"] = str(self.files / "pmix/components")
        self.loader = []
        if glibc_version() < tuple(manifest["glibc"]):  # programs made with a newer C library bring it along
            search = f"{self.files / 'glibc'}:{self.environment['LD_LIBRARY_PATH']}"
            self.loader = [str(self.files / "glibc/ld-linux-x86-64.so.2"), "--library-path", search]

    def program(self, name):
        return [*self.loader, str(self.files / "bin" / name)]

    def trireme(self):
        return self.program("trireme")

    def kernel_test(self, family):
        return self.program(f"kernels_{family}_cuda_test")

    def golden_check(self):
        return self.program("golden_check_cuda")

    def golden_vectors(self, _scratch):
        return self.files / "emulator.txt"

    def dataset(self, _scratch):
        folder = self.files / "data"
        if not folder.exists():
            raise Missing("the bundle has no CIFAR-10: it was made without --cifar")
        return folder


def run_loud(command):
    print("$", *command, flush=True)
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        raise Missing(f"'{' '.join(command)}' failed")


def packed_cifar(given, trireme, environment, scratch):
    """train.h5 and val.h5 as they are, or packed from the pictures."""
    if given is None:
        shared = pathlib.Path(os.environ.get("TRIREME_SHARED", ROOT.parent / "shared"))
        given = shared / CIFAR_ARCHIVE
    if not given.exists():
        raise Missing(f"CIFAR-10 is not at {given}: --cifar says where it is")
    if given.is_dir():
        return given
    folder = scratch / "cifar10"
    if (folder / "val.h5").exists():
        return folder
    with tarfile.open(given) as archive:
        archive.extractall(scratch)
    for source, packed in (("train", "train.h5"), ("test", "val.h5")):
        subprocess.run([*trireme, "pack", str(folder / source), "-o", str(folder / packed), "--encode", "jpeg"], check=True,
                       env=environment, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return folder


def find(arguments):
    """The bundle that this script lies in, else the build folder."""
    if (HERE.parent / MANIFEST).exists():
        return Bundle(HERE.parent)
    place = Build((arguments.build or ROOT / "build/release").resolve(), arguments.rehearse, arguments.cifar)
    if not arguments.no_build:
        place.bring_up_to_date()
    return place
