// SPDX-License-Identifier: Apache-2.0
#include "src/train/model_state.h"

#include <map>
#include <string_view>

#include "src/core/error.h"
#include "src/graph/initialize.h"

namespace trireme {

std::vector<NamedTensor> named_tensors(const Graph& graph, const FlatLayout& layout, const float* flat,
                                       bool statistics) {
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < graph.parameters().size(); ++i) {
    const Parameter& parameter = graph.parameters()[i];
    if (parameter.is_statistic() && !statistics) continue;
    const FlatLayout::Entry& entry = layout.entry(static_cast<ParamId>(i));
    NamedTensor tensor{parameter.name, file_shape(parameter), std::vector<float>(entry.count)};
    to_file_order(parameter, flat + entry.offset, tensor.values.data());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

void fill_flat(const Graph& graph, const FlatLayout& layout, const std::vector<NamedTensor>& tensors,
               bool statistics, const std::string& source, float* flat) {
  std::map<std::string_view, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : tensors) by_name[tensor.name] = &tensor;
  for (std::size_t i = 0; i < graph.parameters().size(); ++i) {
    const Parameter& parameter = graph.parameters()[i];
    if (parameter.is_statistic() && !statistics) continue;
    const auto found = by_name.find(parameter.name);
    if (found == by_name.end())
      throw make_error(Status::configuration, "the checkpoint lacks the tensor {}", parameter.name)
          .at(source);
    const NamedTensor& tensor = *found->second;
    if (tensor.shape != file_shape(parameter))
      throw make_error(Status::configuration, "{} is {} in the checkpoint, {} in the network", parameter.name,
                       tensor.shape.text(), file_shape(parameter).text())
          .at(source);
    from_file_order(parameter, tensor.values.data(), flat + layout.entry(static_cast<ParamId>(i)).offset);
    by_name.erase(found);
  }
  if (!by_name.empty())
    throw make_error(Status::configuration, "the checkpoint's tensor {} is not in the network",
                     by_name.begin()->first)
        .at(source);
}

}  // namespace trireme
