# SPDX-License-Identifier: Apache-2.0
"""clang-format over all C++ files, clang-tidy over the changed ones, bash -n and shellcheck over the scripts.

    python3 tests/lint/tools.py format|tidy BUILD_FOLDER|shell      status 1 if a tool complains
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

import sources

# What clang-tidy reads when git cannot tell what changed, and at most how many files it reads (about 5 s each).
ALWAYS = ["src/core/philox.cpp", "src/io/atomic_file.cpp", "data/sampler.cpp", "src/comm/world.cpp"]
MOST_FILES = 40


def complaints(command):
    """Output of a tool that failed, else nothing."""
    done = subprocess.run(command, cwd=sources.ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode != 0 else ""


def format_complaints(files):
    return complaints(["clang-format", "--dry-run", "-Werror", *map(str, files)]) if files else ""


def shell_complaints(files):
    found = "".join(complaints(["bash", "-n", str(f)]) for f in files)
    if shutil.which("shellcheck"):
        found += complaints(["shellcheck", "-x", "-P", "SCRIPTDIR", *map(str, files)])
    return found


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=sources.ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split("\n") if done.returncode == 0 else []


def changed_sources():
    """.cpp files that differ from origin/main; on main itself, those of the last commit; else a fixed few."""
    names = git("diff", "--name-only", "--diff-filter=d", "origin/main...HEAD")
    names += git("diff", "--name-only", "--diff-filter=d", "HEAD")
    if not any(names):
        names = git("diff", "--name-only", "--diff-filter=d", "HEAD~1", "HEAD")
    names = [n for n in sorted(set(names)) if n.endswith(".cpp") and not n.startswith("tests/")]
    return names[:MOST_FILES] or [n for n in ALWAYS if (sources.ROOT / n).exists()]


def tidy_complaints(files, build):
    """clang-tidy reads the compile commands of a build made by g++, two files at a time."""
    def one(file):
        return complaints(["clang-tidy", "--quiet", "-p", str(build), "--extra-arg=-Wno-unknown-warning-option", str(file)])

    with concurrent.futures.ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        return "".join(pool.map(one, files))


def main():
    what = sys.argv[1]
    if what == "format":
        found = format_complaints(sources.cpp_files())
    elif what == "shell":
        found = shell_complaints(sources.script_files())
    else:
        files = changed_sources()
        print("clang-tidy:", *files)
        found = tidy_complaints(files, pathlib.Path(sys.argv[2]))
    print(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
