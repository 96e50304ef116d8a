// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include <glob.h>

#include <algorithm>
#include <optional>

#include "data/byte_stream.h"
#include "data/dataset_index.h"
#include "data/packed_dataset.h"
#include "data/staging.h"
#include "data/synthetic_dataset.h"
#include "src/core/error.h"
#include "src/core/parse.h"
#include "src/io/path.h"

namespace trireme {
namespace {

std::vector<std::string> matches_of(const std::string& pattern) {
  struct Matches : glob_t {
    Matches() : glob_t{} {}
    ~Matches() { ::globfree(this); }
  } matches;
  if (::glob(pattern.c_str(), 0, nullptr, &matches) != 0)
    throw make_error(Status::input_missing, "no such file").at(pattern);
  return {matches.gl_pathv, matches.gl_pathv + matches.gl_pathc};
}

/// The files that --data names, ordered by name. What exists under its own name is neither a list nor a
/// pattern.
std::vector<std::string> expand(std::string_view spec) {
  if (path_exists(std::string(spec))) return {std::string(spec)};
  std::vector<std::string> paths;
  for (const std::string& part : split(spec, ',')) {
    if (part.empty()) throw make_error(Status::usage, "'{}' has an empty name among its files", spec);
    if (path_exists(part)) {
      paths.push_back(part);
    } else {
      for (std::string& path : matches_of(part)) paths.push_back(std::move(path));
    }
  }
  if (paths.empty()) throw make_error(Status::usage, "no dataset is named");
  std::sort(paths.begin(), paths.end());
  if (const auto twice = std::adjacent_find(paths.begin(), paths.end()); twice != paths.end())
    throw make_error(Status::configuration, "a file is named twice").at(*twice);
  return paths;
}

// HDF5 cannot open an anonymous file, so what only HDF5 can read is not held in one.
void stage(IndexedFile& file, const Preload& preload, std::vector<Descriptor>& keep_alive) {
  if (preload.kind == Preload::Kind::memory && !file.contiguous)
    throw make_error(Status::configuration, "chunked or compressed pictures cannot be preloaded into memory")
        .at(file.path)
        .hint("--preload DIR, or pack them with trireme pack");
  file.read_path = stage_file(file.path, preload, keep_alive);
}

DatasetIndex read_index(std::string_view spec, const Preload& preload, std::vector<Descriptor>& keep_alive) {
  std::vector<OpenedDataset> files;
  for (const std::string& path : expand(spec)) files.push_back(open_packed_file(path));
  DatasetIndex index = join_files(std::string(spec), std::move(files));
  for (IndexedFile& file : index.files) stage(file, preload, keep_alive);
  return index;
}

// What goes from the opener to the others is an index, or the error that they must end with too.
std::vector<std::byte> shared_bytes(const DatasetIndex& index, const std::optional<Error>& error) {
  ByteWriter out;
  out.put(error ? error->status() : Status::ok);
  if (error) {
    out.put_text(error->what());
    return out.take();
  }
  std::vector<std::byte> bytes = out.take();
  const std::vector<std::byte> rest = to_bytes(index);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

DatasetIndex index_from_shared(const std::vector<std::byte>& bytes) {
  ByteReader in(bytes);
  if (const Status status = in.get<Status>(); status != Status::ok) throw Error(status, in.get_text());
  return index_from_bytes(in.rest());
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(std::string_view spec, const NodeShare& share,
                                      const DatasetOptions& options) {
  if (SyntheticDataset::is_synthetic(spec)) return std::make_unique<SyntheticDataset>(spec, options.seed);
  std::vector<Descriptor> keep_alive;
  DatasetIndex index;
  std::optional<Error> error;
  if (share.is_opener) {
    try {
      index = read_index(spec, Preload::parse(options.preload), keep_alive);
    } catch (const Error& caught) {
      error = caught;
    }
  }
  if (share.broadcast) {
    const std::vector<std::byte> bytes =
        share.broadcast(share.is_opener ? shared_bytes(index, error) : std::vector<std::byte>{});
    if (!share.is_opener) index = index_from_shared(bytes);
  }
  if (error) throw *error;
  return std::make_unique<PackedDataset>(std::move(index), std::move(keep_alive));
}

void check_same_classes(const DatasetInfo& train, const DatasetInfo& validation) {
  const std::string difference =
      first_class_difference(train.class_names, "training", validation.class_names, "validation");
  if (!difference.empty())
    throw make_error(Status::bad_data, "training and validation data have different classes: {}", difference)
        .at(train.name)
        .at(validation.name);
}

}  // namespace trireme
