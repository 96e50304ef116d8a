// SPDX-License-Identifier: Apache-2.0
// checkpoint.h5, version 1, or 2 with residuals:
//
//   /  attributes                 trireme_format="checkpoint", version; the position: step, epoch,
//   step_in_epoch,
//                                 samples, seed, global_batch, epoch_loss_sum, epoch_samples; model,
//                                 image_size, channels, crop_ratio, dataset_fingerprint; best_top1, top1
//                                 and tuning where known; residual_ranks in version 2
//   /parameters/<name>            float32, torchvision's names and order of extents (OIHW)
//   /optimizer/<state>/<name>     float32, same shapes; state "momentum"
//   /residuals/<rank>/<name>      float32, same shapes, version 2: what the rank's compression still owes
//   /graph, /config               text
//   /class_names                  text [classes]
//   /channel_mean, /channel_std   float64 [channels], in 0..1
//   /checksums/names              text [n]: every dataset above in the order written, and "attributes"
//   /checksums/xxh3               uint64 [n]: XXH3-64 of the dataset's little-endian bytes; of texts, each
//   text's
//                                 length as uint64 and its bytes; of "attributes", each name and value in
//                                 that way
//   /  attribute checksum         XXH3-64 over /checksums itself
//
// Floats are stored as they are in memory, so a state read back has the same bits.
#include <bit>
#include <map>
#include <span>

#include "src/checkpoint/checkpoint.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/io/atomic_file.h"
#include "src/io/h5.h"

namespace trireme {
namespace {

static_assert(std::endian::native == std::endian::little, "checksums are over little-endian bytes");

constexpr std::int64_t kVersion = 1, kVersionWithResiduals = 2;
constexpr const char* kChecksumNames = "checksums/names";
constexpr const char* kChecksumValues = "checksums/xxh3";
constexpr const char* kParameters = "parameters/";
constexpr const char* kOptimizer = "optimizer/";

std::string residual_group(std::int64_t rank) {
  return fmt::format("residuals/{}/", rank);
}

/// Every scalar of the state with its attribute name, once for writing and reading.
template <typename State, typename Visitor>
void visit_attributes(State& c, Visitor& visit) {
  visit("step", c.position.step);
  visit("epoch", c.position.epoch);
  visit("step_in_epoch", c.position.step_in_epoch);
  visit("samples", c.position.samples);
  visit("seed", c.position.seed);
  visit("global_batch", c.position.global_batch);
  visit("epoch_loss_sum", c.position.epoch_loss_sum);
  visit("epoch_samples", c.position.epoch_samples);
  visit("model", c.model_name);
  visit("image_size", c.image_size);
  visit("channels", c.channels);
  visit("crop_ratio", c.crop_ratio);
  visit("dataset_fingerprint", c.dataset_fingerprint);
  visit("best_top1", c.best_top1);
  visit("top1", c.top1);
  visit("tuning", c.tuning);
  visit("loss_scale", c.loss_scale);
  visit("loss_scale_good_steps", c.loss_scale_good_steps);
  visit("skipped_steps", c.skipped_steps);
  visit("residual_ranks", c.residual_ranks);
}

/// Adds a named value to the attributes' checksum.
void add_value(Hasher& hasher, const char* name, const std::string& value) {
  hasher.add_text(name).add_text(value);
}
template <typename T>
void add_value(Hasher& hasher, const char* name, const T& value) {
  hasher.add_text(name).add(&value, sizeof value);
}

class AttributeWriter {
 public:
  explicit AttributeWriter(H5File& file) : file_(file) {}
  void operator()(const char* name, const std::string& value) {
    file_.write_text_attribute(name, value);
    add_value(hasher_, name, value);
  }
  template <H5Number T>
  void operator()(const char* name, const T& value) {
    file_.write_attribute<T>(name, value);
    add_value(hasher_, name, value);
  }
  template <typename T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
  std::uint64_t checksum() const { return hasher_.digest(); }

