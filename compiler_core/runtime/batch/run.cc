#include "compiler_core/runtime/batch/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler_core/runtime/batch/batch.h"

namespace kiln::runtime {
namespace {

const TensorSpec& specOf(const std::vector<TensorSpec>& specs, const std::string& name) {
  return *std::find_if(specs.begin(), specs.end(), [&](const auto& spec) { return spec.name == name; });
}

Result<Tensors> runOnce(Session& session, const std::vector<TensorSpec>& specs, const Tensors& inputs) {
  for (const auto& input : inputs) KILN_TRY(checkInput(specOf(specs, input.name), input.tensor));
  return session.run(inputs);
}

Result<Tensors> runEach(Session& session, const std::vector<TensorSpec>& specs, const Tensors& inputs) {
  std::size_t count = 0;
  for (const auto& input : inputs) {
    KILN_ASSIGN(const auto given, countEach(specOf(specs, input.name), input.tensor));
    if (count != 0 && given != count) {
      return fail(Code::kInvalidArgument, fmt::format("--each: input \"{}\" holds {} elements, \"{}\" {}",
                                                      inputs.front().name, count, input.name, given));
    }
    count = given;
    if (count == 0)
      return fail(Code::kInvalidArgument, "--each: input \"" + input.name + "\" holds no element");
  }
  if (inputs.empty())
    return fail(Code::kInvalidArgument, "--each: the artifact takes no input to go through");
  Tensors stacked;
  for (std::size_t i = 0; i < count; ++i) {
    Tensors single;
    for (const auto& input : inputs) {
      single.push_back({input.name, elementOf(specOf(specs, input.name), input.tensor, i)});
    }
    KILN_ASSIGN(const auto outputs, session.run(single));
    if (stacked.empty()) {
      for (const auto& output : outputs) stacked.push_back({output.name, {}});
    }
    for (std::size_t k = 0; k < outputs.size(); ++k)
      KILN_TRY(stack(stacked[k].tensor, outputs[k].tensor, count));
  }
  return stacked;
}

}  // namespace

std::vector<TensorSpec> specsOf(const std::vector<TensorInfo>& tensors) {
  std::vector<TensorSpec> specs;
  for (const TensorInfo& info : tensors) {
    TensorSpec spec{info.name, info.dtype, {}, {}, info.isText};
    for (const Dim& dim : info.shape) {
      spec.shape.push_back(dim.isStatic() ? dim.value : -1);
      spec.dims.push_back(dim.text());
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

Result<Tensors> runTensors(Session& session, const std::vector<TensorSpec>& specs, const Tensors& inputs,
                           bool each) {
  return each ? runEach(session, specs, inputs) : runOnce(session, specs, inputs);
}

}  // namespace kiln::runtime
