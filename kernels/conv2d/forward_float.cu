// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv2d/forward.cuh"

namespace trireme::kernels {

TRIREME_INSTANTIATE_CONV2D_FORWARD(float);

}  // namespace trireme::kernels
