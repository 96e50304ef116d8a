// SPDX-License-Identifier: Apache-2.0
// Pictures for tests, made with libjpeg and libpng directly, and files to keep them in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "data/picture.h"
#include "src/core/error.h"

namespace trireme::testing_pictures {

using Bytes = std::vector<std::uint8_t>;

/// A smooth picture that depends on `seed`.
Picture make_picture(int height, int width, int channels, unsigned seed);

/// `channels` 1, 3, or 4 for CMYK with Adobe's marker (inverted ink).
Bytes jpeg_of(int height, int width, int channels, const Bytes& pixels, int quality = 90);
inline Bytes jpeg_of(const Picture& p, int quality = 90) {
  return jpeg_of(p.height, p.width, p.channels, p.pixels, quality);
}

/// 8-bit samples: 1 grey, 2 grey+alpha, 3 RGB, 4 RGBA; 16-bit (big-endian pairs in `pixels`) if `bits` is 16.
Bytes png_of(int height, int width, int channels, const Bytes& pixels, int bits = 8, bool interlaced = false);
inline Bytes png_of(const Picture& p) {
  return png_of(p.height, p.width, p.channels, p.pixels);
}
/// One byte per pixel, an index into `palette` (RGB triples).
Bytes palette_png_of(int height, int width, const Bytes& palette, const Bytes& indices);

/// idx with one-byte elements.
Bytes idx_of(const std::vector<std::uint32_t>& extents, const Bytes& values);
Bytes gzip_of(const Bytes& bytes);

/// Makes the folders on the way.
inline void write_file(const std::string& path, const Bytes& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}
inline void write_file(const std::string& path, std::string_view text) {
  write_file(path, Bytes(text.begin(), text.end()));
}
inline Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

/// The error that a call throws; status ok if it throws none.
template <typename Function>
Error error_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return Error(Status::ok, "no error was thrown");
}

}  // namespace trireme::testing_pictures
