#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/cli/base/print.h"
#include "api/cli/build/build_options.h"
#include "api/cli/build/commands.h"
#include "api/client/model_report.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"
#include "manifest/spec/dim_option.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> data, targets;
};

void printReport(const client::ModelReport& report) {
  const auto line = [](std::string_view name, const std::string& text) {
    printLine(fmt::format("{:<10}{}", name, text));
  };
  line("model", fmt::format("{}: ONNX, IR version {}, {} in {}", report.path, report.irVersion,
                            humanBytes(report.bytes), counted(report.files.size(), "file")));
  if (!report.producer.empty())
    line("producer", report.producer + (report.producerVersion.empty() ? "" : " " + report.producerVersion));
  for (const auto& [domain, version] : report.opsets) line("opset", fmt::format("{} {}", domain, version));
  for (const std::string& input : report.inputs) line("input", input);
  for (const std::string& output : report.outputs) line("output", output);
  std::vector<std::string> operators;
  for (const auto& [name, count] : report.operators) operators.push_back(fmt::format("{} {}", count, name));
  line("nodes", fmt::format("{}: {}", report.nodes, fmt::join(operators, ", ")));
  for (const auto& dim : report.requirements.dimensions)
    line("needs", fmt::format("--profile {}=SIZE or =MIN:OPT:MAX, dimension {} of input {}",
                              printable(dimOption(dim.name)), dim.index, printable(dim.input)));
  for (const auto& pin : report.requirements.pins)
    line(
        pin.certain ? "needs" : "may need",
        fmt::format("--pin {}=VALUE{}, which decides node {}{}", printable(pin.name),
                    pin.elements == 1 ? "" : ",...", printable(pin.node),
                    pin.certain ? "" : "; leave it out where every branch can run and gives the same types"));
  for (const std::string& sequence : report.requirements.sequences)
    line("needs", fmt::format("--sequence {}=COUNT, =[DIM,...],... or =none", printable(sequence)));
  for (const auto& node : report.requirements.unserved)
    line("unserved", fmt::format("{} {}: {}", printable(node.op), printable(node.node), node.reason));
  printText("build     " + report.commandLine + "\n");  // printable, and every byte counts
}

Status run(const Context& context, const Options& options) {
  for (const std::string& target : options.targets) KILN_TRY(checkTarget(target));
  KILN_ASSIGN(const client::ModelReport report,
              client::inspectModel(options.model, options.data, options.targets));
  if (context.json)
    printJson(report.toJson());
  else
    printReport(report);
  if (report.requirements.unserved.empty()) return {};
  return fail(Code::kUnimplemented,
              fmt::format("{}: {} of its inputs, initializers and nodes cannot be served on any target",
                          options.model, report.requirements.unserved.size()));
}

}  // namespace

void addInspect(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  options->targets = {"cpu:x86-64-v3"};
  auto& command =
      addCommand(app, context, "inspect",
                 "Say what a model is and what its build will ask for; needs no farm. Sizes and pins in the "
                 "command line that it prints are examples. Exit 4 where operators are not served",
                 "kiln inspect model.onnx", [&context, options] { return run(context, *options); });
  command.add_option("MODEL", options->model, "A file of this machine, or a folder with one model")
      ->required();
  command
      .add_option("--data", options->data,
                  "[NAME=]FILE: external data beside what the model names in its own folder (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--target", options->targets, "Targets of the command line (repeatable)")
      ->allow_extra_args(false);
}

}  // namespace kiln::cli
