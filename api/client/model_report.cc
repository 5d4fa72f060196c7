#include "api/client/model_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "api/client/shell_word.h"
#include "compiler_core/frontend/folder/model_folder.h"
#include "compiler_core/frontend/format/format.h"
#include "manifest/base/printable.h"
#include "manifest/spec/dim_option.h"

namespace kiln::client {
namespace {

std::string tensorText(const onnx::ValueInfo& value) {
  std::string text = printable(value.name) + " ";
  for (const onnx::Container container : value.containers)
    text += container == onnx::Container::kSequence ? "sequence of " : "optional ";
  if (!value.isTensor && value.containers.empty()) return text + "(no tensor)";
  text += onnx::elementTypeName(value.type);
  if (!value.shape) return text + " of unknown rank";
  std::vector<std::string> dims;
  for (std::size_t i = 0; i < value.shape->size(); ++i) {
    const onnx::DeclaredDim& dim = (*value.shape)[i];
    dims.push_back(dim.value          ? std::to_string(*dim.value)
                   : dim.name.empty() ? fmt::format("{}.{}", printable(value.name), i)
                                      : printable(dim.name));
  }
  return text + fmt::format("[{}]", fmt::join(dims, ","));
}

void countOperators(const onnx::Graph& graph, ModelReport& report) {
  for (const onnx::Node& node : graph.nodes) {
    ++report.nodes;
    const bool isOnnx = node.domain.empty() || node.domain == "ai.onnx";
    ++report.operators[(isOnnx ? "" : printable(node.domain) + ":") + printable(node.op)];
    for (const onnx::Attribute& attribute : node.attributes)
      for (const onnx::Graph& body : attribute.graphs) countOperators(body, report);
  }
}

// A size to begin with: images have three channels and some 224 pixels each way, all else begins with one.
std::int64_t exampleSize(const onnx::OpenDimension& dim, std::size_t rank) {
  if (rank != 4 || dim.index == 0) return 1;
  return dim.index == 1 ? 3 : 224;
}

std::string commandLineOf(const ModelReport& report, const onnx::Model& model,
                          const std::vector<std::string>& data, const std::vector<std::string>& targets) {
  std::string line = "kiln build " + shellPath(report.path);
  const auto add = [&](std::string_view option, std::string_view value) {
    line += " " + shellOption(option, value);
  };
  for (const std::string& file : data) add("--data", file);
  for (const std::string& target : targets) add("--target", target);
  std::map<std::string_view, std::size_t> ranks;
  for (const onnx::ValueInfo& input : model.graph.inputs)
    if (input.shape) ranks.emplace(input.name, input.shape->size());
  for (const onnx::OpenDimension& dim : report.requirements.dimensions)
    add("--profile", fmt::format("{}={}", dimOption(dim.name), exampleSize(dim, ranks.at(dim.input))));
  for (const onnx::DecidingInput& pin : report.requirements.pins) {
    const std::vector<std::int64_t> values(std::max<std::size_t>(pin.elements, 1), pin.example);
    add("--pin", fmt::format("{}={}", pin.name, fmt::join(values, ",")));
  }
  for (const std::string& sequence : report.requirements.sequences) add("--sequence", sequence + "=1");
  return line;
}

}  // namespace

Json ModelReport::toJson() const {
  Json json{{"path", path},
            {"format", "onnx"},
            {"producer", producer},
            {"producerVersion", producerVersion},
            {"irVersion", irVersion},
            {"bytes", std::to_string(bytes)},
            {"opsets", opsets},
            {"inputs", inputs},
            {"outputs", outputs},
            {"operators", operators},
            {"nodes", nodes},
            {"functions", functions},
            {"commandLine", commandLine}};
  for (const char* list : {"files", "dimensions", "pins", "sequences", "unserved"})
    json[list] = Json::array();
  for (const ModelFileOnDisk& file : files)
    json["files"].push_back({{"name", file.name}, {"path", file.path}});
  for (const onnx::OpenDimension& dim : requirements.dimensions)
    json["dimensions"].push_back({{"name", dim.name}, {"input", dim.input}, {"index", dim.index}});
  for (const onnx::DecidingInput& pin : requirements.pins)
    json["pins"].push_back(
        {{"input", pin.name}, {"elements", pin.elements}, {"node", pin.node}, {"certain", pin.certain}});
  for (const std::string& sequence : requirements.sequences) json["sequences"].push_back(sequence);
  for (const onnx::UnservedNode& node : requirements.unserved)
    json["unserved"].push_back({{"node", node.node}, {"op", node.op}, {"reason", node.reason}});
  return json;
}

Result<ModelReport> inspectModel(const std::string& given, const std::vector<std::string>& data,
                                 const std::vector<std::string>& targets) {
  if (given.starts_with("git+"))
    return fail(Code::kInvalidArgument,
                printable(given) +
                    ": inspect reads files of this machine; get this one first, with git clone and git "
                    "checkout or with git show COMMIT:PATH > FILE, and give its path");
  ModelReport report;
  KILN_ASSIGN(const frontend::FolderModel found, frontend::modelAt(given));
  const std::string& path = report.path = found.model;
  KILN_ASSIGN(report.files, findModelFiles(path, data));
  for (const ModelFileOnDisk& file : report.files) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file.path, error);
    if (!error) report.bytes += size;
  }
  KILN_ASSIGN(const auto file, MappedFile::open(path));
  if (const auto format = frontend::formatOf(file->bytes()); format != frontend::Format::kOther)
    return fail(Code::kUnimplemented,
                fmt::format("{}: {}, and inspect shows ONNX models; kiln-cc explain shows this one, and kiln "
                            "build takes it as it is",
                            printable(path), frontend::formatName(format)));
  KILN_ASSIGN(const onnx::Model model, readModel(file->bytes(), path, externalSizes(report.files)));
  report.producer = printable(model.producer);
  report.producerVersion = printable(model.producerVersion);
  report.irVersion = model.irVersion;
  for (const auto& [domain, version] : model.opsets)
    report.opsets[domain.empty() ? "ai.onnx" : printable(domain)] = version;
  std::set<std::string_view> constants;
  for (const onnx::Tensor& tensor : model.graph.initializers) constants.insert(tensor.name);
  for (const onnx::ValueInfo& input : model.graph.inputs)
    if (!constants.contains(input.name)) report.inputs.push_back(tensorText(input));
  for (const onnx::ValueInfo& output : model.graph.outputs) report.outputs.push_back(tensorText(output));
  countOperators(model.graph, report);
  for (const onnx::Function& function : model.functions) countOperators(function.graph, report);
  report.functions = model.functions.size();
  report.requirements = onnx::requirementsOf(model);
  report.commandLine = commandLineOf(report, model, data, targets);
  return report;
}

}  // namespace kiln::client
