# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-10 in NumPy, with the counter layout and the draws of src/core/philox.h."""
import numpy as np

INITIALISATION = 0
SYNTHETIC = 4

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)


def philox4x32(counter, key):
    """counter: four arrays of uint32, key: two ints; returns four arrays of uint32 (ten rounds)."""
    c0, c1, c2, c3 = (np.asarray(c, dtype=np.uint64) for c in counter)
    k0, k1 = key
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (
            (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1),
            p0 & _LOW,
        )
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return tuple(c.astype(np.uint32) for c in (c0, c1, c2, c3))


def words(seed, stream, epoch, sample, count):
    """uint32 [blocks, 4]: the blocks that hold the first `count` words of one (seed, stream, epoch, sample)."""
    index = np.arange((count + 3) // 4, dtype=np.uint32)

    def same(value):
        return np.full_like(index, value)

    counter = (index, same(epoch), same(sample & 0xFFFFFFFF), same((sample >> 32) | (stream << 16)))
    return np.stack(philox4x32(counter, (seed & 0xFFFFFFFF, seed >> 32)), axis=1)


def normal(seed, stream, epoch, sample, stddev, count):
    """float32 [count]: fill_normal."""
    w = words(seed, stream, epoch, sample, count).astype(np.float64)
    radius = np.sqrt(-2 * np.log((w[:, 0::2] + 1) * 2.0**-32))
    angle = 2 * np.pi * w[:, 1::2] * 2.0**-32
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=2).reshape(-1)[:count]
    return (z * float(np.float32(stddev))).astype(np.float32)


def uniform(seed, stream, epoch, sample, bound, count):
    """float32 [count]: fill_uniform."""
    w = words(seed, stream, epoch, sample, count).reshape(-1)[:count]
    u = (w >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    return np.float32(bound) * (np.float32(2) * u - np.float32(1))


def self_check():
    """The known answers of Random123's kat_vectors file."""
    ones = (0xFFFFFFFF,)
    cases = [
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (ones * 4, ones * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ]
    for counter, key, expected in cases:
        found = tuple(int(x) for x in philox4x32(counter, key))
        assert found == expected, (counter, key, found, expected)
