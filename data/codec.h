// SPDX-License-Identifier: Apache-2.0
// JPEG and PNG to pixels and back. What a file is, its content says; its name does not count.
//
// Pixels are 8-bit grey or RGB. 16-bit PNG is scaled to 8 bits; palettes become RGB; transparent pixels are
// laid on white; CMYK and YCCK become RGB. Gamma, colour profiles and EXIF orientation are not applied.
// Damage is Error 65 with the decoder's reason; a warning of libjpeg (data that end early, corrupt segments)
// is damage. All functions are pure and may run on any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/picture.h"

namespace trireme {

enum class PictureKind { jpeg, png };

struct PictureHeader {
  PictureKind kind = PictureKind::jpeg;
  int height = 0, width = 0;
  int channels = 0;  ///< that decoding gives: 1 or 3
};

/// Reads the header from the beginning of a file; nothing if `bytes` ends before the header does. 65 if it is
/// no JPEG or PNG, is damaged, or has more than 2^28 pixels.
std::optional<PictureHeader> probe_picture(std::span<const std::uint8_t> bytes);

/// Decodes a whole file into its own number of channels.
void decode_picture(std::span<const std::uint8_t> bytes, Picture& picture);

/// Grey to RGB by repetition, RGB to grey by ITU-R 601 luma; nothing to do if `channels` is what it has.
void convert_channels(Picture& picture, int channels);

/// Baseline JPEG, 4:2:0, integer DCT; the same bytes for the same pixels.
std::vector<std::uint8_t> encode_jpeg(const Picture& picture, int quality);

// One decoder each, for decode_picture.
void decode_jpeg(std::span<const std::uint8_t> bytes, Picture& picture);
void decode_png(std::span<const std::uint8_t> bytes, Picture& picture);

}  // namespace trireme
