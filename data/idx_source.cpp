// SPDX-License-Identifier: Apache-2.0
// The files of MNIST, Fashion-MNIST, EMNIST: two zero bytes, the element type (8: unsigned byte), the number
// of dimensions, each extent as 32-bit big-endian, then the elements. zlib reads plain and gzip alike.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "data/pack_source.h"
#include "src/core/error.h"
#include "src/io/descriptor.h"
#include "src/io/path.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

struct IdxFile {
  std::string path;
  std::vector<std::int64_t> extents;
  std::vector<std::uint8_t> values;
};

/// A file that zlib reads.
class GzipReader {
 public:
  explicit GzipReader(const std::string& path) : path_(path) {
    open_for_reading(path);  // says what is wrong with the path
    file_ = gzopen(path.c_str(), "rbe");
    if (file_ == nullptr) throw make_error(Status::input_missing, "cannot open").at(path);
    gzbuffer(file_, 1 << 18);
  }
  ~GzipReader() { gzclose_r(file_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  /// Reads up to `bytes`, fewer at the end.
  std::size_t read(std::uint8_t* out, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
      const auto part = static_cast<unsigned>(std::min<std::size_t>(bytes - done, 1U << 30));
      const int got = gzread(file_, out + done, part);
      int code = Z_OK;
      const char* reason = gzerror(file_, &code);
      if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
        throw make_error(Status::bad_data, "damaged gzip file: {}", reason).at(path_);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  std::string path_;
  gzFile file_ = nullptr;
};

Error not_idx(const std::string& path, const char* why) {
  return make_error(Status::bad_data, "not an idx file of bytes: {}", why).at(path);
}

IdxFile read_idx(const std::string& path) {
  GzipReader reader(path);
  IdxFile file{path, {}, {}};
  std::array<std::uint8_t, 4> word{};
  if (reader.read(word.data(), 4) != 4 || word[0] != 0 || word[1] != 0 || word[2] != 8)
    throw not_idx(path, "wrong first bytes")
        .hint(
            "a source is a folder with one folder of pictures for each class, or an idx file (MNIST's "
            "format)");
  const int rank = word[3];
  if (rank != 1 && rank != 3 && rank != 4)
    throw not_idx(path, "neither 1 (labels) nor 3 or 4 dimensions (pictures)");
  std::int64_t count = 1;
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  for (int i = 0; i < rank; ++i) {
    if (reader.read(word.data(), 4) != 4) throw not_idx(path, "it ends within its header");
    std::int64_t extent = 0;
    for (const std::uint8_t byte : word) extent = extent << 8 | byte;
    file.extents.push_back(extent);
    if (extent != 0 && count > kLargest / extent) throw not_idx(path, "its extents are out of range");
    count *= extent;
  }
  // Grows with what is there, so that a damaged header does not ask for all memory.
  constexpr std::int64_t kPiece = std::int64_t{1} << 24;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t part = std::min(kPiece, count - done);
    file.values.resize(static_cast<std::size_t>(done + part));
    if (reader.read(file.values.data() + done, static_cast<std::size_t>(part)) !=
        static_cast<std::size_t>(part))
      throw make_error(Status::bad_data, "the file ends early: its header promises {} bytes of data", count)
          .at(path);
    done += part;
  }
  std::uint8_t extra = 0;
  if (reader.read(&extra, 1) != 0)
    throw make_error(Status::bad_data, "the file is longer than its header says ({} bytes of data)", count)
        .at(path);
  return file;
}

/// "train-images-idx3-ubyte.gz" gives "train-labels-idx1-ubyte.gz", or that without or with ".gz".
std::string labels_path_of(const std::string& images_path) {
  const fs::path images(images_path);
  std::string name = images.filename().string();
  constexpr std::array<std::pair<const char*, const char*>, 3> kParts{
      {{"images", "labels"}, {"idx3", "idx1"}, {"idx4", "idx1"}}};
  bool changed = false;
  for (const auto& [from, to] : kParts)
    if (const std::size_t position = name.rfind(from); position != std::string::npos) {
      name.replace(position, std::string_view(from).size(), to);
      changed = true;
    }
  const std::string same = (images.parent_path() / name).string();
  const std::string other = same.ends_with(".gz") ? same.substr(0, same.size() - 3) : same + ".gz";
  for (const std::string& path : {same, other})
    if (changed && path_exists(path)) return path;
  throw make_error(Status::input_missing, "no labels file beside the pictures: {}",
                   changed ? same : "unknown name")
      .at(images_path)
      .hint("give both files");
}

class IdxSource final : public PackSource {
 public:
  IdxSource(IdxFile images, const IdxFile& labels, const std::vector<std::string>& names)
      : images_(std::move(images)), labels_(labels.values) {
    if (images_.extents[0] != labels.extents[0])
      throw make_error(Status::bad_data, "{} pictures but {} labels", images_.extents[0], labels.extents[0])
          .at(images_.path)
          .at(labels.path);
    constexpr std::int64_t kLargestSide = 65535;
    const std::int64_t height = images_.extents[1], width = images_.extents[2];
    const std::int64_t channels = images_.extents.size() == 4 ? images_.extents[3] : 1;
    if (height < 1 || width < 1 || height > kLargestSide || width > kLargestSide ||
        (channels != 1 && channels != 3))
      throw make_error(Status::bad_data, "pictures of {}x{}x{}", height, width, channels).at(images_.path);
    shape_ = {static_cast<int>(height), static_cast<int>(width), static_cast<int>(channels)};
    name_classes(names, labels.path);
  }

  std::int64_t size() const override { return images_.extents[0]; }
  std::int32_t label(std::int64_t candidate) const override {
    return labels_[static_cast<std::size_t>(candidate)];
  }
  std::string source_path(std::int64_t candidate) const override {
    return fmt::format("{}#{}", fs::path(images_.path).filename().string(), candidate);
  }
  std::string place(std::int64_t candidate) const override {
    return fmt::format("{}#{}", images_.path, candidate);
  }
  PictureShape probe(std::int64_t) const override { return shape_; }

  LoadedPicture load(std::int64_t candidate) const override {
    LoadedPicture loaded;
    loaded.picture.resize(shape_.height, shape_.width, shape_.channels);
    const std::size_t bytes = loaded.picture.pixels.size();
    std::copy_n(
        images_.values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(candidate) * bytes),
        bytes, loaded.picture.pixels.begin());
    return loaded;
  }

 private:
  void name_classes(const std::vector<std::string>& names, const std::string& labels_path) {
    const auto highest = std::max_element(labels_.begin(), labels_.end());
    const std::size_t needed = highest == labels_.end() ? 0 : std::size_t{*highest} + 1;
    class_names_ = names;
    if (names.empty())
      for (std::size_t i = 0; i < needed; ++i) class_names_.push_back(std::to_string(i));
    const std::set<std::string_view> different(class_names_.begin(), class_names_.end());
    if (different.size() < class_names_.size())
      throw make_error(Status::configuration, "a class name is given twice: {}", fmt::join(names, ", "));
    if (class_names_.size() < needed)
      throw make_error(Status::bad_data, "label {} but only {} class names", needed - 1, names.size())
          .at(labels_path);
  }

  IdxFile images_;
  std::vector<std::uint8_t> labels_;
  PictureShape shape_;
};

}  // namespace