 private:
  H5File& file_;
  Hasher hasher_;
};

class AttributeReader {
 public:
  explicit AttributeReader(const H5File& file) : file_(file) {}
  void operator()(const char* name, std::string& value) {
    value = file_.read_text_attribute(name);
    add_value(hasher_, name, value);
  }
  template <H5Number T>
  void operator()(const char* name, T& value) {
    value = file_.read_attribute<T>(name);
    add_value(hasher_, name, value);
  }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) {
    if (!file_.has_attribute(name)) return;
    (*this)(name, value.emplace());
  }
  std::uint64_t checksum() const { return hasher_.digest(); }

 private:
  const H5File& file_;
  Hasher hasher_;
};

template <typename T>
std::uint64_t checksum_of(const std::vector<T>& values) {
  return xxh3(values.data(), values.size() * sizeof(T));
}
std::uint64_t checksum_of(std::span<const std::string> texts) {
  Hasher hasher;
  for (const std::string& text : texts) hasher.add_text(text);
  return hasher.digest();
}

/// Writes datasets and notes their checksums.
class PartWriter {
 public:
  explicit PartWriter(H5File& file) : file_(file) {}

  void tensors(const std::string& group, const std::vector<NamedTensor>& list) {
    for (const NamedTensor& tensor : list) {
      TRIREME_ASSERT(tensor.shape.count() == static_cast<std::int64_t>(tensor.values.size()), tensor.name);
      file_.write<float>(group + tensor.name, tensor.shape, tensor.values.data());
      note(group + tensor.name, checksum_of(tensor.values));
    }
  }
  void numbers(const std::string& name, const std::vector<double>& values) {
    file_.write<double>(name, Shape{static_cast<std::int64_t>(values.size())}, values.data());
    note(name, checksum_of(values));
  }
  void text(const std::string& name, const std::string& value) {
    file_.write_text(name, value);
    note(name, checksum_of(std::span(&value, 1)));
  }
  void texts(const std::string& name, const std::vector<std::string>& values) {
    file_.write_strings(name, values);
    note(name, checksum_of(std::span(values)));
  }
  void note(std::string name, std::uint64_t checksum) {
    names_.push_back(std::move(name));
    checksums_.push_back(checksum);
  }
  void finish() {
    file_.write_strings(kChecksumNames, names_);
    file_.write<std::uint64_t>(kChecksumValues, Shape{static_cast<std::int64_t>(checksums_.size())},
                               checksums_.data());
    file_.write_attribute<std::uint64_t>("checksum", table_checksum(names_, checksums_));
  }

  static std::uint64_t table_checksum(const std::vector<std::string>& names,
                                      const std::vector<std::uint64_t>& checksums) {
    const std::uint64_t both[] = {checksum_of(std::span(names)), checksum_of(checksums)};
    return xxh3(both, sizeof both);
  }

 private:
  H5File& file_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> checksums_;
};

/// Reads datasets and compares them with the checksums of the table.
class PartReader {
 public:
  explicit PartReader(const H5File& file) : file_(file) {
    names_ = file.read_strings(kChecksumNames);
    const std::vector<std::uint64_t> checksums = file.read<std::uint64_t>(kChecksumValues);
    if (names_.size() != checksums.size() ||
        file.read_attribute<std::uint64_t>("checksum") != PartWriter::table_checksum(names_, checksums))
      throw damaged("checksums");
    for (std::size_t i = 0; i < names_.size(); ++i) checksums_[names_[i]] = checksums[i];
  }

  /// Names of the parts that begin with `prefix`, in the order written.
  std::vector<std::string> names(std::string_view prefix) const {
    std::vector<std::string> found;
    for (const std::string& name : names_)
      if (name.starts_with(prefix)) found.push_back(name);
    return found;
  }
  NamedTensor tensor(const std::string& name, std::size_t prefix_length) const {
    NamedTensor tensor{name.substr(prefix_length), file_.open_dataset(name).shape(), file_.read<float>(name)};
    check(name, checksum_of(tensor.values));
    return tensor;
  }
  /// Those whose names begin with `group`, without it.
  std::vector<NamedTensor> tensors(std::string_view group) const {
    std::vector<NamedTensor> found;
    for (const std::string& name : names(group)) found.push_back(tensor(name, group.size()));
    return found;
  }
  std::vector<double> numbers(const std::string& name) const {
    std::vector<double> values = file_.read<double>(name);
    check(name, checksum_of(values));
    return values;
  }
  std::string text(const std::string& name) const {
    std::string value = file_.read_text(name);
    check(name, checksum_of(std::span<const std::string>(&value, 1)));
    return value;
  }
  std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> values = file_.read_strings(name);
    check(name, checksum_of(std::span<const std::string>(values)));
    return values;
  }
  void check(const std::string& name, std::uint64_t checksum) const {
    const auto found = checksums_.find(name);
    if (found == checksums_.end() || found->second != checksum) throw damaged(name);
  }

