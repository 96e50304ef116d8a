// SPDX-License-Identifier: Apache-2.0
#include "data/codec.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "src/core/error.h"

namespace trireme {
namespace {

constexpr std::int64_t kLargestPicture = std::int64_t{1} << 28;
constexpr std::array<std::uint8_t, 8> kPngSignature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::array<std::uint8_t, 2> kJpegSignature{0xff, 0xd8};

template <std::size_t N>
bool starts_with(std::span<const std::uint8_t> bytes, const std::array<std::uint8_t, N>& signature) {
  return bytes.size() >= N && std::equal(signature.begin(), signature.end(), bytes.begin());
}

int big_endian_16(std::span<const std::uint8_t> bytes, std::size_t at) {
  return bytes[at] << 8 | bytes[at + 1];
}

std::uint32_t big_endian_32(std::span<const std::uint8_t> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(big_endian_16(bytes, at)) << 16 |
         static_cast<std::uint32_t>(big_endian_16(bytes, at + 2));
}

PictureHeader checked(PictureHeader header) {
  if (header.height <= 0 || header.width <= 0)
    throw make_error(Status::bad_data, "damaged picture: its size is {}x{}", header.height, header.width);
  if (std::int64_t{header.height} * header.width > kLargestPicture)
    throw make_error(Status::bad_data, "picture of {}x{} pixels; at most 2^28 are supported", header.height,
                     header.width);
  if (header.channels == 0) throw make_error(Status::bad_data, "damaged picture: its colour type is unknown");
  return header;
}

// Signature, then the IHDR chunk: length, type, width, height, bit depth, colour type.
std::optional<PictureHeader> probe_png(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 26) return std::nullopt;
  if (std::memcmp(bytes.data() + 12, "IHDR", 4) != 0)
    throw make_error(Status::bad_data, "damaged picture: PNG without a header");
  constexpr std::array<int, 7> kChannelsOfColourType{1, 0, 3, 3, 1, 0, 3};
  const std::uint32_t width = big_endian_32(bytes, 16), height = big_endian_32(bytes, 20);
  constexpr std::uint32_t kLargestSide = 0x7fffffff;
  if (width > kLargestSide || height > kLargestSide)
    throw make_error(Status::bad_data, "damaged picture: its size is {}x{}", height, width);
  const std::uint8_t colour_type = bytes[25];
  return checked({PictureKind::png, static_cast<int>(height), static_cast<int>(width),
                  colour_type < 7 ? kChannelsOfColourType[colour_type] : 0});
}

bool is_start_of_frame(int marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

// Walks the marker segments up to the frame header: precision, height, width, number of components.
std::optional<PictureHeader> probe_jpeg(std::span<const std::uint8_t> bytes) {
  std::size_t at = kJpegSignature.size();
  for (;;) {
    if (at + 4 > bytes.size()) return std::nullopt;
    if (bytes[at] != 0xff) throw make_error(Status::bad_data, "damaged picture: JPEG without a frame header");
    const int marker = bytes[at + 1];
    if (marker == 0xff) {  // fill byte
      ++at;
      continue;
    }
    if (is_start_of_frame(marker)) break;
    const int length = big_endian_16(bytes, at + 2);
    if (marker == 0xd9 || marker == 0xda || length < 2)
      throw make_error(Status::bad_data, "damaged picture: JPEG without a frame header");
    at += 2 + static_cast<std::size_t>(length);
  }
  if (at + 10 > bytes.size()) return std::nullopt;
  const int components = bytes[at + 9];
  const int channels = components == 1 ? 1 : components == 3 || components == 4 ? 3 : 0;
  return checked({PictureKind::jpeg, big_endian_16(bytes, at + 5), big_endian_16(bytes, at + 7), channels});
}

}  // namespace

std::optional<PictureHeader> probe_picture(std::span<const std::uint8_t> bytes) {
  if (starts_with(bytes, kJpegSignature)) return probe_jpeg(bytes);
  if (starts_with(bytes, kPngSignature)) return probe_png(bytes);
  throw Error(Status::bad_data, bytes.empty() ? "empty file" : "neither JPEG nor PNG");
}

void decode_picture(std::span<const std::uint8_t> bytes, Picture& picture) {
  const std::optional<PictureHeader> header = probe_picture(bytes);
  if (!header) throw make_error(Status::bad_data, "damaged picture: it ends within its header");
  (header->kind == PictureKind::jpeg ? decode_jpeg : decode_png)(bytes, picture);
}

void convert_channels(Picture& picture, int channels) {
  if (picture.channels == channels) return;
  TRIREME_ASSERT((channels == 1 && picture.channels == 3) || (channels == 3 && picture.channels == 1),
                 "pictures are grey or RGB");
  const std::vector<std::uint8_t> source = std::move(picture.pixels);
  const std::size_t count =
      static_cast<std::size_t>(picture.height) * static_cast<std::size_t>(picture.width);
  picture.resize(picture.height, picture.width, channels);
  std::uint8_t* out = picture.pixels.data();
  for (std::size_t i = 0; i < count; ++i) {
    if (channels == 3) {
      out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = source[i];
    } else {  // 0.299, 0.587, 0.114 in 16-bit fixed point, rounded
      const unsigned luma = 19595U * source[3 * i] + 38470U * source[3 * i + 1] + 7471U * source[3 * i + 2];
      out[i] = static_cast<std::uint8_t>((luma + 0x8000U) >> 16);
    }
  }
}

}  // namespace trireme
