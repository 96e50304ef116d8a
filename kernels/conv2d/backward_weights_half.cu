// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv2d/backward_weights.cuh"

namespace trireme::kernels {

TRIREME_INSTANTIATE_CONV2D_BACKWARD_WEIGHTS(Half);

}  // namespace trireme::kernels
