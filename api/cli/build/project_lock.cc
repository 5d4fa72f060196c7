#include "api/cli/build/project_lock.h"

#include "api/cli/base/print.h"
#include "api/cli/build/project_file.h"
#include "manifest/base/digest.h"
#include "manifest/base/durable_file.h"
#include "manifest/base/file.h"
#include "manifest/base/printable.h"
#include "manifest/json/json.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kMaxLockBytes = 1 << 20;

Error wrong(const std::string& what) {
  return {Code::kInvalidArgument, what, {}};
}

Status readTexts(const Json& model, const char* member, std::map<std::string, std::string>& out) {
  const auto found = model.find(member);
  if (found == model.end() || !found->is_object())
    return fail(wrong(std::string(member) + ": must be an object"));
  for (const auto& [name, value] : found->items()) {
    if (!value.is_string()) return fail(wrong(std::string(member) + ": must hold texts"));
    out[name] = value.get<std::string>();
  }
  return {};
}

Result<LockedModel> readModel(const Json& model) {
  if (!model.is_object() || model.size() != 4)
    return fail(wrong("must have inputs, options, toolchain and artifacts"));
  LockedModel out;
  KILN_TRY(readTexts(model, "inputs", out.inputs));
  KILN_TRY(readTexts(model, "artifacts", out.artifacts));
  for (const auto& [member, to] :
       {std::pair("options", &out.options), std::pair("toolchain", &out.toolchain)}) {
    const auto found = model.find(member);
    if (found == model.end() || !found->is_string())
      return fail(wrong(std::string(member) + ": must be a text"));
    *to = found->get<std::string>();
    KILN_TRY(Digest::parse(*to, 0).map_error([&](const Error& error) { return error.in(member); }));
  }
  return out;
}

Result<ProjectLock> read(const std::string& text) {
  KILN_ASSIGN(const Json document, parseStrictJson(text, {.bytes = kMaxLockBytes, .depth = 8}));
  if (!document.is_object() || document.size() != 2 || document.value("version", Json()) != 1 ||
      !document.contains("models") || !document.at("models").is_object())
    return fail(wrong("must be {\"version\":1,\"models\":{…}}; remove it, and kiln build writes it anew"));
  ProjectLock out;
  for (const auto& [name, model] : document.at("models").items()) {
    auto read = readModel(model);
    if (!read) return fail(std::move(read).error().in(inQuotes(name)));
    out[name] = std::move(*read);
  }
  return out;
}

Json toJson(const LockedModel& model) {
  return {{"inputs", Json(model.inputs)},
          {"options", model.options},
          {"toolchain", model.toolchain},
          {"artifacts", Json(model.artifacts)}};
}

// Digests as people compare them.
std::string changed(const std::string& before, const std::string& now) {
  const auto brief = [](const std::string& value) {
    return value.starts_with("sha256:") ? shortDigest(value) : printable(value);
  };
  return brief(before) + " to " + brief(now);
}

std::vector<std::string> different(const std::map<std::string, std::string>& before,
                                   const std::map<std::string, std::string>& now, const std::string& prefix) {
  std::vector<std::string> out;
  for (const auto& [name, value] : now) {
    const auto at = before.find(name);
    if (at != before.end() && at->second == value) continue;
    out.push_back(prefix + printable(name) + ": " +
                  (at == before.end() ? "new" : changed(at->second, value)));
  }
  for (const auto& [name, value] : before)
    if (!now.contains(name)) out.push_back(prefix + printable(name) + ": gone");
  return out;
}

}  // namespace

Result<ProjectLock> readLockFile(const std::string& path) {
  const auto text = readRegular(path, kMaxLockBytes);
  if (!text && text.error().code == Code::kNotFound) return ProjectLock();
  if (!text) return fail(text.error());
  auto lock = read(*text);
  if (!lock) return fail(std::move(lock).error().in(kProjectLock));
  return lock;
}

Status writeLockFile(const std::string& path, const ProjectLock& lock) {
  Json models = Json::object();
  for (const auto& [name, model] : lock) models[name] = toJson(model);
  // One member a line, names in their order.
  const std::string text = Json{{"version", 1}, {"models", std::move(models)}}.dump(2) + "\n";
  if (const auto there = readRegular(path, kMaxLockBytes); there && *there == text) return {};
  return replaceFile(path, text);
}

LockedModel lockedInputs(const v1::SubmitJobRequest& request) {
  LockedModel out;
  for (const v1::Source& source : request.sources()) {
    const v1::GitSource& git = source.git();
    out.inputs[source.path()] = source.has_blob()
                                    ? "sha256:" + source.blob().hash()
                                    : "git+" + git.url() + "@" + git.commit() + "#" + git.path();
  }
  out.options = digestOf(request.spec_json()).text();
  return out;
}

LockedModel lockedJob(const v1::SubmitJobRequest& request, const v1::Job& job) {
  LockedModel out = lockedInputs(request);
  out.toolchain = "sha256:" + job.toolchain_digest().hash();
  for (const v1::JobArtifact& artifact : job.artifacts())
    out.artifacts[artifact.target()] = artifact.digest();
  return out;
}

std::vector<std::string> changedInputs(const LockedModel& before, const LockedModel& now) {
  std::vector<std::string> out = different(before.inputs, now.inputs, "input ");
  if (before.options != now.options) out.emplace_back("options");
  return out;
}

std::vector<std::string> changedArtifacts(const LockedModel& before, const LockedModel& now) {
  return different(before.artifacts, now.artifacts, "");
}

std::string changedToolchain(const std::string& before, const std::string& now) {
  return before == now ? "" : "toolchain: " + changed(before, now);
}

}  // namespace kiln::cli
