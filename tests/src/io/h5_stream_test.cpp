// SPDX-License-Identifier: Apache-2.0
#include "src/io/h5_stream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

std::vector<std::uint8_t> pattern(std::size_t bytes) {
  std::vector<std::uint8_t> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::uint8_t>((i * 2654435761U) >> 13);
  return values;
}

class H5StreamOfBytes : public testing::TestWithParam<std::size_t> {};

TEST_P(H5StreamOfBytes, IsAdoptedAsAContiguousDataset) {
  const std::vector<std::uint8_t> values = pattern(GetParam());
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const std::vector<double> after(50000, 0.5);
  {
    H5File file = H5File::create(path, H5Alignment::stripes);
    file.write_attribute<std::int64_t>("version", 1);
    H5Stream stream(file);
    for (std::size_t i = 0; i < values.size();) {
      const std::size_t part = std::min<std::size_t>(values.size() - i, 1 + i % 700001);
      stream.append(values.data() + i, part);
      i += part;
    }
    EXPECT_EQ(stream.bytes(), values.size());
    stream.finish("blob", Shape{static_cast<std::int64_t>(values.size())});
    file.write<double>("after", Shape{50000}, after.data());
    file.write_text("text", "short");
    file.close();
  }
  const H5File file = H5File::open_read(path);
  EXPECT_TRUE(file.read<std::uint8_t>("blob") == values);
  EXPECT_EQ(file.read<double>("after"), after);
  EXPECT_EQ(file.read_text("text"), "short");
  if (values.size() >= 65536) {
    EXPECT_EQ(file.open_dataset("blob").address(), std::uint64_t{1} << 20);
    EXPECT_LT(std::filesystem::file_size(path), (5 << 20) + values.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, H5StreamOfBytes,
                         testing::Values(0, 1, 1000, 65535, 65536, 1 << 20, (4 << 20) + 1, 13000000));

}  // namespace
}  // namespace trireme
