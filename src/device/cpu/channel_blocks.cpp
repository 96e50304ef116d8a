// SPDX-License-Identifier: Apache-2.0
#include "src/device/cpu/channel_blocks.h"

#include <algorithm>

#include "src/core/error.h"
#include "src/device/cpu/onednn_layout.h"

namespace trireme::cpu {

ChannelBlocks::ChannelBlocks(const dnnl::memory::desc& desc) {
  enum Axis { kPicture, kChannel, kRow, kColumn };
  const auto& data = desc.data;
  const auto& blocking = data.format_desc.blocking;
  const bool blocked =
      blocking.inner_nblks == 1 && blocking.inner_idxs[0] == kChannel && blocking.inner_blks[0] <= kMostLanes;
  const bool known = data.ndims == 4 && data.offset0 == 0 && (blocked || blocking.inner_nblks == 0) &&
                     blocking.strides[kRow] == data.dims[kColumn] * blocking.strides[kColumn];
  if (!known)
    throw make_error(Status::internal, "synchronised batch norm does not know the layout {}",
                     OneDnnLayout(desc).text());
  pictures = data.dims[kPicture];
  pixels = data.dims[kRow] * data.dims[kColumn];
  channels = data.dims[kChannel];
  picture_stride = blocking.strides[kPicture];
  pixel_stride = blocking.strides[kColumn];
  block_stride = blocking.strides[kChannel];
  padded = blocked;
  if (blocked) {
    lanes = static_cast<int>(blocking.inner_blks[0]);
  } else if (block_stride == 1) {
    lanes = kMostLanes;
    block_stride = kMostLanes;
  }
  blocks = (channels + lanes - 1) / lanes;
}

}  // namespace trireme::cpu
