// SPDX-License-Identifier: Apache-2.0
#include "tests/data/pictures.h"

#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <stdexcept>

namespace trireme::testing_pictures {

Picture make_picture(int height, int width, int channels, unsigned seed) {
  Picture picture;
  picture.resize(height, width, channels);
  std::size_t i = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        picture.pixels[i++] =
            static_cast<std::uint8_t>((static_cast<unsigned>(y * 5 + x * 3 + c * 40) + seed * 37) % 256);
  return picture;
}

// The default error handler ends the program, which is as good as a failed test.
Bytes jpeg_of(int height, int width, int channels, const Bytes& pixels, int quality) {
  jpeg_error_mgr errors;
  jpeg_compress_struct info;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_height = static_cast<JDIMENSION>(height);
  info.image_width = static_cast<JDIMENSION>(width);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  if (channels == 4) info.write_Adobe_marker = TRUE;
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row =
        const_cast<JSAMPROW>(pixels.data() + info.next_scanline * static_cast<std::size_t>(width * channels));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const Bytes result(buffer, buffer + size);
  std::free(buffer);
  return result;
}

namespace {

void append(png_structp png, png_bytep data, std::size_t bytes) {
  auto* out = static_cast<Bytes*>(png_get_io_ptr(png));
  out->insert(out->end(), data, data + bytes);
}
void flush_nothing(png_structp) {}

Bytes write_png(int height, int width, int colour_type, int bits, bool interlaced, std::size_t row_bytes,
                const Bytes& pixels, const Bytes& palette) {
  Bytes result;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &result, append, flush_nothing);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), bits,
               colour_type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> colours;
  for (std::size_t i = 0; i + 2 < palette.size(); i += 3)
    colours.push_back({palette[i], palette[i + 1], palette[i + 2]});
  if (!colours.empty()) png_set_PLTE(png, info, colours.data(), static_cast<int>(colours.size()));
  png_write_info(png, info);
  std::vector<png_bytep> rows;
  for (int y = 0; y < height; ++y)
    rows.push_back(const_cast<png_bytep>(pixels.data() + static_cast<std::size_t>(y) * row_bytes));
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return result;
}

}  // namespace

Bytes png_of(int height, int width, int channels, const Bytes& pixels, int bits, bool interlaced) {
  constexpr int kColourTypes[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                  PNG_COLOR_TYPE_RGB_ALPHA};
  return write_png(height, width, kColourTypes[channels], bits, interlaced,
                   static_cast<std::size_t>(width * channels * bits / 8), pixels, {});
}

Bytes palette_png_of(int height, int width, const Bytes& palette, const Bytes& indices) {
  return write_png(height, width, PNG_COLOR_TYPE_PALETTE, 8, false, static_cast<std::size_t>(width), indices,
                   palette);
}

Bytes idx_of(const std::vector<std::uint32_t>& extents, const Bytes& values) {
  Bytes result{0, 0, 8, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8) result.push_back(static_cast<std::uint8_t>(extent >> shift));
  result.insert(result.end(), values.begin(), values.end());
  return result;
}

Bytes gzip_of(const Bytes& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib");
  Bytes result(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = result.data();
  stream.avail_out = static_cast<uInt>(result.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  result.resize(stream.total_out);
  deflateEnd(&stream);
  if (!done) throw std::runtime_error("zlib");
  return result;
}

}  // namespace trireme::testing_pictures
