// SPDX-License-Identifier: Apache-2.0
// Pictures from fp32 numbers and from levels; of levels it makes what the host's transform makes.
#include "data/transform.h"
#include "src/core/philox.h"
#include "tests/src/device/cuda/cuda_op_fixture.h"
#include "tests/src/device/cuda/device_bytes.h"

namespace trireme::testing {
namespace {

struct LevelCase {
  Shape stored;  // [H,W,C]
  int size = 8, channels = 3;
  Augment augment = Augment::none;
  bool training = true;
};

class InputOpTest : public CudaOpTest {
 protected:
  static constexpr std::int64_t kRows = 4, kValid = 3;

  TransformOptions options_of(const LevelCase& c) const {
    TransformOptions options;
    options.image_size = c.size;
    options.channels = c.channels;
    options.training = c.training;
    options.augment = c.augment;
    options.mean = c.channels == 1 ? std::vector{0.4} : std::vector{0.5, 0.4, 0.3};
    options.std = c.channels == 1 ? std::vector{0.2} : std::vector{0.25, 0.2, 0.3};
    options.seed = 21;
    options.crop_ratio = 0.8;
    return options;
  }

  Picture picture_of(const LevelCase& c, std::int64_t sample) const {
    Picture picture;
    picture.resize(static_cast<int>(c.stored[0]), static_cast<int>(c.stored[1]),
                   static_cast<int>(c.stored[2]));
    Philox random(8, RandomStream::synthetic, 0, static_cast<std::uint64_t>(sample));
    for (std::uint8_t& level : picture.pixels) level = static_cast<std::uint8_t>(random.next_u32());
    return picture;
  }

  CudaCase case_of(int size, int channels) const {
    CudaCase c;
    c.precision = GetParam();
    c.op = InputOp{};
    c.output_shape = {kRows, size, size, channels};
    c.context.valid_samples = kValid;
    c.context.seed = 21;
    c.context.epoch = 3;
    return c;
  }

  void check_levels(const LevelCase& levels) {
    SCOPED_TRACE(levels.stored.text() + " to " + std::to_string(levels.size) + ", " +
                 std::string(augment_name(levels.augment)));
    const TransformOptions options = options_of(levels);
    const Transform transform(options);
    std::vector<std::int64_t> ids;
    std::vector<std::uint8_t> pictures;
    std::vector<float> expected;
    for (std::int64_t row = 0; row < kRows; ++row) {
      ids.push_back(row < kValid ? 3 + 17 * row : -1);
      const Picture picture =
          picture_of(levels, ids.back());  // padding rows are not read, whatever they hold
      pictures.insert(pictures.end(), picture.pixels.begin(), picture.pixels.end());
      std::vector<float> out(
          static_cast<std::size_t>(Shape{levels.size, levels.size, levels.channels}.count()));
      if (row < kValid) transform.apply(picture, 3, ids.back(), out.data());
      expected.insert(expected.end(), out.begin(), out.end());
    }
    DeviceBytes id_memory(device(), ids.size() * sizeof(std::int64_t)), images(device(), pictures.size());
    id_memory.write(ids);
    images.write(pictures);
    CudaCase c = case_of(levels.size, levels.channels);
    c.training = levels.training;
    c.context.images = images.data();
    c.context.sample_ids = static_cast<const std::int64_t*>(id_memory.data());
    c.input_format = {DType::u8,          levels.stored, levels.augment,
                      options.crop_ratio, options.mean,  options.std};
    for (const bool narrow : {false, true}) {
      c.feeds_convolutions = narrow;
      EXPECT_EQ(run_op(device(), c).output, in_element(expected));
    }
  }
};

TEST_P(InputOpTest, NumbersAreCastAndPadded) {
  for (const int channels : {1, 3, 4, 5}) {
    CudaCase c = case_of(7, channels);
    const std::vector<float> values = random_values<float>(c.output_shape.count(), 5);
    DeviceBytes images(device(), values.size() * sizeof(float));
    images.write(values);
    c.context.images = images.data();
    for (const bool narrow : {false, true}) {
      c.feeds_convolutions = narrow;
      const CudaResult result = run_op(device(), c);
      EXPECT_EQ(result.output, in_element(values));
      const bool half_a_vector = narrow && channels <= 4 && size_of(element()) == 2;
      EXPECT_EQ(pitch_of(result.facts.output), half_a_vector ? 4 : pitch_of(channels, element()));
    }
  }
}

TEST_P(InputOpTest, StoredLevelsAreAugmentedAsByTheHost) {
  for (const AugmentName& augment : augment_names()) {
    check_levels({{8, 8, 3}, 8, 3, augment.augment});
    check_levels({{13, 10, 3}, 8, 3, augment.augment});
    check_levels({{9, 9, 1}, 7, 1, augment.augment});
  }
}

TEST_P(InputOpTest, GreyAndColourBecomeEachOther) {
  check_levels({{9, 9, 1}, 9, 3, Augment::crop_flip});
  check_levels({{9, 12, 3}, 6, 1, Augment::resized_crop});
}

TEST_P(InputOpTest, FramedLevelsAreOnlyNormalised) {
  check_levels({{8, 8, 3}, 8, 3, Augment::none});
  check_levels({{7, 7, 1}, 7, 1, Augment::none});
}

TEST_P(InputOpTest, InferenceSeesWhatEvaluationSees) {
  check_levels({{13, 10, 3}, 8, 3, Augment::resized_crop, false});
  check_levels({{8, 8, 3}, 8, 3, Augment::crop_flip, false});
}

INSTANTIATE_TEST_SUITE_P(All, InputOpTest, all_elements(), precision_name);

}  // namespace
}  // namespace trireme::testing
