# SPDX-License-Identifier: Apache-2.0
"""The four stages as lists of steps."""
import json
import re
import shutil

import places
from steps import Step

NAMES = {1: "kernels", 2: "layers", 3: "training steps", 4: "one epoch of CIFAR-10"}
# Seconds: together less than five minutes. A rehearsal has slow kernels, but few and small.
LIMITS = {1: 110, 2: 60, 3: 60, 4: 60}
# Real layers are not for the emulator, nor for memcheck.
SMALL_SUITES = "--gtest_filter=-Layers*:*/Layers*"
# What `trireme bench` is asked for besides the network's name.
CARD_NETWORKS = {name: ["--batch", "256"] for name in ("resnet50", "vgg16")}
REHEARSED_NETWORKS = {"resnet20": ["--batch", "2", "--classes", "10", "--image-size", "8"],
                      "lenet": ["--batch", "2", "--classes", "10", "--image-size", "32"]}
LEAST_ACCURACY = 0.40  # after one epoch; guessing gives 0.10


def make(number, place, runner):
    return {1: kernels, 2: layers, 3: training_steps, 4: epoch}[number](place, runner)


# ---- 1 ----

def read_tests(text):
    ran = re.search(r"(\d+) tests? from \d+ test suites? ran", text)
    if ran is None:
        raise ValueError("no tests were run")
    skipped = re.search(r"\[  SKIPPED \] (\d+) test", text)
    count = int(ran.group(1))
    numbers = {"tests": count, "skipped": int(skipped.group(1)) if skipped else 0}
    return numbers, f"{count} tests"


def read_golden(text):
    found = re.search(r"(\d+) vectors, (\d+) differ", text)
    return {"vectors": int(found.group(1)), "differ": int(found.group(2))}, found.group(0)


def kernel_test(place, family, *options):
    return lambda: [*place.kernel_test(family), "--gtest_brief=1", *options]


def sanitized_test(place, sanitizer, family):
    return lambda: [sanitizer, "--tool", "memcheck", "--error-exitcode", "1", *place.kernel_test(family),
                    "--gtest_brief=1", SMALL_SUITES]


def kernels(place, runner):
    vectors = runner.output / "gpu.txt"
    golden = Step("golden vectors", lambda: [*place.golden_check(), str(vectors), str(place.golden_vectors(runner.scratch))],
                  read_golden, limit=30)
    options = [SMALL_SUITES] if place.emulated else []
    tests = [Step(f"{family} tests", kernel_test(place, family, *options), read_tests, limit=100)
             for family in places.FAMILIES]
    sanitizer = shutil.which("compute-sanitizer")
    if place.emulated or sanitizer is None:
        return [[golden], tests]
    watched = [Step(f"{family} tests under memcheck", sanitized_test(place, sanitizer, family), read_tests, limit=100,
                    may_be_late=True) for family in places.FAMILIES]
    return [[golden], tests, watched]


# ---- 2 and 3 ----

def milliseconds(value):
    return "-" if value is None else f"{value:.2f} ms"


def read_layers(file):
    def read(_text):
        found = json.loads(file.read_text())
        line = (f"native {milliseconds(found['native_ms'])}, cuDNN {milliseconds(found['cudnn_ms'])}, "
                f"ceiling {milliseconds(found['ceiling_ms'])}")
        return found, line
    return read


def read_steps(file):
    def read(_text):
        found = json.loads(file.read_text())
        line = f"{found['images_per_second']:.1f} images/s, {found['memory_bytes'] / 2**30:.2f} GiB"
        if found["cuda_graph"] and found["graph_obstacle"]:
            line += f", no graph: {found['graph_obstacle']}"
        return found, line
    return read


def networks(place):
    """Names, and options of `trireme bench` for each."""
    chosen = REHEARSED_NETWORKS if place.emulated else CARD_NETWORKS
    return {name: ["--model", name, *size, "--precision", "bf16", "--device", "cuda"] for name, size in chosen.items()}


def bench_step(name, place, words, file, read):
    return Step(name, lambda: [*place.trireme(), "bench", *words, "--json", str(file)], read(file))


def layers(place, runner):
    brief = ["--seconds", "0.000001"] if place.emulated else []
    return [[bench_step(f"layers of {name}", place, ["layers", *options, *brief], runner.output / f"layers_{name}.json",
                        read_layers)] for name, options in networks(place).items()]


def training_steps(place, runner):
    brief = ["--steps", "2", "--warmup", "2"] if place.emulated else []
    groups = []
    for network, options in networks(place).items():
        for suffix, graph in (("", []), (" with graph", ["--cuda-graph"])):
            name = f"steps of {network}{suffix}"
            groups.append([bench_step(name, place, ["train", *options, *graph, *brief],
                                      runner.output / f"{name.replace(' ', '_')}.json", read_steps)])
    return groups


# ---- 4 ----

def read_accuracy(run, least):
    def read(_text):
        events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
        found = [event for event in events if event["event"] == "eval"][-1]
        speed = [event for event in events if event["event"] == "epoch"]
        numbers = {"top1": found["top1"], "loss": found["loss"], "total": found["total"]}
        if speed:
            numbers["images_per_second"] = speed[-1]["images_per_second"]
        if found["top1"] < least:
            raise ValueError(f"top1 {found['top1']:.4f} is below {least}")
        return numbers, f"top1={found['top1']:.4f} of {found['total']}"
    return read


def epoch(place, runner):
    run = runner.scratch / "run"

    def command():
        shutil.rmtree(run, ignore_errors=True)
        network = ["--model", "resnet20", "--epochs", "1", "--lr", "0.1", "--device", "cuda", "-o", str(run)]
        if place.emulated:
            pictures = ["--data", "synthetic:8x8x3:10:32", "--val", "synthetic:8x8x3:10:16", "--global-batch", "8"]
            return [*place.trireme(), "train", *network, *pictures, "--eval-batch", "8"]
        data = place.dataset(runner.scratch)
        return [*place.trireme(), "train", *network, "--data", f"{data}/train.h5", "--val", f"{data}/val.h5",
                "--global-batch", "128"]

    least = 0 if place.emulated else LEAST_ACCURACY
    return [[Step("resnet20 on CIFAR-10", command, read_accuracy(run, least))]]
