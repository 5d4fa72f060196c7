#include "manifest/statement/sandbox_policy.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "manifest/json/reader.h"

namespace kiln {
namespace {

constexpr char kOwnKind[] = "SandboxPolicy", kClusterKind[] = "ClusterSandbox";
constexpr std::int64_t kMaxId = std::numeric_limits<std::uint32_t>::max();

constexpr const char* kLimits[] = {"memoryBytes", "addressSpaceBytes", "stackBytes",  "processes",
                                   "openFiles",   "cpuSeconds",        "wallSeconds", "fileBytes",
                                   "outputBytes", "outputFiles",       "outputDepth", "outputPathBytes",
                                   "logBytes"};

Status checkNamespaces(ObjectReader& reader) {
  static const std::vector<std::string> all{"cgroup", "ipc", "mount", "net", "pid", "user", "uts"};
  KILN_ASSIGN(const auto stated, reader.strings("namespaces"));
  if (!std::ranges::includes(stated, all))
    return badMember(reader.path("namespaces"), "must name cgroup, ipc, mount, net, pid, user and uts");
  return {};
}

Status checkSorted(ObjectReader& reader, const char* name) {
  KILN_ASSIGN(const auto list, reader.strings(name));
  if (std::ranges::adjacent_find(list, std::ranges::greater_equal()) != list.end())
    return badMember(reader.path(name), "must be sorted, each once");
  return {};
}

Result<bool> optionalFlag(ObjectReader& reader, const char* name) {
  if (!reader.has(name)) return false;
  return reader.boolean(name);
}

Result<StatedPolicy> readClusterSandbox(ObjectReader reader) {
  KILN_TRY(reader.expect("name", ClusterSandbox::kName));
  KILN_ASSIGN(const std::string address, reader.string("address"));
  if (address.empty()) return badMember("address", "must not be empty");
  KILN_TRY(reader.string("instance"));
  KILN_ASSIGN(const Json* platform, reader.any("platform"));
  if (!platform->is_object()) return badMember("platform", "must be an object");
  for (const auto& [name, value] : platform->items())
    if (name.empty() || !value.is_string()) return badMember("platform", "must give each name a text");
  KILN_TRY(reader.finish());
  StatedPolicy policy;
  policy.name = ClusterSandbox::kName;
  policy.own = false;
  return policy;
}

}  // namespace

Json ClusterSandbox::toJson() const {
  return {{"apiVersion", "kiln/v1"}, {"kind", kClusterKind}, {"name", kName},
          {"address", address},      {"instance", instance}, {"platform", platform}};
}

Result<StatedPolicy> readSandboxPolicy(std::string_view text) {
  KILN_ASSIGN(const Json json, parseCanonicalJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_ASSIGN(const std::string kind, reader.string("kind"));
  if (kind == kClusterKind) return readClusterSandbox(std::move(reader));
  if (kind != kOwnKind) return badMember("kind", "must be \"SandboxPolicy\" or \"ClusterSandbox\"");
  StatedPolicy policy;
  KILN_ASSIGN(policy.name, reader.string("name"));
  if (policy.name.empty()) return badMember("name", "must not be empty");
  KILN_ASSIGN(policy.network, reader.boolean("network"));
  KILN_TRY(checkNamespaces(reader));
  for (const char* id : {"uid", "gid"}) KILN_TRY(reader.integer(id, 1, kMaxId));
  KILN_TRY(reader.string("hostName"));
  KILN_TRY(reader.boolean("randomizeAddresses"));
  KILN_TRY(checkSorted(reader, "devices"));
  KILN_TRY(checkSorted(reader, "calls"));
  KILN_ASSIGN(ObjectReader limits, reader.object("limits"));
  for (const char* limit : kLimits) KILN_TRY(limits.unsigned64(limit));
  if (limits.has("tmpBytes")) {
    KILN_ASSIGN(const auto bytes, limits.unsigned64("tmpBytes"));
    policy.tmp = bytes != 0;
  }
  KILN_ASSIGN(policy.proc, optionalFlag(reader, "proc"));
  KILN_ASSIGN(policy.gpu, optionalFlag(reader, "gpu"));
  return policy;
}

Result<std::string> foreignSandbox(std::string_view text) {
  KILN_ASSIGN(const Json json, parseCanonicalJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  KILN_ASSIGN(const std::string kind, reader.string("kind"));
  const auto policy = readSandboxPolicy(text);
  if (policy) return policy->own ? std::string() : policy->name;
  if (kind == kOwnKind) return std::string(kUnknownSandbox);
  return fail(policy.error());
}

}  // namespace kiln
