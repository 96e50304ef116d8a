// SPDX-License-Identifier: Apache-2.0
// The vocabulary that kernels are written in. Under nvcc it means CUDA and the hardware's instructions; under
// a host compiler it means the emulator in emulator/. A kernel's source includes this file, never one of the
// two. README.md in this folder lists the words.
#pragma once

#include "kernels/simt/vector16.h"

#ifdef __CUDACC__
#include "kernels/simt/device.cuh"
#else
#include "kernels/simt/emulated.h"
#endif
