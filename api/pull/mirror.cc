#include "api/pull/mirror.h"

#include <algorithm>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci.h"
#include "manifest/artifact/oci_layout.h"
#include "manifest/base/printable.h"
#include "signing/follow/http_log.h"
#include "signing/recall/recalls.h"

namespace kiln::pull {
namespace {

// Bundles, fixtures, recalls, and some of others' that are passed over.
constexpr std::size_t kMaxReferrers = kMaxBundles + 64;
constexpr std::uint64_t kMaxReferrersBytes = 4 * kMaxOciManifestBytes;

Error unverified(std::string message) {
  return {Code::kDataLoss, std::move(message), R"({"exitCode":5})"};
}

// The mirror's own words, as api/gateway/error_json.h writes them; "" if there are none.
std::string messageOf(const std::string& body) {
  const auto json = parseJson(body);
  if (!json || !json->is_object() || !json->contains("errors")) return {};
  const Json& errors = json->at("errors");
  if (!errors.is_array() || errors.empty() || !errors[0].is_object()) return {};
  const auto message = errors[0].find("message");
  return message != errors[0].end() && message->is_string() ? printable(message->get<std::string>()) : "";
}

Error refusal(const signing::HttpAnswer& answer, const std::string& path) {
  const std::string said = messageOf(answer.body);
  const Code code = answer.status == 404   ? Code::kNotFound
                    : answer.status == 401 ? Code::kUnauthenticated
                    : answer.status == 403 ? Code::kPermissionDenied
                                           : Code::kUnavailable;
  return {
      code, path + ": HTTP status " + std::to_string(answer.status) + (said.empty() ? "" : ": " + said), {}};
}

Status stream(const std::string& url, const std::string& path, const signing::HttpCredentials& credentials,
              const storage::ByteSink& sink) {
  KILN_ASSIGN(const auto answer, signing::httpStream(url + path, sink, credentials));
  return answer.status == 200 ? Status() : fail(refusal(answer, path));
}

bool isOurs(const std::string& type) {
  return type == kBundleType || type == kFixturesType || type == kRecallsType;
}

}  // namespace

class Mirror::Blobs final : public storage::BlobStore {
 public:
  Blobs(std::string url, signing::HttpCredentials credentials)
      : url_(std::move(url)), credentials_(std::move(credentials)) {}

  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string&, const Digest&) override {
    return fail(Code::kPermissionDenied, url_ + ": a mirror is read-only");
  }
  Status read(const std::string& instance, const Digest& digest, std::uint64_t offset, std::uint64_t length,
              const storage::ByteSink& sink) override {
    if (offset != 0 || length != 0)
      return fail(Code::kUnimplemented, url_ + ": blobs are read whole from a mirror");
    const std::string place = "/v2/" + instance + "/artifacts/";
    // A manifest is a blob too, served under another name; which one this is, its index does not say.
    const Status blob = stream(url_, place + "blobs/" + digest.text(), credentials_, sink);
    if (blob || blob.error().code != Code::kNotFound || digest.size > kMaxOciManifestBytes) return blob;
    const Status manifest = stream(url_, place + "manifests/" + digest.text(), credentials_, sink);
    return !manifest && manifest.error().code == Code::kNotFound ? blob : manifest;
  }
  Result<std::vector<Digest>> findMissing(const std::string&, std::span<const Digest>) override {
    return fail(Code::kUnimplemented, url_ + ": a mirror is asked for an artifact, not what it lacks");
  }

 private:
  const std::string url_;
  const signing::HttpCredentials credentials_;
};

Result<std::unique_ptr<Mirror>> Mirror::open(std::string url, std::string instance,
                                             signing::HttpCredentials credentials) {
  const auto host = url.find("://");
  const bool http = url.starts_with("http://") || url.starts_with("https://");
  const bool plain = std::ranges::all_of(url, [](char c) { return c > ' ' && c < 0x7f; });
  while (url.ends_with('/')) url.pop_back();
  if (!http || !plain || url.size() <= host + 3 || url.find_first_of("?#@") != url.npos)
    return fail(Code::kInvalidArgument,
                inQuotes(url) + " is no mirror; name one as http://HOST:PORT or https://HOST");
  return std::unique_ptr<Mirror>(new Mirror(std::move(url), std::move(instance), std::move(credentials)));
}

