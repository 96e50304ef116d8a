// SPDX-License-Identifier: Apache-2.0
// libpng's errors jump; see codec_jpeg.cpp for how that stays safe.
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <string>

#include "data/codec.h"
#include "src/core/error.h"

namespace trireme {
namespace {

struct Reader {
  std::span<const std::uint8_t> rest;
  char message[256]{};
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit Reader(std::span<const std::uint8_t> bytes) : rest(bytes) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, jump_out, ignore_warning);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) {
      png_destroy_read_struct(&png, &info, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png, this, feed);
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[noreturn]] static void jump_out(png_structp png, png_const_charp text) {
    auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
    std::strncpy(reader->message, text, sizeof reader->message - 1);
    png_longjmp(png, 1);
  }
  // Warnings are about metadata (profiles, times); damaged pixels are errors.
  static void ignore_warning(png_structp, png_const_charp) {}

  static void feed(png_structp png, png_bytep out, std::size_t bytes) {
    auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
    if (bytes > reader->rest.size()) png_error(png, "premature end of PNG file");
    std::memcpy(out, reader->rest.data(), bytes);
    reader->rest = reader->rest.subspan(bytes);
  }
};

struct PngShape {
  int height = 0, width = 0, channels = 0;  // channels: 1 to 4, with alpha
};

// Everything becomes 8-bit grey, grey+alpha, RGB or RGBA.
bool read_header(Reader& reader, PngShape* shape) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_info(reader.png, reader.info);
  png_set_expand(reader.png);
  png_set_scale_16(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  shape->height = static_cast<int>(png_get_image_height(reader.png, reader.info));
  shape->width = static_cast<int>(png_get_image_width(reader.png, reader.info));
  shape->channels = png_get_channels(reader.png, reader.info);
  return true;
}

bool read_rows(Reader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

[[noreturn]] void fail(const Reader& reader) {
  throw make_error(Status::bad_data, "damaged picture: {}", reader.message);
}

void lay_on_white(const std::vector<std::uint8_t>& source, int source_channels, Picture& picture) {
  const auto stride = static_cast<std::size_t>(source_channels);
  const auto colours = static_cast<std::size_t>(picture.channels);
  for (std::size_t pixel = 0; pixel * stride < source.size(); ++pixel) {
    const unsigned alpha = source[pixel * stride + colours];
    for (std::size_t c = 0; c < colours; ++c) {
      const unsigned mixed = source[pixel * stride + c] * alpha + 255U * (255U - alpha);
      picture.pixels[pixel * colours + c] = static_cast<std::uint8_t>((mixed + 127U) / 255U);
    }
  }
}

}  // namespace

void decode_png(std::span<const std::uint8_t> bytes, Picture& picture) {
  Reader reader(bytes);
  PngShape shape;
  if (!read_header(reader, &shape)) fail(reader);
  const bool has_alpha = shape.channels % 2 == 0;
  picture.resize(shape.height, shape.width, has_alpha ? shape.channels - 1 : shape.channels);
  const std::size_t row_bytes =
      static_cast<std::size_t>(shape.width) * static_cast<std::size_t>(shape.channels);
  std::vector<std::uint8_t> with_alpha(has_alpha ? row_bytes * static_cast<std::size_t>(shape.height) : 0);
  std::uint8_t* pixels = has_alpha ? with_alpha.data() : picture.pixels.data();
  std::vector<png_bytep> rows(static_cast<std::size_t>(shape.height));
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = pixels + y * row_bytes;
  if (!read_rows(reader, rows.data())) fail(reader);
  if (has_alpha) lay_on_white(with_alpha, shape.channels, picture);
}

}  // namespace trireme
