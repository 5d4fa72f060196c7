#include "tests/compiler_core/frontend/torch/archive_builder.h"

#include <gtest/gtest.h>

namespace kiln::testing_support {
namespace {

constexpr char kProgram[] = R"json({"graph_module":{"graph":{
"inputs":[{"as_tensor":{"name":"p_w"}},{"as_tensor":{"name":"x"}}],
"outputs":[{"as_tensor":{"name":"add"}}],
"nodes":[{"target":"torch.ops.aten.add.Tensor","inputs":[
  {"name":"self","arg":{"as_tensor":{"name":"x"}},"kind":1},
  {"name":"other","arg":{"as_tensor":{"name":"p_w"}},"kind":1}],
  "outputs":[{"as_tensor":{"name":"add"}}],"metadata":{"stack_trace":"of the author"},"name":"add"}],
"tensor_values":{
  "p_w":{"dtype":7,"sizes":[{"as_int":2}],"strides":[{"as_int":1}],"layout":7},
  "x":{"dtype":7,"sizes":[{"as_expr":{"expr_str":"Symbol('s0', positive=True, integer=True)"}},{"as_int":2}],"strides":[{"as_int":2},{"as_int":1}],"layout":7},
  "add":{"dtype":7,"sizes":[{"as_expr":{"expr_str":"Symbol('s0', positive=True, integer=True)"}},{"as_int":2}],"strides":[{"as_int":2},{"as_int":1}],"layout":7}},
"sym_int_values":{},"sym_bool_values":{},"is_single_tensor_return":false},
"signature":{"input_specs":[{"parameter":{"arg":{"name":"p_w"},"parameter_name":"layer.w"}},
  {"user_input":{"arg":{"as_tensor":{"name":"x"}}}}],
 "output_specs":[{"user_output":{"arg":{"as_tensor":{"name":"add"}}}}]},
"module_call_graph":[]},
"opset_version":{"aten":10},"range_constraints":{"s0":{"min_val":3,"max_val":64}},
"schema_version":{"major":8,"minor":20},"verifiers":["ATEN"],"torch_version":"2.15.0"})json";

constexpr char kWeights[] =
    R"json({"config":{"layer.w":{"path_name":"weight_0","is_param":true,"use_pickle":false,
"tensor_meta":{"dtype":7,"sizes":[{"as_int":2}],"strides":[{"as_int":1}],"storage_offset":{"as_int":0},"layout":7}}}})json";

}  // namespace

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TorchArchive::TorchArchive()
    : program(kProgram),
      weights(kWeights),
      constants(R"({"config":{}})"),
      weight0(std::string("\0\0\x20\x41\0\0\xa0\x41", 8)) {}

std::string TorchArchive::build() const {
  std::vector<ZipWritten> members = {{"m/data/weights/weight_0", weight0},
                                     {"m/data/weights/model_weights_config.json", weights},
                                     {"m/data/constants/model_constants_config.json", constants},
                                     {"m/models/model.json", program},
                                     {"m/data/sample_inputs/model.pt", "a pickle that nobody reads"},
                                     {"m/archive_format", "pt2"},
                                     {"m/byteorder", "little"}};
  members.insert(members.end(), more.begin(), more.end());
  return writeZip(members);
}

}  // namespace kiln::testing_support
