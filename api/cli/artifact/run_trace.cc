#include "api/cli/artifact/run_trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "api/cli/view/json_text.h"
#include "manifest/base/output_directory.h"

namespace kiln::cli {
namespace {

constexpr int kProcess = 1;
constexpr std::size_t kMostBytes = 1024;  // of one detail
constexpr std::size_t kMostNodes = 8;

double microseconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-3;
}

// Of all that a session uses one queue, which comes after the threads.
int threadOf(const kiln_span& span) {
  return span.thread == KILN_ON_DEVICE ? 1024 : span.thread;
}

Json nameOf(const char* what, int thread, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", kProcess}, {"tid", thread}, {"args", {{"name", name}}}};
}

std::string threadName(int thread, bool isDevice) {
  if (isDevice) return "device";
  return thread == 0 ? "thread 0 (caller)" : fmt::format("thread {}", thread);
}

// What the manifest says of each kernel, by symbol. Its stages are free in form: what is not there or too
// long is left out.
std::map<std::string, Json, std::less<>> detailsOf(const Manifest& manifest) {
  std::map<std::string, Json, std::less<>> details;
  const auto schedule = manifest.stages.find("schedule");
  if (schedule == manifest.stages.end()) return details;
  for (const Json& kernel : listOf(*schedule, "kernels")) {
    Json said = Json::object();
    if (const std::string nodes = firstOf(kernel, "nodes", kMostNodes);
        !nodes.empty() && nodes.size() <= kMostBytes)
      said["nodes"] = nodes;
    for (const char* const name : {"rule", "loops", "schedule", "signature", "target"}) {
      const std::string text = textOf(kernel, name);
      if (!text.empty() && text.size() <= kMostBytes) said[name] = kernel.at(name);
    }
    details.emplace(textOf(kernel, "symbol"), std::move(said));
  }
  return details;
}

Json shapesOf(const std::vector<runtime::NamedTensor>& inputs) {
  Json shapes = Json::object();
  for (const auto& input : inputs)
    shapes[input.name] = {{"dtype", dtypeName(input.tensor.dtype)}, {"shape", input.tensor.shape}};
  return shapes;
}

Json traceJson(const runtime::Session::Spans& spans, const Manifest& manifest,
               const std::vector<runtime::NamedTensor>& inputs, const std::string& artifact) {
  const auto details = detailsOf(manifest);
  std::map<int, bool> threads;  // and whether it is a device's
  Json events = Json::array();
  events.push_back(nameOf("process_name", 0, "kiln run " + manifest.spec.target));
  for (const kiln_span& span : spans.kept) {
    const int thread = threadOf(span);
    threads.emplace(thread, span.thread == KILN_ON_DEVICE);
    Json said = {{"run", span.run}};
    if (span.symbol != nullptr) {
      said["tasks"] = span.tasks;
      if (const auto found = details.find(std::string_view(span.symbol)); found != details.end())
        said.update(found->second);
    }
    events.push_back({{"ph", "X"},
                      {"name", span.symbol != nullptr ? span.symbol : "run"},
                      {"cat", span.symbol != nullptr ? "kernel" : "run"},
                      {"pid", kProcess},
                      {"tid", thread},
                      {"ts", microseconds(span.start_nanoseconds)},
                      {"dur", microseconds(span.nanoseconds)},
                      {"args", std::move(said)}});
  }
  for (const auto& [thread, isDevice] : threads)
    events.push_back(nameOf("thread_name", thread, threadName(thread, isDevice)));
  return {{"displayTimeUnit", "ns"},
          {"otherData",
           {{"artifact", artifact},
            {"target", manifest.spec.target},
            {"inputs", shapesOf(inputs)},
            {"spansLeftOut", spans.left}}},
          {"traceEvents", std::move(events)}};
}

}  // namespace

Status writeTrace(const std::string& path, const runtime::Session& session,
                  const node::VerifiedArtifact& verified, const std::vector<runtime::NamedTensor>& inputs) {
  const std::filesystem::path file(path);
  if (!file.has_filename()) return fail(Code::kInvalidArgument, "--trace " + path + ": give a file");
  const Json trace =
      traceJson(session.spans(), verified.manifest(), inputs, verified.verdict.artifact.text());
  // Names are the model's: what is no UTF-8 in them is replaced.
  const std::string text = trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  KILN_ASSIGN(const auto folder,
              OutputDirectory::open(file.has_parent_path() ? file.parent_path().string() : "."));
  return folder.write(file.filename().string(), asBytes(text));
}

}  // namespace kiln::cli
