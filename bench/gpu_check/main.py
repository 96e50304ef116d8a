# SPDX-License-Identifier: Apache-2.0
"""gpu_check.sh: runs the stages and reports; see --help."""
import argparse
import pathlib
import sys

import bundle
import places
import report
import stages
import steps

DESCRIPTION = """Checks and measures the program on this machine's GPU, in four stages:
  1  golden vectors and every kernel test on the card, under compute-sanitizer where it is there
  2  each layer of vgg16 and resnet50, our kernels against cuDNN and the card's ceilings
  3  whole training steps of both networks at batch 256 in bf16, with and without CUDA graph
  4  one epoch of CIFAR-10 with resnet20, and its accuracy
The programs come from a build folder, which is brought up to date first, or from a bundle that another machine made.
At the end stands one table; results.json and a log of each step lie in the output folder.
Exit status: 0 all well, 1 a step failed, 64 usage, 69 something is missing."""


def read_arguments():
    parser = argparse.ArgumentParser(prog="gpu_check.sh", description=DESCRIPTION,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", type=int, action="append", choices=sorted(stages.NAMES), metavar="N",
                        help="only this stage; may be given several times")
    parser.add_argument("--build", type=pathlib.Path, help="build folder (build/release of the checkout)")
    parser.add_argument("--no-build", action="store_true", help="take the build folder as it is")
    parser.add_argument("--cifar", type=pathlib.Path,
                        help="folder with CIFAR-10 as train.h5 and val.h5, or an archive of its pictures as JPEG files in "
                             "cifar10/train and cifar10/test")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("gpu_check_results"),
                        help="folder for results (%(default)s)")
    parser.add_argument("--rehearse", action="store_true", help="every stage over the emulator at toy size: no GPU needed")
    parser.add_argument("--make-bundle", type=pathlib.Path, metavar="DIR",
                        help="put into DIR all that a machine with nothing but a GPU, its driver and Python needs")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    try:
        if arguments.make_bundle:
            bundle.make(arguments, arguments.make_bundle)
            return 0
        place = places.find(arguments)
        runner = steps.Runner(place, arguments.output.resolve())
        chosen = sorted(set(arguments.stage or stages.NAMES))
        results = [runner.run_stage(number, stages.NAMES[number], stages.LIMITS[number], stages.make(number, place, runner))
                   for number in chosen]
    except places.Missing as missing:
        print(f"gpu_check.sh: {missing}", file=sys.stderr)
        return 69
    return report.finish(place, results, arguments.output)


if __name__ == "__main__":
    sys.exit(main())