 private:
  Error damaged(const std::string& part) const {
    return make_error(Status::bad_data, "the checkpoint is damaged: /{} does not have its checksum", part)
        .at(file_.path());
  }

  const H5File& file_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint64_t> checksums_;
};

void check_format(const H5File& file) {
  if (!file.has_attribute("trireme_format") || file.read_text_attribute("trireme_format") != "checkpoint")
    throw make_error(Status::bad_data, "this is not a checkpoint").at(file.path());
  const auto version = file.read_attribute<std::int64_t>("version");
  if (version != kVersion && version != kVersionWithResiduals)
    throw make_error(Status::bad_data, "the checkpoint has version {}, this program reads versions {} and {}",
                     version, kVersion, kVersionWithResiduals)
        .at(file.path())
        .hint("use the program that wrote it");
}

}  // namespace

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint,
                      const ResidualSource& residual_of) {
  AtomicFile atomic(path);
  H5File file = H5File::create(atomic.temporary_path());
  file.write_text_attribute("trireme_format", "checkpoint");
  file.write_attribute<std::int64_t>("version", checkpoint.residual_ranks ? kVersionWithResiduals : kVersion);
  AttributeWriter attributes(file);
  visit_attributes(checkpoint, attributes);
  PartWriter parts(file);
  parts.note("attributes", attributes.checksum());
  parts.tensors(kParameters, checkpoint.parameters);
  for (const auto& [state, tensors] : checkpoint.optimizer_state)
    parts.tensors(kOptimizer + state + "/", tensors);
  for (std::int64_t rank = 0; rank < checkpoint.residual_ranks.value_or(0); ++rank)
    parts.tensors(residual_group(rank), residual_of(rank));
  parts.text("graph", checkpoint.graph_text);
  parts.text("config", checkpoint.config_text);
  parts.texts("class_names", checkpoint.class_names);
  parts.numbers("channel_mean", checkpoint.channel_mean);
  parts.numbers("channel_std", checkpoint.channel_std);
  parts.finish();
  file.close();
  atomic.commit();
}

Checkpoint read_checkpoint(const std::string& path) {
  const H5File file = H5File::open_read(path);
  check_format(file);
  const PartReader parts(file);
  Checkpoint c;
  AttributeReader attributes(file);
  visit_attributes(c, attributes);
  parts.check("attributes", attributes.checksum());
  const std::string_view optimizer = kOptimizer;
  c.parameters = parts.tensors(kParameters);
  for (const std::string& name : parts.names(optimizer)) {
    const std::size_t slash = name.find('/', optimizer.size());
    const std::string state = name.substr(optimizer.size(), slash - optimizer.size());
    c.optimizer_state[state].push_back(parts.tensor(name, slash + 1));
  }
  c.graph_text = parts.text("graph");
  c.config_text = parts.text("config");
  c.class_names = parts.texts("class_names");
  c.channel_mean = parts.numbers("channel_mean");
  c.channel_std = parts.numbers("channel_std");
  return c;
}

std::vector<NamedTensor> read_residual(const std::string& path, std::int64_t rank) {
  const H5File file = H5File::open_read(path);
  check_format(file);
  return PartReader(file).tensors(residual_group(rank));
}

Checkpoint read_whole_checkpoint(const std::string& path) {
  Checkpoint checkpoint = read_checkpoint(path);
  for (std::int64_t rank = 0; rank < checkpoint.residual_ranks.value_or(0); ++rank) read_residual(path, rank);
  return checkpoint;
}

}  // namespace trireme
