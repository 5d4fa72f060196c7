#include "storage/source/fetched_model.h"

#include <algorithm>
#include <string_view>

#include "manifest/base/printable.h"
#include "manifest/spec/compile_spec.h"
#include "manifest/spec/model_name.h"

namespace kiln::source {
namespace {

std::string lastOf(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string directoryOf(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

tl::unexpected<Error> unexpected(const std::string& what) {
  return fail(Code::kDataLoss, "the fetcher's result " + what);
}

// The action's own files have these names.
Status checkDataName(const std::string& name) {
  if (!isModelFileName(name) && name != "spec.json") return {};
  return unexpected("has external data that is called " + inQuotes(name));
}

Result<FetchedModel> fetchedFolder(const std::string& asked, const std::vector<std::string>& outputs) {
  FetchedModel out;
  out.isFolder = true;
  const std::string home = asked == kWholeCommit ? "" : asked + "/";
  const auto below = [](const std::string& output, std::string_view role) {
    return output.starts_with(role) ? output.substr(role.size()) : std::string();
  };
  for (const std::string& output : outputs) {
    const std::string inFolder = below(output, kFetchedModel);
    if (inFolder.empty()) continue;
    if (!out.model.output.empty())
      return unexpected("has two models, " + inQuotes(out.model.output) + " and " + inQuotes(output));
    out.model = {output, modelFileName(inFolder), home + inFolder};
  }
  if (out.model.output.empty()) return unexpected("lacks " + inQuotes(lastOf(asked)));
  for (const std::string& output : outputs) {
    if (output == out.model.output) continue;
    if (const std::string name = below(output, kFetchedData); !name.empty()) {
      KILN_TRY(checkDataName(name));
      out.data.push_back({output, name, directoryOf(out.model.path) + name});
    } else if (const std::string weights = below(output, kFetchedWeights); !weights.empty()) {
      out.weights.push_back({output, parameterPath(out.weights.size()), home + weights});
    } else {
      return unexpected("has " + inQuotes(output) + ", which no model needs");
    }
  }
  if (!out.weights.empty() && !out.data.empty())
    return unexpected("has external data and weights, of which a model has one kind");
  return out;
}

}  // namespace

Result<FetchedModel> fetchedModel(const std::string& asked, const std::vector<std::string>& outputs) {
  const std::string name = lastOf(asked);
  if (!std::ranges::binary_search(outputs, name)) return fetchedFolder(asked, outputs);
  FetchedModel out;
  out.model = {name, modelFileName(name), asked};
  for (const std::string& output : outputs) {
    if (output == name) continue;
    KILN_TRY(checkDataName(output));
    out.data.push_back({output, output, directoryOf(asked) + output});
  }
  return out;
}

}  // namespace kiln::source
