#include "api/cli/view/stage_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "api/cli/base/print.h"
#include "api/cli/base/text_table.h"
#include "api/cli/view/device_view.h"
#include "api/cli/view/json_text.h"
#include "api/cli/view/partition_view.h"
#include "api/cli/view/tuning_view.h"
#include "manifest/base/counted.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kWidth = 88;    // of text within a stage
constexpr std::size_t kKernels = 24;  // in the table of kernels
constexpr std::size_t kChartLines = 4;

using Lines = std::vector<std::string>;

void add(Lines& lines, std::string_view name, const std::string& text) {
  lines.push_back(fmt::format("{:<10} {}", name, text));
}

void addWrapped(Lines& lines, std::string_view name, const std::vector<std::string>& items) {
  for (const std::string& line : wrapped(items, kWidth)) {
    add(lines, name, line);
    name = "";
  }
}

void addTable(Lines& lines, const std::vector<std::vector<std::string>>& rows,
              const std::vector<std::size_t>& right) {
  for (const std::string& line : tableLines(rows, right)) lines.push_back(line);
}

// "Conv 3" for each entry of a list of {name, <value>}.
std::vector<std::string> pairsOf(const Json& facts, const char* list, const char* value) {
  std::vector<std::string> items;
  for (const Json& entry : listOf(facts, list))
    items.push_back(textOf(entry, "name") + " " + textOf(entry, value));
  return items;
}

std::vector<std::string> textsOf(const Json& list) {
  std::vector<std::string> items;
  for (const Json& item : list) items.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  return items;
}

// Facts besides those `known`: numbers and texts as they are, lists and objects by their size.
void addRest(Lines& lines, const Json& facts, const std::set<std::string>& known) {
  if (!facts.is_object())
    return add(lines, "facts", facts.dump(-1, ' ', false, Json::error_handler_t::replace));
  for (const auto& [name, value] : facts.items()) {
    if (known.contains(name)) continue;
    add(lines, name,
        value.is_structured() ? counted(value.size(), "entry") + " (--json lists them)"
                              : textOf(facts, name.c_str()));
  }
}

// Passes that changed the number of nodes or operations; how many did not.
void addPasses(Lines& lines, const Json& facts) {
  const Json& passes = listOf(facts, "passes");
  if (passes.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"pass", "before", "after"}};
  for (const Json& pass : passes)
    if (textOf(pass, "before") != textOf(pass, "after"))
      rows.push_back({textOf(pass, "name"), textOf(pass, "before"), textOf(pass, "after")});
  const std::size_t same = passes.size() - (rows.size() - 1);
  if (rows.size() > 1) addTable(lines, rows, {1, 2});
  if (same > 0) lines.push_back(counted(same, "pass") + " left the number of operations as it was");
}

// As people write it.
std::string formatName(const std::string& format) {
  return format == "onnx" ? "ONNX" : format == "stablehlo" ? "StableHLO" : format;
}

Lines captureLines(const Json& facts) {
  Lines lines;
  const std::string version = textOf(facts, "irVersion"), made = textOf(facts, "producerVersion");
  const std::string producer = textOf(facts, "producer");
  add(lines, "model",
      fmt::format("{}{}{}{}", formatName(textOf(facts, "format")), producer.empty() ? "" : " of " + producer,
                  producer.empty() || made.empty() ? "" : " " + made,
                  // Formats without such a version state 0.
                  version.empty() || version == "0" ? "" : ", IR version " + version));
  addWrapped(lines, "opsets", pairsOf(facts, "opsets", "version"));
  add(lines, "nodes", fmt::format("{}, {} served", textOf(facts, "nodes"), textOf(facts, "served")));
  addWrapped(lines, "operators", pairsOf(facts, "nodesByOp", "count"));
  addWrapped(lines, "custom", textsOf(listOf(facts, "customOps")));
  for (const Json& node : listOf(facts, "unsupported"))
    add(lines, "not served",
        fmt::format("{} ({}): {}", textOf(node, "node"), textOf(node, "op"), textOf(node, "reason")));
  addRest(lines, facts,
          {"format", "producer", "producerVersion", "irVersion", "opsets", "nodes", "served", "nodesByOp",
           "customOps", "unsupported"});
  return lines;
}

Lines analyseLines(const Json& facts) {
  Lines lines;
  addWrapped(lines, "dimensions", pairsOf(facts, "dims", "value"));
  add(lines, "folded",
      textOf(facts, "foldedNodes") + " " + nounFor(textOf(facts, "foldedNodes"), "node") +
          ", whose results are constants");
  addRest(lines, facts, {"dims", "foldedNodes"});
  return lines;
}

Lines rewriteLines(const Json& facts) {
  Lines lines;
  addPasses(lines, facts);
  std::size_t nodes = 0;
  const Json& groups = listOf(facts, "fusionGroups");
  for (const Json& group : groups) nodes += listOf(group, "nodes").size();
  add(lines, "fused", counted(nodes, "node") + " in " + counted(groups.size(), "group"));
  addRest(lines, facts, {"passes", "fusionGroups"});
  return lines;
}

