// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv2d/backward_data.cuh"

namespace trireme::kernels {

TRIREME_INSTANTIATE_CONV2D_BACKWARD_DATA(float);

}  // namespace trireme::kernels
