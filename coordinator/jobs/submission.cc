#include "coordinator/jobs/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "coordinator/jobs/git_url.h"
#include "manifest/base/printable.h"
#include "manifest/spec/model_name.h"
#include "manifest/spec/path.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"
#include "storage/tree/digest_proto.h"

namespace kiln::jobs {
namespace {

constexpr int kMaxSources = 4096;
constexpr int kMaxTargets = 32;
constexpr std::size_t kMaxKey = 128;
constexpr std::size_t kMaxUrl = 2048;
// Every look at a job reads them, and as JSON they take thirty times the memory.
constexpr std::size_t kMaxSpec = 256 << 10;
constexpr std::size_t kMaxDelivery = 1 << 20;

Status invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

tl::unexpected<Error> invalidSize(const char* member, std::size_t most) {
  return fail(Code::kInvalidArgument, fmt::format("{} has more than {} KiB", member, most >> 10));
}

bool isPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

Status checkKey(const std::string& key) {
  if (key.empty() || key.size() > kMaxKey || !isPrintable(key))
    return invalid(
        "idempotency_key must be 1 to 128 printable ASCII characters without spaces, which the caller makes "
        "up: the same key is the same job");
  return {};
}

Result<index::SourceRecord> readSource(const v1::Source& source, bool model) {
  index::SourceRecord record;
  record.path = model ? modelFileName(source.path()) : source.path();
  if (!model) {
    KILN_TRY(checkRelativePath(record.path));
    if (isModelFileName(record.path) || record.path == "spec.json")
      return fail(Code::kInvalidArgument, "external data may not be called \"" + record.path + "\"");
  }
  switch (source.from_case()) {
    case v1::Source::kBlob: {
      KILN_ASSIGN(record.blob, fromProto(source.blob()));
      break;
    }
    case v1::Source::kGit: {
      KILN_ASSIGN(record.git, readGitSource(source.git(), false));
      break;
    }
    default:
      return fail(Code::kInvalidArgument, "neither a blob nor a git source");
  }
  if (source.has_origin()) {
    if (record.git) return fail(Code::kInvalidArgument, "origin is for uploaded blobs only");
    KILN_ASSIGN(record.origin, readGitSource(source.origin(), true));
  }
  return record;
}

Status readSources(const v1::SubmitJobRequest& request, Submission& out) {
  if (request.sources().empty()) return invalid("sources is empty: the first source is the model");
  if (request.sources_size() > kMaxSources)
    return invalid(fmt::format("{} sources; at most {} are taken", request.sources_size(), kMaxSources));
  for (int i = 0; i < request.sources_size(); ++i) {
    auto record = readSource(request.sources(i), i == 0);
    if (!record)
      return fail(record.error().in(
          i == 0 ? std::string("the model (sources[0])")
                 : fmt::format("external data {} (sources[{}])", inQuotes(request.sources(i).path()), i)));
    out.sources.push_back(std::move(*record));
  }
  std::sort(out.sources.begin() + 1, out.sources.end(),
            [](const index::SourceRecord& a, const index::SourceRecord& b) { return a.path < b.path; });
  for (std::size_t i = 2; i < out.sources.size(); ++i)
    if (out.sources[i].path == out.sources[i - 1].path)
      return invalid("external data \"" + out.sources[i].path + "\" is given twice");
  const std::string& name = request.sources(0).path();
  out.modelName = printable(name.empty() && out.sources[0].git ? out.sources[0].git->path : name, 2048);
  if (out.modelName.size() > 1024)
    return invalid("the model's name (sources[0].path) has more than 1024 bytes");
  return {};
}

Status readTargets(const v1::SubmitJobRequest& request, Submission& out) {
  if (request.targets().empty()) return invalid("targets is empty: name at least one, such as cpu:x86-64-v3");
  if (request.targets_size() > kMaxTargets)
    return invalid(fmt::format("at most {} targets per job", kMaxTargets));
  std::set<std::string> seen;
  for (const std::string& name : request.targets()) {
    KILN_ASSIGN(Target target, parseTarget(name));
    if (!seen.insert(target.name).second) return invalid("target " + target.name + " is given twice");
    out.targets.push_back(target.name);
  }
  return {};
}

}  // namespace

Result<index::GitSource> readGitSource(const v1::GitSource& source, bool claimed) {
  const std::string& url = source.url();
  if (url.empty() || url.size() > kMaxUrl || !isPrintable(url))
    return fail(Code::kInvalidArgument,
                "a git URL must be 1 to 2048 printable ASCII characters; write others as %XX escapes");
  if (!claimed && !url.starts_with("https://") && !url.starts_with("ssh://"))
    return fail(Code::kInvalidArgument,
                "the farm fetches https:// and ssh:// only; a local repository is read by the client");
  if (!claimed) KILN_TRY(checkGitUrl(url));
  const std::string& commit = source.commit();
  if (commit.size() != 40 || commit.find_first_not_of("0123456789abcdef") != std::string::npos)
    return fail(
        Code::kInvalidArgument,
        "a git source is pinned by a commit id of 40 lowercase hex digits; a branch or tag name may move");
  // "." is the whole commit, whose model is looked for as in any folder.
  if (claimed || source.path() != ".") KILN_TRY(checkRelativePath(source.path()));
  return index::GitSource{url, commit, source.path()};
}

Result<CompileSpec> readSpec(const std::string& text) {
  CompileSpec spec;
  spec.profiles.push_back({"default", {}});
  if (text.empty()) return spec;
  KILN_ASSIGN(Json json, parseStrictJson(text));
  KILN_TRY(applySubmitted(json, spec));
  return spec;
}

Result<DeliverySpec> readDelivery(const std::string& text) {
  if (text.empty()) return DeliverySpec{};
  KILN_ASSIGN(Json json, parseStrictJson(text));
  return DeliverySpec::fromJson(json);
}

Result<Submission> readSubmission(const v1::SubmitJobRequest& request) {
  Submission out;
  out.instance = request.instance();
  out.idempotencyKey = request.idempotency_key();
  out.toolchain = request.toolchain();
  KILN_TRY(checkKey(out.idempotencyKey));
  KILN_TRY(readSources(request, out));
  KILN_TRY(readTargets(request, out));
  if (request.spec_json().size() > kMaxSpec) return invalidSize("spec_json", kMaxSpec);
  if (request.delivery_json().size() > kMaxDelivery) return invalidSize("delivery_json", kMaxDelivery);
  auto spec = readSpec(request.spec_json());
  if (!spec) return fail(spec.error().in("spec_json"));
  out.spec = std::move(*spec);
  for (const std::string& path : out.spec.parameters)
    if (std::none_of(out.sources.begin() + 1, out.sources.end(),
                     [&](const auto& source) { return source.path == path; }))
      return fail(Code::kInvalidArgument, "spec_json: parameters: no source is called " + inQuotes(path));
  auto delivery = readDelivery(request.delivery_json());
  if (!delivery) return fail(delivery.error().in("delivery_json"));
  out.delivery = *delivery;
  if (out.delivery.check && out.delivery.check->emulated && std::ranges::none_of(out.targets, wantsDevice))
    return fail(Code::kInvalidArgument,
                "delivery_json: a check on an emulated device is for targets that run on a device (cuda:*)");
  if (out.delivery.rebuild && out.targets.size() != 1)
    return fail(Code::kInvalidArgument, "delivery_json: a rebuild has one target");
  KILN_ASSIGN(out.specText, toCanonicalJson(submittedToJson(out.spec)));
  KILN_ASSIGN(out.deliveryText, toCanonicalJson(out.delivery.toJson()));
  out.request = digestOf(request.SerializeAsString());
  return out;
}

Result<CompileSpec> compileSpec(const CompileSpec& submitted, const std::vector<index::SourceRecord>& sources,
                                const Digest& toolchainDigest, const index::TargetRecord& target) {
  CompileSpec spec = submitted;
  KILN_ASSIGN(Target parsed, parseTarget(target.target));
  spec.target = parsed.name;
  spec.features = parsed.features;
  spec.toolchainDigest = toolchainDigest;
  spec.tuning = target.tuning;
  spec.files.clear();
  for (const index::SourceRecord& source : sources) {
    if (!source.blob) return fail(Code::kInternal, "source \"" + source.path + "\" is not resolved yet");
    spec.files.push_back({source.path, *source.blob});
  }
  std::sort(spec.files.begin() + 1, spec.files.end(),
            [](const ModelFile& a, const ModelFile& b) { return a.path < b.path; });
  return spec;
}

}  // namespace kiln::jobs
