// SPDX-License-Identifier: Apache-2.0
// Two passes over the candidates. The survey reads headers, so that sizes that do not fit are said before
// anything is written and grey files among RGB ones are known. Then every candidate is decoded - also where
// its bytes are kept, because damage must be found and mean and deviation be measured - and written in the
// order of the file.
#include "data/pack.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "data/codec.h"
#include "data/dataset_writer.h"
#include "data/ordered_parallel.h"
#include "data/pack_geometry.h"
#include "data/pack_source.h"
#include "data/permutation.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/core/parse.h"
#include "src/io/atomic_file.h"
#include "src/io/path.h"

namespace trireme {
namespace {

constexpr int kJpegQuality = 95;
constexpr std::size_t kExamples = 10;

/// A result, or why there is none.
template <typename Value>
struct Outcome {
  Value value{};
  std::optional<Error> refusal;
};

/// Catches what concerns one candidate only; a failing disk is another matter.
template <typename Function>
auto attempt(const Function& function) -> Outcome<std::invoke_result_t<Function>> {
  try {
    return {function(), std::nullopt};
  } catch (const Error& error) {
    if (error.status() != Status::bad_data && error.status() != Status::input_missing) throw;
    return {{}, error};
  }
}

class Pack {
 public:
  explicit Pack(const PackOptions& options)
      : options_(options), geometry_(options), source_(open_pack_source(options)) {
    summary_.class_names = source_->class_names();
    summary_.encoding = options.encode;
  }

  PackSummary run() {
    if (options_.progress) options_.progress(0, source_->size());
    survey();
    choose_shape();
    put_in_order();
    make_writers();
    write_samples();
    finish();
    return std::move(summary_);
  }

 private:
  void refuse(Error error) {
    if (options_.on_error == OnError::fail)
      throw std::move(error).hint("--on-error skip leaves such files out and counts them");
    ++summary_.skipped;
    const std::string_view text = error.what();
    if (summary_.skipped_examples.size() < kExamples)
      summary_.skipped_examples.emplace_back(text.substr(0, text.find('\n')));
  }

  void survey() {
    shapes_.resize(static_cast<std::size_t>(source_->size()));
    OrderedParallel<Outcome<PictureShape>> loop(source_->size(), options_.threads);
    loop.run([this](std::int64_t i) { return attempt([&] { return source_->probe(i); }); },
             [this](std::int64_t i, const Outcome<PictureShape>& outcome) {
               if (outcome.refusal) return refuse(*outcome.refusal);
               shapes_[static_cast<std::size_t>(i)] = outcome.value;
               channels_ = std::max(channels_, outcome.value.channels);
             });
    if (channels_ == 0) throw make_error(Status::bad_data, "no picture to pack").at(options_.sources[0]);
  }

  bool is_kept(std::int64_t candidate) const {
    return shapes_[static_cast<std::size_t>(candidate)].channels > 0;
  }

  PictureShape stored_shape(std::int64_t candidate) const {
    try {
      return geometry_.shape_after(shapes_[static_cast<std::size_t>(candidate)]);
    } catch (Error& error) {
      throw std::move(error).at(source_->place(candidate));
    }
  }

  void choose_shape() {
    PictureShape first_shape;
    std::int64_t first = -1;
    bool equal = true;
    for (std::int64_t i = 0; i < source_->size(); ++i) {
      if (!is_kept(i)) continue;
      const PictureShape shape = stored_shape(i);
      if (first < 0) {
        first = i;
        first_shape = shape;
      }
      if (shape.height == first_shape.height && shape.width == first_shape.width) continue;
      equal = false;
      if (options_.encode == Encoding::raw)
        throw make_error(Status::bad_data, "pictures differ in size: {}x{} here, {}x{} in {}", shape.height,
                         shape.width, first_shape.height, first_shape.width, source_->place(first))
            .at(source_->place(i))
            .hint("--resize N --crop N or --size HxW makes them equal; --encode jpeg keeps them as they are");
    }
    summary_.sample_shape = Shape{equal ? first_shape.height : 0, equal ? first_shape.width : 0, channels_};
  }

  // Every candidate has its place whether others are skipped or not. A split takes of each class the ones
  // that come first in the shuffled order, also where the file keeps the source's order.
  void put_in_order() {
    const std::int64_t count = source_->size();
    const KeyedPermutation shuffled(count, options_.seed, RandomStream::pack_order, 0);
    std::vector<std::int64_t> quota = split_quota();
    parts_.assign(static_cast<std::size_t>(count), 0);
    for (std::int64_t position = 0; position < count; ++position) {
      const std::int64_t candidate = shuffled.at(position);
      const bool by_source = options_.order == PackOrder::source;
      if (const std::int64_t next = by_source ? position : candidate; is_kept(next)) order_.push_back(next);
      if (!is_kept(candidate)) continue;
      std::int64_t& left = quota[static_cast<std::size_t>(source_->label(candidate))];
      if (left > 0) {
        --left;
        parts_[static_cast<std::size_t>(candidate)] = 1;
      }
    }
  }

  /// Samples of each class for the split's file.
  std::vector<std::int64_t> split_quota() const {
    std::vector<std::int64_t> quota(source_->class_names().size(), 0);
    if (!options_.split) return quota;
    for (std::int64_t i = 0; i < source_->size(); ++i)
      if (is_kept(i)) ++quota[static_cast<std::size_t>(source_->label(i))];
    std::int64_t total = 0;
    for (std::int64_t& samples : quota) {
      const auto rounded = static_cast<std::int64_t>(
          std::floor(options_.split->fraction * static_cast<double>(samples) + 0.5));
      samples = std::clamp<std::int64_t>(rounded, 0, std::max<std::int64_t>(samples - 1, 0));
      total += samples;
    }
    if (total == 0)
      throw make_error(Status::bad_data, "a split of {} leaves no sample for {}", options_.split->fraction,
                       options_.split->name);
    return quota;
  }

