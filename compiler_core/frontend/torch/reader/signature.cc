#include "compiler_core/frontend/torch/reader/signature.h"

#include <array>

#include "compiler_core/frontend/torch/reader/graph.h"
#include "compiler_core/frontend/torch/reader/members.h"
#include "manifest/base/printable.h"

namespace kiln::torch {
namespace {

// The kind by the schema's tag, and the member that names what stands behind it.
template <class K>
struct Row {
  std::string_view tag;
  K kind;
  std::string_view target;
};
constexpr std::array<Row<InputSpec::Kind>, 5> kInputs = {
    {{"user_input", InputSpec::Kind::kUser, ""},
     {"parameter", InputSpec::Kind::kParameter, "parameter_name"},
     {"buffer", InputSpec::Kind::kBuffer, "buffer_name"},
     {"tensor_constant", InputSpec::Kind::kConstant, "tensor_constant_name"},
     {"constant_input", InputSpec::Kind::kConstantInput, "name"}}};
constexpr std::array<Row<OutputSpec::Kind>, 4> kOutputs = {
    {{"user_output", OutputSpec::Kind::kUser, ""},
     {"loss_output", OutputSpec::Kind::kUser, ""},
     {"buffer_mutation", OutputSpec::Kind::kBufferMutation, "buffer_name"},
     {"user_input_mutation", OutputSpec::Kind::kUserInputMutation, "user_input_name"}}};

template <class Spec, class Rows>
Result<Spec> readSpec(const Json& json, const Rows& rows) {
  KILN_ASSIGN(const Tagged tagged, asUnion(json));
  for (const auto& row : rows) {
    if (row.tag != tagged.tag) continue;
    Spec spec{row.kind, {}, {}};
    if (!row.target.empty()) {
      KILN_ASSIGN(spec.target, textOf(*tagged.value, row.target));
    }
    const Json* argument = find(*tagged.value, "arg");
    // Of users' values an Argument of the schema, of others the name of a tensor.
    if (row.target.empty() && argument && argument->is_object() && !argument->contains("name")) {
      KILN_ASSIGN(spec.argument, readArgument(*argument));
    } else if (argument) {
      const Json* name = find(*argument, "name");
      KILN_ASSIGN(std::string text, name ? asName(*name) : malformed("it names no tensor"));
      spec.argument = TensorName{std::move(text)};
    }
    return spec;
  }
  return Spec{Spec::Kind::kOther, {}, tagged.tag};
}

template <class Spec, class Rows>
Status readSpecs(const Json& list, const Rows& rows, std::string_view what, std::vector<Spec>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto spec = readSpec<Spec>(list[i], rows);
    if (!spec)
      return fail(spec.error().in(std::string(what) + " " + std::to_string(i) + " of the signature"));
    out.push_back(std::move(*spec));
  }
  return {};
}

Status readRanges(const Json& json, Program& program) {
  for (const auto& [name, value] : json.items()) {
    SymbolRange range;
    for (const auto& [member, bound] : {std::pair("min_val", &range.min), {"max_val", &range.max}}) {
      if (!find(value, member)) continue;
      auto number = integerOf(value, member);
      if (!number) return fail(number.error().in("range_constraints of " + inQuotes(name)));
      *bound = *number;
    }
    program.ranges.emplace(name, range);
  }
  return {};
}

Status checkCount(std::string_view what, std::size_t signature, std::size_t graph) {
  if (signature == graph) return {};
  return malformed("the signature has " + std::to_string(signature) + " " + std::string(what) +
                   ", the graph " + std::to_string(graph));
}

}  // namespace

Status readSignature(const Json& exported, Program& program) {
  KILN_ASSIGN(const Json* module, objectOf(exported, "graph_module"));
  KILN_ASSIGN(const Json* signature, objectOf(*module, "signature"));
  KILN_ASSIGN(const Json* inputs, arrayOf(*signature, "input_specs"));
  KILN_ASSIGN(const Json* outputs, arrayOf(*signature, "output_specs"));
  KILN_TRY(checkCount("inputs", inputs->size(), program.graph.inputs.size()));
  KILN_TRY(checkCount("outputs", outputs->size(), program.graph.outputs.size()));
  KILN_TRY(readSpecs(*inputs, kInputs, "input", program.inputs));
  KILN_TRY(readSpecs(*outputs, kOutputs, "output", program.outputs));
  if (const Json* ranges = find(exported, "range_constraints")) KILN_TRY(readRanges(*ranges, program));
  return {};
}

}  // namespace kiln::torch
