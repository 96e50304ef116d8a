// SPDX-License-Identifier: Apache-2.0
#include "src/graph/initialize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/core/philox.h"

namespace trireme {

namespace {

// Scales are computed in float64 and rounded to float once.
void draw(const Initializer& init, const Philox& random, float* values, std::int64_t count) {
  const double fan = static_cast<double>(init.fan);
  switch (init.kind) {
    case Initializer::Kind::constant:
      std::fill_n(values, count, static_cast<float>(init.value));
      return;
    case Initializer::Kind::normal:
      fill_normal(random, static_cast<float>(init.value), values, count);
      return;
    case Initializer::Kind::kaiming_normal:
      fill_normal(random, static_cast<float>(std::sqrt(2.0 / fan)), values, count);
      return;
    case Initializer::Kind::fan_in_uniform:
      fill_uniform(random, static_cast<float>(1.0 / std::sqrt(fan)), values, count);
      return;
  }
}

// Calls copy(OHWI index, OIHW index) for every element of a convolution's weight.
template <typename Copy>
void for_each_weight(const Shape& ohwi, Copy&& copy) {
  const std::int64_t window = ohwi[1] * ohwi[2], in_channels = ohwi[3];
  for (std::int64_t o = 0; o < ohwi[0]; ++o)
    for (std::int64_t hw = 0; hw < window; ++hw)
      for (std::int64_t i = 0; i < in_channels; ++i)
        copy((o * window + hw) * in_channels + i, (o * in_channels + i) * window + hw);
}

}  // namespace

void initialize_parameters(const Graph& graph, const FlatLayout& layout, std::uint64_t seed,
                           float* parameters) {
  std::vector<float> file;
  for (std::size_t p = 0; p < graph.parameters().size(); ++p) {
    const Parameter& parameter = graph.parameters()[p];
    file.resize(static_cast<std::size_t>(parameter.shape.count()));
    const Philox random(seed, RandomStream::initialisation, 0, p);
    draw(parameter.init, random, file.data(), parameter.shape.count());
    from_file_order(parameter, file.data(), parameters + layout.entry(static_cast<ParamId>(p)).offset);
  }
}

void to_file_order(const Parameter& parameter, const float* flat, float* file) {
  if (parameter.role == ParamRole::conv_weight)
    for_each_weight(parameter.shape, [&](std::int64_t ohwi, std::int64_t oihw) { file[oihw] = flat[ohwi]; });
  else
    std::copy_n(flat, parameter.shape.count(), file);
}

void from_file_order(const Parameter& parameter, const float* file, float* flat) {
  if (parameter.role == ParamRole::conv_weight)
    for_each_weight(parameter.shape, [&](std::int64_t ohwi, std::int64_t oihw) { flat[ohwi] = file[oihw]; });
  else
    std::copy_n(file, parameter.shape.count(), flat);
}

Shape file_shape(const Parameter& parameter) {
  const Shape& s = parameter.shape;
  return parameter.role == ParamRole::conv_weight ? Shape{s[0], s[3], s[1], s[2]} : s;
}

}  // namespace trireme