std::uint64_t movedBytes(const Json& kernel) {
  const bool isOnDevice = kernel.is_object() && kernel.contains("device");
  return countOf(isOnDevice ? kernel["device"] : kernel, "movedBytes");
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? ""
                    : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// The kernels that move most bytes first; of equal ones those with more code, then by name.
void addKernels(Lines& lines, const Json& facts) {
  const Json& kernels = listOf(facts, "kernels");
  if (kernels.empty()) return;
  std::uint64_t moved = 0, code = 0;
  std::vector<const Json*> order;
  for (const Json& kernel : kernels) {
    moved += movedBytes(kernel);
    code += countOf(kernel, "codeBytes");
    order.push_back(&kernel);
  }
  std::ranges::sort(order, std::greater(), [](const Json* kernel) {
    return std::tuple(movedBytes(*kernel), countOf(*kernel, "codeBytes"), textOf(*kernel, "symbol"));
  });
  std::vector<std::vector<std::string>> rows = {
      {"bytes", "code", "tasks", "rule", "schedule", "kernel", "nodes"}};
  for (std::size_t i = 0; i < order.size() && i < kKernels; ++i) {
    const Json& kernel = *order[i];
    rows.push_back({share(movedBytes(kernel), moved), share(countOf(kernel, "codeBytes"), code),
                    textOf(kernel, "tasks"), textOf(kernel, "rule"), scheduleText(kernel),
                    textOf(kernel, "symbol"), firstOf(kernel, "nodes", 3)});
  }
  lines.push_back(fmt::format("{} by {} share of bytes moved ({}) and of code ({})",
                              counted(kernels.size(), "kernel"), kernels.size() == 1 ? "its" : "their",
                              humanBytes(moved), humanBytes(code)));
  addTable(lines, rows, {0, 1, 2});
  if (order.size() <= kKernels) return;
  std::uint64_t rest = 0;
  for (std::size_t i = kKernels; i < order.size(); ++i) rest += movedBytes(*order[i]);
  lines.push_back(fmt::format("and {} more with {} of the bytes (--json lists all)",
                              counted(order.size() - kKernels, "kernel"), share(rest, moved)));
}

Lines scheduleLines(const Json& facts) {
  Lines lines;
  add(lines, "vectors",
      textOf(facts, "registerBits") + " bits, " + textOf(facts, "accumulators") + " accumulators");
  addPasses(lines, facts);
  addKernels(lines, facts);
  for (const std::string& line : deviceKernelLines(facts)) add(lines, "on device", line);
  addRest(lines, facts, {"registerBits", "accumulators", "passes", "kernels"});
  return lines;
}

Lines codegenLines(const Json& facts) {
  Lines lines;
  add(lines, "code",
      fmt::format("{} in {} {}; {} the program", humanBytes(countOf(facts, "codeBytes")),
                  textOf(facts, "kernels"), nounFor(textOf(facts, "kernels"), "kernel"),
                  humanBytes(countOf(facts, "programBytes"))));
  add(lines, "for", textOf(facts, "triple") + ", " + textOf(facts, "cpu"));
  addWrapped(lines, "features", textsOf(listOf(facts, "features")));
  for (const Json& warning : listOf(facts, "warnings"))
    add(lines, "warning", warning.is_string() ? warning.get<std::string>() : warning.dump());
  addRest(lines, facts, {"codeBytes", "kernels", "programBytes", "triple", "cpu", "features", "warnings"});
  return lines;
}

void addProfile(Lines& lines, const Json& plan) {
  add(lines, "profile", textOf(plan, "profile"));
  add(lines, "arena",
      fmt::format("{} for {} {}; {} alive at once, {} if none shared memory",
                  humanBytes(countOf(plan, "peakBytes")), textOf(plan, "buffers"),
                  nounFor(textOf(plan, "buffers"), "buffer"), humanBytes(countOf(plan, "lowerBoundBytes")),
                  humanBytes(countOf(plan, "unsharedBytes"))));
  add(lines, "besides",
      fmt::format("{} scratch per thread, {} inputs, {} outputs, {} weights",
                  humanBytes(countOf(plan, "scratchBytesPerSlot")), humanBytes(countOf(plan, "inputBytes")),
                  humanBytes(countOf(plan, "outputBytes")), humanBytes(countOf(plan, "weightBytes"))));
  for (const Json& region : listOf(plan, "regions"))
    add(lines, "region",
        fmt::format("{} of {}", humanBytes(countOf(region, "bytes")), textOf(region, "target")));
  std::vector<std::uint64_t> alive;
  for (const std::string& text : textsOf(listOf(plan, "aliveBytes")))
    alive.push_back(countOf({{"n", text}}, "n"));
  const Lines bars = barChart(alive, kChartLines);
  for (std::size_t i = 0; i < bars.size(); ++i)
    add(lines, i == 0 ? humanBytes(std::ranges::max(alive)) : "", "|" + bars[i]);
  if (!bars.empty()) add(lines, "", "memory alive from the first kernel to the last");
  addRest(lines, plan,
          {"profile", "peakBytes", "buffers", "lowerBoundBytes", "unsharedBytes", "reuseRatio",
           "scratchBytesPerSlot", "inputBytes", "outputBytes", "weightBytes", "regions", "aliveBytes"});
}

Lines planLines(const Json& facts) {
  Lines lines;
  for (const Json& plan : listOf(facts, "profiles")) addProfile(lines, plan);
  addRest(lines, facts, {"profiles"});
  return lines;
}

Lines anyLines(const Json& facts) {
  Lines lines;
  addRest(lines, facts, {});
  return lines;
}

struct Stage {
  const char* name;
  Lines (*lines)(const Json& facts);
};

constexpr std::array kPipeline = {Stage{"capture", captureLines},   Stage{"analyse", analyseLines},
                                  Stage{"rewrite", rewriteLines},   Stage{"partition", partitionLines},
                                  Stage{"schedule", scheduleLines}, Stage{"codegen", codegenLines},
                                  Stage{"plan", planLines},         Stage{"package", anyLines}};

}  // namespace

std::vector<std::string> stageLines(const Json& stages) {
  Lines lines;
  for (const Stage& stage : kPipeline) {
    if (!stages.is_object() || !stages.contains(stage.name)) continue;
    lines.emplace_back(stage.name);
    for (const std::string& line : stage.lines(stages[stage.name])) lines.push_back("  " + line);
  }
  return lines;
}

}  // namespace kiln::cli
