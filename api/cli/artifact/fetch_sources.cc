#include "api/cli/artifact/fetch_sources.h"

#include <algorithm>
#include <map>
#include <memory>

#include "api/cli/base/exit_code.h"
#include "api/cli/base/print.h"
#include "api/cli/base/transfer_meter.h"
#include "api/cli/base/trust_settings.h"
#include "api/client/artifact_ref.h"
#include "api/node/fetch.h"
#include "api/pull/fetch_from.h"
#include "manifest/base/new_directory.h"

namespace kiln::cli {
namespace {

constexpr char kFarm[] = "farm";

// One fetch from any of several sources. What each tells of recalls counts for the next.
class AnySource {
 public:
  AnySource(const Context& context, const std::string& artifact, std::string directory, FetchedPart part,
            node::Trust trust)
      : context_(context),
        wanted_(artifact),
        directory_(std::move(directory)),
        ir_(part == FetchedPart::kIr),
        trust_(std::move(trust)) {}

  Result<Fetched> fromFarm(bool alone) {
    Context context = context_;
    // Where others can serve, the farm is waited for only if somebody said so.
    if (!alone && context.wait.empty()) context.wait = kAtOnce;
    KILN_ASSIGN(const auto client, context.connect());
    KILN_ASSIGN(const auto ref, client::findArtifact(*client, wanted_));
    digest_ = ref.artifact;
    return take(client->blobs(), ref, client->endpoint());
  }

  Result<std::unique_ptr<pull::Mirror>> mirrorAt(const std::string& url) const {
    const storage::ClientCredentials& tls = context_.tls;
    return pull::Mirror::open(url, context_.instance.empty() ? "default" : context_.instance,
                              {tls.ca, tls.certificate, tls.key, tls.token});
  }

  Result<Fetched> fromMirror(pull::Mirror& mirror) {
    if (!digest_) {
      auto digest = wanted_.starts_with("sha256:") ? Digest::parse(wanted_, 0)
                                                   : fail(Code::kInvalidArgument, "is no digest");
      if (!digest)
        return fail(Code::kInvalidArgument,
                    "\"" + wanted_ +
                        "\": a mirror is asked for sha256:<64 lowercase hex digits>, and the farm, "
                        "which completes fewer, does not answer");
      digest_ = *digest;
    }
    Fetched out{.verdict = {}, .directory = directoryFor(*digest_), .source = mirror.url()};
    KILN_ASSIGN(out.verdict, pull::fetchFrom(mirror, *digest_, {out.directory, progress(), ir_},
                                             context_.trustRoot, trust_, SystemClock()));
    return out;
  }

 private:
  std::string directoryFor(const Digest& artifact) const {
    return directory_.empty() ? "kiln-" + artifact.hex().substr(0, 12) : directory_;
  }
  Result<Fetched> take(storage::BlobStore& blobs, const node::ArtifactRef& ref, const std::string& source) {
    KILN_TRY(trust_.learnCarried(ref.recalls));
    Fetched out;
    out.directory = directoryFor(ref.artifact);
    out.source = source;
    KILN_ASSIGN(out.verdict,
                ir_ ? node::fetchIr(blobs, ref, out.directory, trust_, SystemClock())
                    : node::fetchArtifact(blobs, ref, out.directory, trust_, SystemClock(), progress()));
    return out;
  }
  node::FetchProgress progress() {
    return [this](std::uint64_t done, std::uint64_t total) { meter_.at(done, total); };
  }

  const Context& context_;
  const std::string& wanted_;
  const std::string directory_;
  const bool ir_;
  node::Trust trust_;
  std::optional<Digest> digest_;  // whole, once it is known
  TransferMeter meter_{context_.terminal && !context_.json, "fetching"};
};

// No source is to blame, so that another one would not help.
bool isOurs(const Error& error) {
  return exitCodeOf(error) == kExitUsage || error.code == Code::kResourceExhausted;
}

// The error that says most about the artifact: what does not verify, then whatever else somebody answered.
int rank(const Error& error) {
  if (exitCodeOf(error) == kExitVerification) return 0;
  if (exitCodeOf(error) == kExitUnavailable) return 2;
  return error.code == Code::kNotFound ? 3 : 1;
}

struct Refusal {
  std::string source;
  Error error;
};

Error noneOf(const std::string& artifact, std::vector<Refusal> refusals) {
  std::string message = "no source serves " + artifact;
  for (const Refusal& one : refusals) message += "; " + one.source + ": " + one.error.message;
  const auto told =
      std::ranges::min_element(refusals, {}, [](const Refusal& one) { return rank(one.error); });
  Error out = std::move(told->error);
  out.message = std::move(message);
  return out;
}

}  // namespace

void addMirrorOption(CLI::App& command, Context& context) {
  command
      .add_option(
          "--mirror", context.mirrors,
          "URL of a mirror that is tried where the farm does not serve; may be repeated, and \"farm\" "
          "among them says when the farm is tried (default: $KILN_MIRRORS, with spaces between)")
      ->allow_extra_args(false);
}

Result<Fetched> fetchFromAny(const Context& context, const std::string& artifact, std::string directory,
                             FetchedPart part) {
  if (!directory.empty()) KILN_TRY(NewDirectory::placeOf(directory));  // no source is to blame for that
  KILN_ASSIGN(auto trust, loadTrust(context));
  std::vector<std::string> sources = context.mirrors;
  const bool placed = std::ranges::find(sources, kFarm) != sources.end();
  if (sources.empty() || (!placed && !context.endpoint.empty())) sources.insert(sources.begin(), kFarm);
  AnySource any(context, artifact, std::move(directory), part, std::move(trust));
  // A name that can be no mirror's is told whoever serves.
  std::map<std::string, std::unique_ptr<pull::Mirror>> mirrors;
  for (const std::string& source : sources) {
    if (source == kFarm) continue;
    KILN_ASSIGN(mirrors[source], any.mirrorAt(source));
  }
  std::vector<Refusal> refusals;
  for (const std::string& source : sources) {
    auto fetched = source == kFarm ? any.fromFarm(sources.size() == 1) : any.fromMirror(*mirrors.at(source));
    if (fetched || sources.size() == 1) return fetched;
    if (isOurs(fetched.error())) return fail(std::move(fetched).error().in(source));
    note("kiln: not from " + source + ": " + fetched.error().message);
    refusals.push_back({source, std::move(fetched).error()});
  }
  return fail(noneOf(artifact, std::move(refusals)));
}

}  // namespace kiln::cli
