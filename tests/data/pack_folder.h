// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "data/pack.h"
#include "tests/data/pictures.h"
#include "tests/support/temporary_folder.h"

namespace trireme {

/// A folder of classes to pack, and where to pack it.
class PackFolder : public testing::Test {
 protected:
  void add(const std::string& name, const testing_pictures::Bytes& bytes) {
    testing_pictures::write_file(folder_ / fmt::format("source/{}", name), bytes);
  }
  void add(const std::string& name, const Picture& picture) { add(name, testing_pictures::png_of(picture)); }

  PackOptions options(const std::string& output = "out.h5") const {
    PackOptions options;
    options.sources = {folder_ / "source"};
    options.output = folder_ / output;
    options.threads = 2;
    return options;
  }
  bool output_exists(const std::string& name = "out.h5") const {
    return std::filesystem::exists(folder_ / name);
  }
  /// Names in the folder besides the source.
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {})) -
           1;
  }

  TemporaryFolder folder_;
};

}  // namespace trireme
