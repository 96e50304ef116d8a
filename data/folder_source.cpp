// SPDX-License-Identifier: Apache-2.0
// SOURCE/CLASS/**/picture. Classes in bytewise order of their names, pictures in bytewise order of their
// paths within the class, so the order is the same on every file system and in every locale.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "data/codec.h"
#include "data/pack_source.h"
#include "data/utf8.h"
#include "src/core/error.h"
#include "src/core/log.h"
#include "src/io/descriptor.h"
#include "src/io/path.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

struct Candidate {
  std::int32_t label = 0;
  std::string path;               ///< to open
  std::string shown;              ///< relative to the source
  const char* refusal = nullptr;  ///< why it cannot be a picture, known from its kind
};

constexpr char kOutsideClass[] = "a file outside of the class folders";
constexpr char kNotRegular[] = "neither a file nor a folder, or a link to nowhere";

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

/// A folder's identity, to notice links that lead back to where they are.
using FolderId = std::pair<dev_t, ino_t>;

FolderId id_of(const fs::path& folder) {
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0)
    throw make_error(Status::input_missing, "cannot open: {}", std::strerror(errno)).at(folder.string());
  return {facts.st_dev, facts.st_ino};
}

/// Members that are not hidden, unordered.
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (!is_hidden(at->path())) entries.push_back(*at);
  if (error) throw make_error(Status::input_missing, "cannot list: {}", error.message()).at(folder.string());
  return entries;
}

/// All files under `folder` at any depth; `above` holds the folders on the way down to it.
void collect_files(const fs::path& folder, std::vector<FolderId>& above, std::vector<Candidate>& files) {
  const FolderId id = id_of(folder);
  if (std::find(above.begin(), above.end(), id) != above.end()) return;
  above.push_back(id);
  for (const fs::directory_entry& entry : entries_of(folder)) {
    std::error_code error;
    if (entry.is_directory(error)) {
      collect_files(entry.path(), above, files);
    } else {
      files.push_back({0, entry.path().string(), "", entry.is_regular_file(error) ? nullptr : kNotRegular});
    }
  }
  above.pop_back();
}

class FolderSource final : public PackSource {
 public:
  explicit FolderSource(const std::vector<std::string>& sources) {
    std::map<std::string, std::vector<Candidate>> classes;
    for (const std::string& source : sources) scan(source, sources.size() > 1, classes);
    for (auto& [name, files] : classes) add_class(name, std::move(files));
    candidates_.insert(candidates_.end(), std::make_move_iterator(strays_.begin()),
                       std::make_move_iterator(strays_.end()));
    strays_.clear();
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(candidates_.size()); }
  std::int32_t label(std::int64_t candidate) const override { return at(candidate).label; }
  std::string source_path(std::int64_t candidate) const override { return to_utf8(at(candidate).shown); }
  std::string place(std::int64_t candidate) const override { return at(candidate).path; }

  PictureShape probe(std::int64_t index) const override {
    const Candidate& candidate = at(index);
    return guarded(candidate, [&] {
      const Descriptor file = open_for_reading(candidate.path);
      for (std::size_t bytes : {std::size_t{4096}, std::size_t{1} << 18}) {
        const std::vector<std::uint8_t> start = read_start(file, candidate.path, bytes);
        if (const auto header = probe_picture(start)) return shape_of(*header);
        if (start.size() < bytes) break;
      }
      const auto header = probe_picture(read_whole(file, candidate.path));
      if (!header) throw make_error(Status::bad_data, "damaged picture: it ends within its header");
      return shape_of(*header);
    });
  }

  LoadedPicture load(std::int64_t index) const override {
    const Candidate& candidate = at(index);
    return guarded(candidate, [&] {
      LoadedPicture loaded;
      loaded.jpeg = read_whole(open_for_reading(candidate.path), candidate.path);
      const auto header = probe_picture(loaded.jpeg);
      decode_picture(loaded.jpeg, loaded.picture);
      if (header->kind != PictureKind::jpeg) loaded.jpeg.clear();
      return loaded;
    });
  }

 private:
  const Candidate& at(std::int64_t index) const { return candidates_[static_cast<std::size_t>(index)]; }

  static PictureShape shape_of(const PictureHeader& header) {
    return {header.height, header.width, header.channels};
  }

  // What is wrong with the content carries no path yet.
  template <typename Function>
  static std::invoke_result_t<Function> guarded(const Candidate& candidate, const Function& function) {
    try {
      if (candidate.refusal != nullptr) throw Error(Status::bad_data, candidate.refusal);
      return function();
    } catch (Error& error) {
      if (error.status() != Status::bad_data) throw;
      throw std::move(error).at(candidate.path);
    }
  }

  static std::vector<std::uint8_t> read_start(const Descriptor& file, const std::string& path,
                                              std::size_t bytes) {
    std::vector<std::uint8_t> start(bytes);
    start.resize(read_at(file, path, 0, start.data(), bytes));
    return start;
  }

  static std::vector<std::uint8_t> read_whole(const Descriptor& file, const std::string& path) {
    return read_start(file, path, static_cast<std::size_t>(size_of_file(file, path)));
  }

  void scan(const std::string& source, bool several, std::map<std::string, std::vector<Candidate>>& classes) {
    const fs::path root(source);
    if (!path_exists(source)) throw make_error(Status::input_missing, "no such folder").at(source);
    if (!is_folder(source))
      throw make_error(Status::bad_data, "not a folder")
          .at(source)
          .hint("a folder with one folder for each class");
    // With several sources a path begins with its source, so that equal names stay apart.
    const std::string prefix =
        several ? (fs::absolute(root) / "").lexically_normal().parent_path().filename().string() + "/" : "";
    for (const fs::directory_entry& entry : entries_of(root)) {
      const std::string name = entry.path().filename().string();
      std::error_code error;
      if (!entry.is_directory(error)) {
        strays_.push_back({0, entry.path().string(), prefix + name, kOutsideClass});
        continue;
      }
      std::vector<Candidate> files;
      std::vector<FolderId> above{id_of(root)};
      collect_files(entry.path(), above, files);
      for (Candidate& file : files)
        file.shown = prefix + name + file.path.substr(entry.path().string().size());
      std::vector<Candidate>& all = classes[name];
      all.insert(all.end(), std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
    }
    std::sort(strays_.begin(), strays_.end(), by_path);
  }

  void add_class(const std::string& name, std::vector<Candidate> files) {
    if (!is_utf8(name))
      throw make_error(Status::bad_data, "the name of class folder {} is not UTF-8", to_utf8(name))
          .hint("rename the folder");
    if (files.empty()) log::warn("class {} has no pictures", name);
    std::sort(files.begin(), files.end(), by_path);
    for (Candidate& file : files) {
      file.label = static_cast<std::int32_t>(class_names_.size());
      candidates_.push_back(std::move(file));
    }
    class_names_.push_back(name);
  }

  static bool by_path(const Candidate& a, const Candidate& b) {
    return std::tie(a.shown, a.path) < std::tie(b.shown, b.path);
  }

  std::vector<Candidate> candidates_, strays_;
};

}  // namespace

std::unique_ptr<PackSource> open_folder_source(const std::vector<std::string>& sources) {
  return std::make_unique<FolderSource>(sources);
}

}  // namespace trireme