std::unique_ptr<PackSource> open_idx_source(const std::vector<std::string>& sources,
                                            const std::vector<std::string>& class_names) {
  if (sources.size() > 2)
    throw make_error(Status::configuration,
                     "{} idx files; one of pictures and one of labels are packed at a time", sources.size());
  IdxFile images = read_idx(sources[0]);
  IdxFile labels;
  if (sources.size() == 2) {
    labels = read_idx(sources[1]);
    if (images.extents.size() == 1) std::swap(images, labels);
  }
  if (images.extents.size() == 1)
    throw make_error(Status::bad_data, "labels where pictures are expected")
        .at(images.path)
        .hint("give the pictures' file");
  if (sources.size() == 1) labels = read_idx(labels_path_of(images.path));
  if (labels.extents.size() != 1)
    throw make_error(Status::bad_data, "pictures where labels are expected").at(labels.path);
  return std::make_unique<IdxSource>(std::move(images), labels, class_names);
}

std::unique_ptr<PackSource> open_pack_source(const PackOptions& options) {
  TRIREME_ASSERT(!options.sources.empty(), "a pack has sources");
  for (const std::string& source : options.sources)
    if (!path_exists(source)) throw make_error(Status::input_missing, "no such file or folder").at(source);
  const bool folder = options.format == PackFormat::folder ||
                      (options.format == PackFormat::automatic && is_folder(options.sources[0]));
  if (!folder) return open_idx_source(options.sources, options.class_names);
  if (!options.class_names.empty())
    throw make_error(Status::configuration, "class names are given, but folders name the classes");
  return open_folder_source(options.sources);
}

}  // namespace trireme
