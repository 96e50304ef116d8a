// SPDX-License-Identifier: Apache-2.0
// Random access to labelled pictures: packed HDF5 files, or synthetic ones made on the fly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/picture.h"
#include "src/core/shape.h"

namespace trireme {

enum class Encoding { raw, jpeg };

struct DatasetInfo {
  std::string name;  ///< the path(s) as given, or the synthetic description
  bool synthetic = false;
  Encoding encoding = Encoding::raw;
  Shape sample_shape;  ///< [H,W,C]; H = W = 0 where sizes vary
  std::int64_t num_samples = 0;
  std::vector<std::string> class_names;
  std::vector<double> channel_mean, channel_std;  ///< in 0..1, one per channel
  /// Hash of content-defining facts (shape, counts, class names, labels, per-file sample hashes where
  /// stored); equal datasets at different paths have equal fingerprints.
  std::uint64_t fingerprint = 0;

  int num_classes() const { return static_cast<int>(class_names.size()); }
  int channels() const { return static_cast<int>(sample_shape[2]); }
  /// Whether all pictures are [H,W,C] alike, so that batches may hold them as stored.
  bool has_one_shape() const { return sample_shape[0] > 0 && sample_shape[1] > 0; }
};

/// Thread-safe after construction.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const DatasetInfo& info() const = 0;
  virtual std::int32_t label(std::int64_t sample) const = 0;
  /// Reads and decodes one sample; channels are always info().channels(). Errors name file and sample.
  virtual void read(std::int64_t sample, Picture& picture) const = 0;
};

/// How one rank of a node shares what it read with the others. `data` must not include MPI, so the caller
/// brings this: on the opener it gets the bytes and returns them; on the others it ignores its argument and
/// returns the opener's bytes. `is_opener` says which one this is.
struct NodeShare {
  bool is_opener = true;
  std::function<std::vector<std::byte>(std::vector<std::byte>)> broadcast;  ///< null: a node of one
};

/// Opens what --data or --val names: one or several packed files (comma-separated, or a glob; order by name;
/// equal class lists), or "synthetic:HxWxC:classes[:N]". Only the opener touches the files with HDF5; the
/// others get labels, offsets and byte addresses through `share`, then only open + pread.
struct DatasetOptions {
  std::uint64_t seed = 0;        ///< synthetic data only
  std::string preload = "none";  ///< "none", "memory", or a directory to stage a copy in
};
std::unique_ptr<Dataset> open_dataset(std::string_view spec, const NodeShare& share,
                                      const DatasetOptions& options);

/// Refuses (65) validation data whose class list differs from training's, naming the first difference.
void check_same_classes(const DatasetInfo& train, const DatasetInfo& validation);

}  // namespace trireme