  void make_writers() {
    std::vector<std::string> paths{options_.output};
    if (options_.split) paths.push_back(split_path(options_.output, options_.split->name));
    const Shape file_shape =
        options_.encode == Encoding::raw ? summary_.sample_shape : Shape{0, 0, channels_};
    for (const std::string& path : paths)
      writers_.push_back(
          std::make_unique<DatasetWriter>(path, options_.encode, file_shape, source_->class_names()));
  }

  PackedSample make_sample(std::int64_t candidate) const {
    LoadedPicture loaded = source_->load(candidate);
    const bool changed = geometry_.apply(loaded.picture);
    convert_channels(loaded.picture, channels_);
    PackedSample sample;
    sample.label = source_->label(candidate);
    sample.source_path = source_->source_path(candidate);
    sample.sums.add(loaded.picture);
    if (options_.encode == Encoding::raw) {
      sample.stored = std::move(loaded.picture.pixels);
    } else if (!changed && !loaded.jpeg.empty()) {
      sample.stored = std::move(loaded.jpeg);
    } else {
      sample.stored = encode(loaded.picture, candidate);
    }
    sample.hash = xxh3(sample.stored.data(), sample.stored.size());
    return sample;
  }

  std::vector<std::uint8_t> encode(const Picture& picture, std::int64_t candidate) const {
    try {
      return encode_jpeg(picture, kJpegQuality);
    } catch (Error& error) {
      throw std::move(error).at(source_->place(candidate));
    }
  }

  void write_samples() {
    const auto count = static_cast<std::int64_t>(order_.size());
    const auto candidate_at = [this](std::int64_t i) { return order_[static_cast<std::size_t>(i)]; };
    OrderedParallel<Outcome<PackedSample>> loop(count, options_.threads);
    loop.run([&](std::int64_t i) { return attempt([&] { return make_sample(candidate_at(i)); }); },
             [&](std::int64_t i, const Outcome<PackedSample>& outcome) {
               if (outcome.refusal) {
                 refuse(*outcome.refusal);
               } else {
                 writers_[parts_[static_cast<std::size_t>(candidate_at(i))]]->add(outcome.value);
               }
               if (options_.progress) options_.progress(i + 1, count);
             });
  }

  // All files are complete before the first appears.
  void finish() {
    for (const auto& writer : writers_) {
      if (writer->num_samples() == 0)
        throw make_error(Status::bad_data, "no picture to pack").at(options_.sources[0]);
      summary_.files.push_back(writer->finish());
    }
    for (const auto& writer : writers_) writer->commit();
  }

  const PackOptions& options_;
  PackGeometry geometry_;
  std::unique_ptr<PackSource> source_;
  PackSummary summary_;
  std::vector<PictureShape> shapes_;  ///< by candidate; no channels: refused
  int channels_ = 0;
  std::vector<std::int64_t> order_;  ///< candidates as they are written
  std::vector<std::uint8_t> parts_;  ///< by candidate: which writer
  std::vector<std::unique_ptr<DatasetWriter>> writers_;
};

void check_options(const PackOptions& options) {
  if (options.sources.empty())
    throw make_error(Status::usage, "nothing to pack").hint("name a folder or an idx file");
  if (options.output.empty()) throw make_error(Status::usage, "no output file").hint("-o train.h5");
  if (options.threads < 1) throw make_error(Status::configuration, "{} threads", options.threads);
  const bool splits = options.split.has_value();
  if (splits && !(options.split->fraction > 0 && options.split->fraction < 1))
    throw make_error(Status::configuration, "a split of {}; more than 0 and less than 1 is possible",
                     options.split->fraction);
  std::vector<std::string> outputs{options.output};
  if (splits) outputs.push_back(split_path(options.output, options.split->name));
  for (const std::string& output : outputs) {
    check_replaceable(output);
    if (!options.force && path_exists(output))
      throw make_error(Status::cannot_create, "output exists").at(output).hint("--force replaces it");
  }
}

}  // namespace

PackSummary pack_dataset(const PackOptions& options) {
  check_options(options);
  return Pack(options).run();
}

std::string split_path(const std::string& output, const std::string& split_name) {
  std::filesystem::path path(output);
  const std::string name =
      fmt::format("{}-{}{}", path.stem().string(), split_name, path.extension().string());
  return path.replace_filename(name).string();
}

PackSplit parse_split(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    const std::string name(text.substr(0, equals));
    const std::optional<double> fraction = parse_double(text.substr(equals + 1));
    const bool plain = !name.empty() && name.find('/') == std::string::npos;
    if (plain && fraction && *fraction > 0 && *fraction < 1) return {name, *fraction};
  }
  throw make_error(Status::usage, "'{}' is not a split", text).hint("NAME=FRACTION, such as val=0.1");
}

PackSize parse_size(std::string_view text) {
  const std::vector<std::string> sides = split(text, 'x');
  constexpr std::int64_t kLargestSide = 65535;
  if (sides.size() == 2) {
    const auto height = parse_int(sides[0]), width = parse_int(sides[1]);
    if (height && width && *height > 0 && *width > 0 && *height <= kLargestSide && *width <= kLargestSide)
      return {static_cast<int>(*height), static_cast<int>(*width)};
  }
  throw make_error(Status::usage, "'{}' is not a size", text).hint("HEIGHTxWIDTH, such as 32x32");
}

}  // namespace trireme
