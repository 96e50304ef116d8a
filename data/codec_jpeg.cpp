// SPDX-License-Identifier: Apache-2.0
// libjpeg reports errors by a function that must not return. A C++ exception must not cross libjpeg, so it
// jumps; the functions that set a jump target hold raw pointers only and allocate nothing, so that nothing is
// jumped over. What must be released lies in objects outside of them.
#include <csetjmp>
#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>

#include <utility>

#include "data/codec.h"
#include "src/core/error.h"

namespace trireme {
namespace {

struct ErrorManager {
  jpeg_error_mgr base{};  // first: libjpeg knows only this part
  std::jmp_buf target{};
  char message[JMSG_LENGTH_MAX]{};
};

[[noreturn]] void jump_out(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  info->err->format_message(info, manager->message);
  std::longjmp(manager->target, 1);
}

// Levels below zero are warnings: the data are corrupt and libjpeg would go on with a guess.
void keep_warning(j_common_ptr info, int level) {
  if (level >= 0) return;
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  if (info->err->num_warnings++ == 0) info->err->format_message(info, manager->message);
}

void print_nothing(j_common_ptr) {}

void prepare(ErrorManager& manager) {
  jpeg_std_error(&manager.base);
  manager.base.error_exit = jump_out;
  manager.base.emit_message = keep_warning;
  manager.base.output_message = print_nothing;
}

/// The state of one decompression; releases what libjpeg allocated.
struct Decoder {
  ErrorManager errors;
  jpeg_decompress_struct info{};
  Decoder() {
    prepare(errors);
    info.err = &errors.base;
  }
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
};

bool read_header(Decoder& decoder, const std::uint8_t* bytes, std::size_t size) {
  if (setjmp(decoder.errors.target) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  jpeg_mem_src(&decoder.info, bytes, static_cast<unsigned long>(size));
  jpeg_read_header(&decoder.info, TRUE);
  const J_COLOR_SPACE source = decoder.info.jpeg_color_space;
  const bool four = source == JCS_CMYK || source == JCS_YCCK;
  decoder.info.out_color_space = source == JCS_GRAYSCALE ? JCS_GRAYSCALE : four ? JCS_CMYK : JCS_RGB;
  decoder.info.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&decoder.info);
  return true;
}

bool read_rows(Decoder& decoder, std::uint8_t* pixels, std::size_t row_bytes) {
  if (setjmp(decoder.errors.target) != 0) return false;
  while (decoder.info.output_scanline < decoder.info.output_height) {
    JSAMPROW row = pixels + decoder.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder.info, &row, 1);
  }
  jpeg_finish_decompress(&decoder.info);
  return true;
}

// Adobe's files hold inverted ink (255 is none), the standard's do not.
void cmyk_to_rgb(const std::vector<std::uint8_t>& cmyk, bool inverted, Picture& picture) {
  const auto light = [inverted](unsigned ink) { return inverted ? ink : 255U - ink; };
  for (std::size_t pixel = 0; pixel * 4 < cmyk.size(); ++pixel) {
    const unsigned black = light(cmyk[4 * pixel + 3]);
    for (std::size_t c = 0; c < 3; ++c)
      picture.pixels[3 * pixel + c] =
          static_cast<std::uint8_t>((light(cmyk[4 * pixel + c]) * black + 127U) / 255U);
  }
}

void check(bool done, const ErrorManager& errors) {
  if (!done || errors.base.num_warnings > 0)
    throw make_error(Status::bad_data, "damaged picture: {}", errors.message);
}

/// The state of one compression, into a buffer of our own that libjpeg neither allocates nor grows.
struct Encoder {
  ErrorManager errors;
  jpeg_destination_mgr destination{};
  jpeg_compress_struct info{};
  std::vector<std::uint8_t> buffer;

  explicit Encoder(std::size_t bytes) : buffer(bytes) {
    prepare(errors);
    destination.init_destination = [](j_compress_ptr) {};
    destination.empty_output_buffer = overflow;
    destination.term_destination = [](j_compress_ptr) {};
    destination.next_output_byte = buffer.data();
    destination.free_in_buffer = buffer.size();
    info.err = &errors.base;
  }
  ~Encoder() { jpeg_destroy_compress(&info); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  static boolean overflow(j_compress_ptr info) {
    info->err->msg_code = JERR_BUFFER_SIZE;
    info->err->error_exit(reinterpret_cast<j_common_ptr>(info));
    return FALSE;
  }
};

bool compress(Encoder& encoder, const Picture& picture, int quality) {
  if (setjmp(encoder.errors.target) != 0) return false;
  jpeg_create_compress(&encoder.info);
  encoder.info.dest = &encoder.destination;
  encoder.info.image_height = static_cast<JDIMENSION>(picture.height);
  encoder.info.image_width = static_cast<JDIMENSION>(picture.width);
  encoder.info.input_components = picture.channels;
  encoder.info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&encoder.info);
  jpeg_set_quality(&encoder.info, quality, TRUE);
  encoder.info.dct_method = JDCT_ISLOW;
  jpeg_start_compress(&encoder.info, TRUE);
  const std::size_t row_bytes =
      static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.channels);
  while (encoder.info.next_scanline < encoder.info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(picture.pixels.data() + encoder.info.next_scanline * row_bytes);
    jpeg_write_scanlines(&encoder.info, &row, 1);
  }
  jpeg_finish_compress(&encoder.info);
  return true;
}

}  // namespace

void decode_jpeg(std::span<const std::uint8_t> bytes, Picture& picture) {
  Decoder decoder;
  check(read_header(decoder, bytes.data(), bytes.size()), decoder.errors);
  const int components = decoder.info.output_components;
  const bool four = components == 4;
  picture.resize(static_cast<int>(decoder.info.output_height), static_cast<int>(decoder.info.output_width),
                 four ? 3 : components);
  const std::size_t row_bytes = decoder.info.output_width * static_cast<std::size_t>(components);
  std::vector<std::uint8_t> cmyk(four ? row_bytes * decoder.info.output_height : 0);
  check(read_rows(decoder, four ? cmyk.data() : picture.pixels.data(), row_bytes), decoder.errors);
  if (four) cmyk_to_rgb(cmyk, decoder.info.saw_Adobe_marker != FALSE, picture);
}

std::vector<std::uint8_t> encode_jpeg(const Picture& picture, int quality) {
  // Blocks of 16x16 pixels; even noise at quality 100 stays under 4 bytes per pixel.
  const auto padded = [](int side) { return (static_cast<std::size_t>(side) + 15) / 16 * 16; };
  Encoder encoder(4096 + 4 * padded(picture.height) * padded(picture.width));
  if (!compress(encoder, picture, quality))
    throw make_error(Status::bad_data, "cannot encode as JPEG: {}", encoder.errors.message);
  encoder.buffer.resize(encoder.buffer.size() - encoder.destination.free_in_buffer);
  return std::move(encoder.buffer);
}

}  // namespace trireme
