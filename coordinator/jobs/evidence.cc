#include "coordinator/jobs/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "manifest/json/json.h"
#include "manifest/spec/path.h"

namespace kiln::jobs {
namespace {

constexpr int kMaxOutputs = 20000;
constexpr std::size_t kMaxNamed = 10;
constexpr std::string_view kPrefix = "output/";

// A file that is also the directory of another: no tree can hold both. `files` is sorted by path.
Status checkNesting(const std::vector<OutputFile>& files) {
  std::set<std::string_view> paths;
  for (const OutputFile& file : files) {
    std::string_view path = file.path;
    for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
      if (paths.contains(path.substr(0, slash)))
        return fail(Code::kInvalidArgument, "output file \"" + file.path + "\" is below another output file");
    paths.insert(path);
  }
  return {};
}

struct Difference {
  std::string path, first, second;  // digests, "" where missing
};

std::vector<Difference> differences(const index::ResultRecord& first, const index::ResultRecord& second) {
  std::map<std::string, Difference> byPath;
  auto add = [&](const index::ResultRecord& record, std::string Difference::* member) {
    auto outputs = readOutputs(record);
    if (!outputs) return;
    for (const OutputFile& file : outputs->files) {
      Difference& entry = byPath[file.path];
      entry.path = file.path;
      entry.*member = file.digest.text();
    }
  };
  add(first, &Difference::first);
  add(second, &Difference::second);
  std::vector<Difference> out;
  for (auto& [path, entry] : byPath)
    if (entry.first != entry.second) out.push_back(std::move(entry));
  return out;
}

std::string shown(const std::string& digest) {
  return digest.empty() ? "missing" : digest.substr(0, sizeof("sha256:") - 1 + 12);
}

}  // namespace

const OutputFile* Outputs::find(std::string_view path) const {
  auto found =
      std::lower_bound(files.begin(), files.end(), path,
                       [](const OutputFile& file, std::string_view name) { return file.path < name; });
  return found != files.end() && found->path == path ? &*found : nullptr;
}

std::vector<std::string> pathsOf(const Outputs& outputs) {
  std::vector<std::string> paths;
  for (const OutputFile& file : outputs.files) paths.push_back(file.path);
  return paths;
}

Result<Outputs> readOutputs(const reapi::ActionResult& result) {
  // The rest of REAPI's results is for foreign actions (executed_outputs.h).
  const bool more = result.output_directories_size() + result.output_symlinks_size() +
                        result.output_file_symlinks_size() + result.output_directory_symlinks_size() >
                    0;
  if (more || result.GetReflection()->GetUnknownFields(result).field_count() > 0)
    return fail(Code::kInvalidArgument, "the result holds more than regular files, exit code and log");
  if (result.output_files_size() > kMaxOutputs)
    return fail(Code::kInvalidArgument, fmt::format("the result holds more than {} files", kMaxOutputs));
  Outputs outputs;
  for (const auto& file : result.output_files()) {
    std::string_view path = file.path();
    if (!file.contents().empty() || file.has_node_properties())
      return fail(Code::kInvalidArgument, "an output file holds more than path, digest and mode");
    if (!path.starts_with(kPrefix))
      return fail(Code::kInvalidArgument, "an output file is not below output/");
    path.remove_prefix(kPrefix.size());
    KILN_TRY(checkRelativePath(path));
    KILN_ASSIGN(Digest digest, fromProto(file.digest()));
    outputs.files.push_back({std::string(path), digest});
  }
  std::sort(outputs.files.begin(), outputs.files.end(),
            [](const OutputFile& a, const OutputFile& b) { return a.path < b.path; });
  for (std::size_t i = 1; i < outputs.files.size(); ++i)
    if (outputs.files[i].path == outputs.files[i - 1].path)
      return fail(Code::kInvalidArgument, "output file \"" + outputs.files[i].path + "\" is reported twice");
  KILN_TRY(checkNesting(outputs.files));
  return outputs;
}

Result<Outputs> readOutputs(const index::ResultRecord& record) {
  reapi::ActionResult result;
  if (!result.ParseFromString(record.result))
    return fail(Code::kDataLoss, "a stored action result does not parse");
  return readOutputs(result);
}

Digest outputsDigest(const Outputs& outputs) {
  std::string listing;
  for (const OutputFile& file : outputs.files)
    listing += fmt::format("{} {} {}\n", file.digest.hex(), file.digest.size, file.path);
  return digestOf(listing);
}

std::string describeDifferences(const index::ResultRecord& first, const index::ResultRecord& second) {
  if (first.exitCode != second.exitCode)
    return fmt::format("the tool ended with {} (worker {}) and with {} (worker {})", first.exitCode,
                       first.worker, second.exitCode, second.worker);
  std::string text;
  std::vector<Difference> all = differences(first, second);
  for (std::size_t i = 0; i < all.size() && i < kMaxNamed; ++i)
    text += fmt::format("{}{}: {} ({}), {} ({})", i ? "; " : "", all[i].path, shown(all[i].first),
                        first.worker, shown(all[i].second), second.worker);
  if (all.size() > kMaxNamed) text += fmt::format("; and {} more", all.size() - kMaxNamed);
  return text;
}

std::string differencesJson(const index::ResultRecord& first, const index::ResultRecord& second) {
  Json list = Json::array();
  for (const Difference& entry : differences(first, second))
    list.push_back({{"path", entry.path}, {"first", entry.first}, {"second", entry.second}});
  return Json{{"differences", std::move(list)}, {"workers", {first.worker, second.worker}}}.dump();
}

std::vector<AgreementGroup> agreementGroups(const std::vector<index::ResultRecord>& builders) {
  std::vector<AgreementGroup> groups;
  for (const index::ResultRecord& result : builders) {
    auto same = std::find_if(groups.begin(), groups.end(), [&](const AgreementGroup& group) {
      return group.front().exitCode == result.exitCode && group.front().outputs == result.outputs;
    });
    if (same == groups.end()) same = groups.emplace(groups.end());
    same->push_back(result);
  }
  auto largest =
      std::max_element(groups.begin(), groups.end(),
                       [](const AgreementGroup& a, const AgreementGroup& b) { return a.size() < b.size(); });
  if (largest != groups.end()) std::rotate(groups.begin(), largest, largest + 1);
  return groups;
}

std::string builderOf(const index::ResultRecord& result) {
  return result.operatorName + "/" + result.worker;
}

std::vector<index::ResultRecord> distinctBuilders(const std::vector<index::ResultRecord>& results) {
  std::vector<index::ResultRecord> out;
  std::set<std::string> seen;
  for (const index::ResultRecord& result : results)
    if (seen.insert(builderOf(result)).second) out.push_back(result);
  return out;
}

std::size_t distinctOperators(const std::vector<index::ResultRecord>& results) {
  std::set<std::string> seen;
  for (const index::ResultRecord& result : results) seen.insert(result.operatorName);
  return seen.size();
}

}  // namespace kiln::jobs
