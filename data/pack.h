// SPDX-License-Identifier: Apache-2.0
// From image folders or idx files to dataset.h5 (data/dataset_format.h). Files are read and decoded by
// several threads and written by one, in an order that depends on the seed only: the output is the same, byte
// for byte, whatever the number of threads. Memory is O(threads) pictures and O(N) names; an idx file is held
// whole.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace trireme {

enum class PackFormat {
  automatic,  ///< a folder is `folder`; a file whose content says so is `idx`
  folder,     ///< SOURCE/CLASS/**/picture: JPEG and PNG by content; hidden files are ignored
  idx         ///< MNIST's format, plain or gzip
};
enum class PackOrder { shuffled, source };
enum class OnError { fail, skip };

/// Part of the samples that goes to a second file.
struct PackSplit {
  std::string name;  ///< "val"
  double fraction =
      0;  ///< in (0, 1): of each class, rounded to nearest; every class keeps at least one sample
};

struct PackSize {
  int height = 0, width = 0;
  friend bool operator==(const PackSize&, const PackSize&) = default;
};

struct PackOptions {
  /// Folders (classes of the same name are joined), or idx files: the images file alone - the labels file is
  /// found beside it by name ("images-idx3" becomes "labels-idx1") - or images and labels in any order.
  std::vector<std::string> sources;
  std::string output;
  PackFormat format = PackFormat::automatic;
  Encoding encode =
      Encoding::raw;  ///< jpeg keeps a JPEG source's bytes unless it is resized; else quality 95
  int resize = 0;     ///< > 0: the shorter side becomes this, the aspect ratio stays
  int crop = 0;       ///< > 0: the centre square of this side (after resize)
  std::optional<PackSize>
      size;  ///< exactly this size, the aspect ratio does not stay; excludes the two above
  PackOrder order = PackOrder::shuffled;
  std::uint64_t seed = 0;
  OnError on_error = OnError::fail;      ///< skip: damaged files and files that are no pictures are counted
  std::optional<PackSplit> split;        ///< see split_path
  std::vector<std::string> class_names;  ///< idx only; empty: "0", "1", …
  int threads = 1;
  bool force = false;  ///< replace existing output
  /// Called on the calling thread, with the number of samples handled and how many there are.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

/// One file that was written.
struct PackedFile {
  std::string path;
  std::int64_t num_samples = 0;
  std::uint64_t bytes = 0;
  std::vector<std::int64_t> class_counts;
  std::vector<double> channel_mean, channel_std;
};

struct PackSummary {
  std::vector<PackedFile> files;  ///< OUTPUT, then the split's file
  std::vector<std::string> class_names;
  Shape sample_shape;  ///< [H,W,C]; [0,0,C] where sizes vary (jpeg)
  Encoding encoding = Encoding::raw;
  std::int64_t skipped = 0;
  std::vector<std::string> skipped_examples;  ///< "path: reason", at most ten, in order
};

/// Errors: 66 a source is missing; 65 a damaged or odd-sized picture, a file that is no picture, no picture
/// at all; 73 the output exists (without `force`) or cannot be made; 74 writing failed; 78 options that do
/// not fit. Nothing is left at the final path then.
PackSummary pack_dataset(const PackOptions& options);

/// The file of a split: OUTPUT's name with "-NAME" before the extension, beside it ("d/train.h5", "val" gives
/// "d/train-val.h5").
std::string split_path(const std::string& output, const std::string& split_name);

/// The texts of the command line: "val=0.1", "32x40" (height x width). 64 if they are not that.
PackSplit parse_split(std::string_view text);
PackSize parse_size(std::string_view text);

}  // namespace trireme