Mirror::Mirror(std::string url, std::string instance, signing::HttpCredentials credentials)
    : url_(std::move(url)),
      instance_(std::move(instance)),
      credentials_(std::move(credentials)),
      blobs_(std::make_unique<Blobs>(url_, credentials_)),
      log_(signing::openHttpLog(url_ + "/log", credentials_)) {}
Mirror::~Mirror() = default;

Result<std::string> Mirror::getText(const std::string& path, std::uint64_t limit) const {
  std::string text;
  KILN_TRY(stream(url_, "/v2/" + instance_ + "/artifacts/" + path, credentials_, [&](Bytes bytes) -> Status {
    if (bytes.size() > limit - text.size())
      return fail(unverified(path + ": is longer than " + std::to_string(limit) + " bytes"));
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }));
  return text;
}

Result<std::string> Mirror::getManifest(const Digest& digest) const {
  KILN_ASSIGN(std::string text, getText("manifests/" + digest.text(), kMaxOciManifestBytes));
  if (digestOf(text).hash != digest.hash)
    return fail(unverified("manifests/" + digest.text() + ": what arrived is something else"));
  return text;
}

Status Mirror::takeReferrer(const std::string& manifest, node::ArtifactRef& ref) const {
  KILN_ASSIGN(const std::string type, artifactTypeOf(manifest));
  if (!isOurs(type)) return {};
  KILN_ASSIGN(const Referrer referrer, parseReferrer(manifest));
  if (referrer.subject != ref.artifact) return {};
  if (type == kFixturesType) {
    if (!ref.fixtures.empty()) return fail(Code::kInvalidArgument, "fixtures are there twice");
    for (const ArtifactFile& layer : referrer.layers) ref.fixtures.push_back({layer.path, layer.digest});
    return {};
  }
  if (referrer.layers.size() != 1)
    return fail(Code::kInvalidArgument, "a bundle, and recalls, have one layer");
  const Digest& layer = referrer.layers[0].digest;
  if (type == kBundleType) {
    ref.bundles.push_back(layer);
    return {};
  }
  if (!ref.recalls.empty()) return fail(Code::kInvalidArgument, "recalls are there twice");
  KILN_ASSIGN(ref.recalls, getText("blobs/" + layer.text(), signing::kMaxRecallsBytes));
  return {};
}

Result<node::ArtifactRef> Mirror::find(const Digest& artifact) {
  node::ArtifactRef ref;
  ref.instance = instance_;
  KILN_ASSIGN(const std::string own, getManifest(artifact));
  ref.artifact = digestOf(own);
  const auto unreadable = [](const Error& error) { return error.asEvidence("referrers"); };
  KILN_ASSIGN(const std::string index, getText("referrers/" + artifact.text(), kMaxLayoutIndexBytes));
  KILN_ASSIGN(const std::vector<Digest> referrers, parseLayoutIndex(index).map_error(unreadable));
  if (referrers.size() > kMaxReferrers)
    return fail(unverified("referrers: are more than the " + std::to_string(kMaxReferrers) +
                           " that an artifact may have"));
  std::uint64_t bytes = 0;
  for (const Digest& digest : referrers) {
    KILN_ASSIGN(const std::string manifest, getManifest(digest));
    bytes += manifest.size();
    if (bytes > kMaxReferrersBytes)
      return fail(unverified("referrers: have more than " + std::to_string(kMaxReferrersBytes) + " bytes"));
    if (const Status taken = takeReferrer(manifest, ref).map_error(unreadable); !taken)
      return fail(taken.error());
  }
  return ref;
}

}  // namespace kiln::pull
