# SPDX-License-Identifier: Apache-2.0
"""Writes the golden files: twenty steps of SGD in PyTorch, in float64, that golden_test.cpp must follow.

    python3 tests/golden/make_golden.py [--dtype float64|float32] [--check] [NET ...]

Weights and pictures come from the project's own counter RNG (philox.py), so nothing but numbers has to be stored:
the loss of each step, and for some steps the norm and up to 64 entries of every tensor's gradient and of every
batch-norm statistic, in file order (OIHW). --check writes nothing and compares with the files that are there.

Pictures: sample s has label s mod 10 and pixels pattern[label] + noise[s], both uniform in [-1, 1), HWC order;
pattern k is sample 2^40 + k of the same stream. Step t (from 0) takes samples [t * batch, (t + 1) * batch).
"""
import argparse
import json
import pathlib

import numpy as np
import torch

import nets
import philox

SEED = 20
STEPS = 20
KEPT_STEPS = (1, 10, 20)
ENTRIES = 64
SIDE, CHANNELS = 32, 3
# (batch, learning rate): as large as float32 can follow for twenty steps; rounding grows with depth and rate.
SETTINGS = {"lenet": (32, 0.1), "resnet20": (32, 0.003), "vgg16_bn": (16, 0.0002)}
MOMENTUM, WEIGHT_DECAY = 0.9, 5e-4
PATTERNS = 1 << 40


def picture(sample):
    """float32 [H, W, C]"""
    count = SIDE * SIDE * CHANNELS
    pattern = philox.uniform(SEED, philox.SYNTHETIC, 0, PATTERNS + sample % nets.CLASSES, 1, count)
    noise = philox.uniform(SEED, philox.SYNTHETIC, 0, sample, 1, count)
    return (pattern + noise).reshape(SIDE, SIDE, CHANNELS)


def batch_of(step, batch, dtype):
    samples = range(step * batch, (step + 1) * batch)
    images = np.stack([picture(s) for s in samples]).transpose(0, 3, 1, 2)
    labels = torch.tensor([s % nets.CLASSES for s in samples])
    return torch.from_numpy(np.ascontiguousarray(images)).to(dtype), labels


def digest(tensor):
    """Norm and evenly spread entries of one tensor."""
    values = tensor.detach().double().reshape(-1)
    picked = np.unique(np.linspace(0, values.numel() - 1, ENTRIES).astype(np.int64))
    return {
        "norm": float(f"{values.norm().item():.9g}"),
        "index": picked.tolist(),
        "value": [float(f"{v:.7g}") for v in values[picked].tolist()],
    }


def train(name, dtype):
    batch, learning_rate = SETTINGS[name]
    net = nets.build(name, SEED).to(dtype)
    optimizer = torch.optim.SGD(net.parameters(), lr=learning_rate, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
    losses, kept = [], {}
    for step in range(1, STEPS + 1):
        images, labels = batch_of(step - 1, batch, dtype)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
        if step in KEPT_STEPS:
            kept[str(step)] = {
                "gradients": {n: digest(p.grad) for n, p in net.named_parameters()},
                "statistics": {n: digest(t) for n, t in nets.named_state(net) if "running_" in n},
            }
    return {
        "net": name,
        "seed": SEED,
        "batch": batch,
        "image": [SIDE, SIDE, CHANNELS],
        "classes": nets.CLASSES,
        "learning_rate": learning_rate,
        "momentum": MOMENTUM,
        "weight_decay": WEIGHT_DECAY,
        "parameters": sum(p.numel() for p in net.parameters()),
        "losses": losses,
        "steps": kept,
    }


def worst_difference(found, expected):
    """Largest relative difference of the losses, and of the gradients of the first step (by norm)."""
    loss = max(abs(a - b) / b for a, b in zip(found["losses"], expected["losses"]))
    first = [found["steps"]["1"]["gradients"], expected["steps"]["1"]["gradients"]]
    largest = max(g["norm"] for g in first[1].values())
    gradient = max(abs(first[0][n]["norm"] - g["norm"]) / largest for n, g in first[1].items())
    return loss, gradient


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("nets", nargs="*", default=list(nets.NETS))
    arguments = parser.parse_args()
    torch.use_deterministic_algorithms(True)
    philox.self_check()
    for name in arguments.nets:
        path = pathlib.Path(__file__).parent / f"{name}.json"
        golden = train(name, getattr(torch, arguments.dtype))
        if arguments.check:
            loss, gradient = worst_difference(golden, json.loads(path.read_text()))
            print(f"{name}: losses differ by {loss:.2e}, first gradients by {gradient:.2e}")
        else:
            path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
            print(f"{name}: {path.stat().st_size} bytes, losses {golden['losses'][0]:.4f} .. {golden['losses'][-1]:.4f}")


if __name__ == "__main__":
    main()
