#include "api/gateway/respond.h"

#include <prometheus/text_serializer.h>

#include <algorithm>

#include "api/gateway/answer.h"
#include "api/gateway/error_json.h"
#include "api/gateway/http_date.h"
#include "api/gateway/request_check.h"
#include "manifest/artifact/media_types.h"
#include "manifest/artifact/oci_image.h"
#include "manifest/artifact/oci_layout.h"

namespace kiln::gateway {
namespace {

constexpr std::uint64_t kMaxManifestBytes = 4 << 20;
constexpr std::size_t kPieceBytes = 64 << 10;

std::string tagOf(const Digest& digest) {
  return "\"" + digest.text() + "\"";
}

std::string fieldOf(const Request& request, boost::beast::string_view name) {
  const auto found = request.find(name);
  return found == request.end() ? "" : std::string(found->value().data(), found->value().size());
}

Caller callerOf(const Request& request, const Peer& peer) {
  Caller caller{peer.certificate, {}, peer.address.empty(), peer.address};
  const auto [first, last] = request.equal_range(http::field::authorization);
  for (auto at = first; at != last; ++at)
    caller.authorizations.emplace_back(at->value().data(), at->value().size());
  return caller;
}

ApiRequest apiRequest(const Request& request, const Peer& peer, ApiBody* upload) {
  const auto verb = request.method_string();
  return {.verb = std::string(verb.data(), verb.size()),
          .target = std::string(request.target().data(), request.target().size()),
          .body = request.body(),
          .upload = upload,
          .contentType = fieldOf(request, "Content-Type"),
          .lastEventId = fieldOf(request, "Last-Event-ID"),
          .host = fieldOf(request, "Host"),
          .origin = fieldOf(request, "Origin"),
          .ofAnotherSite = isOfAnotherSite(request),
          .caller = callerOf(request, peer)};
}

}  // namespace

// One of the api's, with the fields that every answer has. Nothing of it is kept by whoever comes between.
class Responder::ApiAnswer final : public ApiWriter {
 public:
  explicit ApiAnswer(Answer& answer) : answer_(answer) {
    answer_.head.set(http::field::cache_control, "no-store");
  }

  Status whole(unsigned status, const HeaderFields& fields, std::string_view type,
               std::string_view body) override {
    for (const auto& [name, value] : fields) answer_.head.set(name, value);
    if (status == 204) return answer_.beginWithoutLength(status, "");
    KILN_TRY(answer_.begin(status, type, body.size()));
    return answer_.isHead() ? Status() : write(body);
  }
  Status begin(std::string_view type) override {
    answer_.keep = false;
    return answer_.beginWithoutLength(200, type);
  }
  // In pieces, since each has a time of its own.
  Status write(std::string_view bytes) override {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kPieceBytes)))
      if (const Status written = answer_.writer.write(asBytes(bytes.substr(0, kPieceBytes))); !written) {
        answer_.keep = false;
        return written;
      }
    return {};
  }

 private:
  Answer& answer_;
};

Responder::Responder(GatewayBackend backend, std::shared_ptr<const Clock> clock)
    : backend_(std::move(backend)),
      clock_(std::move(clock)),
      requests_(prometheus::BuildCounter()
                    .Name("kiln_gateway_requests_total")
                    .Help("Answers of the read-only HTTP side, by status.")
                    .Register(*backend_.metrics)),
      bytes_(prometheus::BuildCounter()
                 .Name("kiln_gateway_bytes_total")
                 .Help("Blob bytes sent by the read-only HTTP side.")
                 .Register(*backend_.metrics)
                 .Add({})) {}

bool Responder::asksApi(const Request& request) const {
  const std::string_view target(request.target().data(), request.target().size());
  return backend_.api && (target.starts_with(kApiPath) || target == kOpenApiPath);
}

bool Responder::respond(const Request& request, const Peer& peer, ApiBody* upload, ResponseWriter& writer) {
  // Of an upload there may be more to come, which is no request.
  Answer answer{request, writer, {}, keepsConnection(request) && !upload};
  answer.head.set(http::field::date, httpDate(clock_->now()));
  answer.head.set("Cross-Origin-Resource-Policy", "same-origin");
  const auto target = request.target();
  if (asksApi(request)) {
    ApiAnswer out(answer);
    backend_.api->answer(apiRequest(request, peer, upload), out);
  } else if (request.method() != http::verb::get && request.method() != http::verb::head) {
    const auto told = httpError(405, "UNSUPPORTED", "this side is read-only: GET and HEAD are served");
    answer.head.set(http::field::allow, "GET, HEAD");
    refuse(answer, told.status, told.body);
  } else if (const auto route = parseRoute({target.data(), target.size()}); !route) {
    const bool blob = target.find("/blobs/") != boost::beast::string_view::npos;
    refuse(answer, route.error(), blob ? RouteKind::kBlob : RouteKind::kManifest);
  } else if (route->kind != RouteKind::kPage && isOfAnotherSite(request)) {
    refuse(answer, {Code::kPermissionDenied, "a page of another origin may not ask this"}, route->kind);
  } else if (const auto may = admit(request, peer, *route); !may) {
    // Whoever may send a token is asked for one (RFC 6750 3).
    if (may.error().code == Code::kUnauthenticated)
      answer.head.set(http::field::www_authenticate, "Bearer realm=\"kiln\"");
    refuse(answer, may.error(), route->kind);
  } else {
    serve(answer, *route);
  }
  requests_.Add({{"status", std::to_string(answer.status)}}).Increment();
  return answer.keep;
}

bool Responder::asksForHealth(const Request& request) const {
  if (backend_.gate) return false;
  if (request.method() != http::verb::get && request.method() != http::verb::head) return false;
  const auto route = parseRoute({request.target().data(), request.target().size()});
  return route && route->kind == RouteKind::kHealth;
}

std::string Responder::health(const Request& request, const Status& healthy) {
  const unsigned status = healthy ? 200 : 503;
  requests_.Add({{"status", std::to_string(status)}}).Increment();
  return wholeAnswer(clock_->now(), status, "text/plain; charset=utf-8",
                     healthy ? "ok\n" : backend_.unhealthy + "\n", request.method() != http::verb::head,
                     keepsConnection(request));
}

Status Responder::admit(const Request& request, const Peer& peer, const Route& route) const {
  // The page is the same for everybody and holds nothing of the farm's; what it asks for passes the gate.
  if (!backend_.gate || route.kind == RouteKind::kPage) return {};
  if (route.kind == RouteKind::kHealth || route.kind == RouteKind::kMetrics)
    return fail(Code::kNotFound, "metrics and health are served on loopback only");
  return backend_.gate->admit(callerOf(request, peer), route.kind, route.instance);
}

void Responder::serve(Answer& answer, const Route& route) {
  switch (route.kind) {
    case RouteKind::kHealth:
      return;  // never comes here: health()
    case RouteKind::kMetrics:
      return text(answer, 200, "text/plain; version=0.0.4; charset=utf-8",
                  prometheus::TextSerializer().Serialize(backend_.metrics->Collect()));
    case RouteKind::kBase:
      return text(answer, 200, "application/json", "{}\n");
    case RouteKind::kManifest:
      return manifest(answer, route);
    case RouteKind::kBlob:
      return blob(answer, route);
    case RouteKind::kReferrers:
      return referrers(answer, route);
    case RouteKind::kCheckpoint:
    case RouteKind::kTile:
      return logFile(answer, route);
    case RouteKind::kPage:
      return page(answer, route);
  }
}

Status Responder::checkRelease(const std::string& instance, const Digest& artifact) const {
  return backend_.release ? backend_.release->check(instance, artifact) : Status();
}

Status Responder::checkReleaseOf(const std::string& instance, const Digest& blob) const {
  if (!backend_.release) return {};
  KILN_ASSIGN(const auto artifacts, backend_.artifacts->findArtifactsOf(instance, blob));
  Status first = fail(Code::kNotFound, "no published artifact names this blob");
  for (const Digest& artifact : artifacts) {
    const Status may = checkRelease(instance, artifact);
    if (may) return may;
    if (artifact == artifacts.front()) first = may;
  }
  return first;
}

void Responder::text(Answer& answer, unsigned status, std::string_view type, std::string_view body) {
  if (!answer.begin(status, type, body.size()) || answer.isHead()) return;
  if (!answer.writer.write(asBytes(body))) answer.keep = false;
}

void Responder::refuse(Answer& answer, unsigned status, std::string body) {
  text(answer, status, "application/json", body);
}

void Responder::refuse(Answer& answer, const Error& error, RouteKind route) {
  const auto told = httpError(error, route);
  refuse(answer, told.status, told.body);
}

// RFC 9110 13.2.2 says in which order.
bool Responder::settled(Answer& answer, const Digest& digest) {
  answer.head.set("Docker-Content-Digest", digest.text());
  answer.head.set(http::field::etag, tagOf(digest));
  const std::string wanted = listOf(answer.request, http::field::if_match);
  if (!wanted.empty() && !namesTag(wanted, tagOf(digest), Tags::kStrong)) {
    const auto told =
        httpError(412, "UNSUPPORTED", "these bytes have another entity tag than If-Match wants");
    refuse(answer, told.status, told.body);
    return true;
  }
  if (!namesTag(listOf(answer.request, http::field::if_none_match), tagOf(digest))) return false;
  answer.status = 304;
  answer.head.version(11);
  answer.head.result(answer.status);
  if (!answer.keep) answer.head.set(http::field::connection, "close");
  if (!answer.writer.writeHead(answer.head)) answer.keep = false;
  return true;
}

void Responder::document(Answer& answer, const Digest& digest, std::string_view type, std::string_view body) {
  if (!settled(answer, digest)) text(answer, 200, type, body);
}

void Responder::manifest(Answer& answer, const Route& route) {
  if (route.image) return imageOf(answer, route);
  const auto digest = backend_.artifacts->findManifest(route.instance, route.hash);
  if (digest) {
    if (const auto may = checkRelease(route.instance, *digest); !may)
      return refuse(answer, may.error(), route.kind);
    const auto bytes = storage::getBlob(*backend_.blobs, route.instance, *digest, kMaxManifestBytes);
    if (!bytes) return refuse(answer, bytes.error(), route.kind);
    return document(answer, *digest, kOciManifestMediaType, *bytes);
  }
  if (digest.error().code != Code::kNotFound) return refuse(answer, digest.error(), route.kind);
  const auto referrer = backend_.artifacts->findReferrer(route.instance, route.hash);
  if (!referrer && referrer.error().code == Code::kNotFound && imageManifest(answer, route)) return;
  if (!referrer) return refuse(answer, referrer.error(), route.kind);
  if (const auto may = checkRelease(route.instance, referrer->artifact); !may)
    return refuse(answer, may.error(), route.kind);
  const auto bytes = referrer->bundles.empty()
                         ? makeReferrer(referrer->others.at(0))
                         : makeBundleReferrer(referrer->artifact, referrer->bundles.front());
  if (!bytes) return refuse(answer, bytes.error(), route.kind);
  document(answer, digestOf(*bytes), kOciManifestMediaType, *bytes);
}

void Responder::referrers(Answer& answer, const Route& route) {
  std::vector<LayoutEntry> entries;
  const auto found = backend_.artifacts->findReferrers(route.instance, route.hash);
  // To what is not there, nothing refers: the list is empty, as the specification wants it.
  if (!found && found.error().code != Code::kNotFound) return refuse(answer, found.error(), route.kind);
  if (!found && imageReferrers(answer, route)) return;
  if (found)
    if (const auto may = checkRelease(route.instance, found->artifact); !may)
      return refuse(answer, may.error(), route.kind);
  const auto wanted = [&](const std::string& type) {
    return found && (route.artifactType.empty() || route.artifactType == type);
  };
  const auto add = [&](const Result<std::string>& bytes, const std::string& type) -> Status {
    if (!bytes) return fail(bytes.error());
    entries.push_back({digestOf(*bytes), type});
    return {};
  };
  if (wanted(kBundleType))
    for (const Digest& bundle : found->bundles)
      if (const auto added = add(makeBundleReferrer(found->artifact, bundle), kBundleType); !added)
        return refuse(answer, added.error(), route.kind);
  if (found)
    for (const Referrer& other : found->others)
      if (wanted(other.artifactType))
        if (const auto added = add(makeReferrer(other), other.artifactType); !added)
          return refuse(answer, added.error(), route.kind);
  if (wanted(kOciImageConfigMediaType))
    if (const auto added = addImages(entries, route.instance, found->artifact); !added)
      return refuse(answer, added.error(), route.kind);
  referrersIndex(answer, route, entries);
}

void Responder::referrersIndex(Answer& answer, const Route& route, const std::vector<LayoutEntry>& entries) {
  const auto index = makeReferrersIndex(entries);
  if (!index) return refuse(answer, index.error(), route.kind);
  if (!route.artifactType.empty()) answer.head.set("OCI-Filters-Applied", "artifactType");
  text(answer, 200, kOciIndexMediaType, *index);
}

// Tiles never change; the checkpoint does with every commit.
void Responder::logFile(Answer& answer, const Route& route) {
  const bool tile = route.kind == RouteKind::kTile;
  if (!backend_.log) return refuse(answer, {Code::kNotFound, "this farm serves no log"}, route.kind);
  const auto bytes = tile ? backend_.log->tile(route.tile) : backend_.log->checkpoint();
  if (!bytes) return refuse(answer, bytes.error(), route.kind);
  answer.head.set(http::field::cache_control, tile ? "public, max-age=31536000, immutable" : "no-cache");
  text(answer, 200, tile ? "application/octet-stream" : "text/plain; charset=utf-8", *bytes);
}

// A browser runs nothing of the page but this file, and lets it reach nothing but this side.
void Responder::page(Answer& answer, const Route& route) {
  const PageFile* file = backend_.page ? backend_.page(route.file) : nullptr;
  if (!file) return refuse(answer, {Code::kNotFound, "there is no such file of a page here"}, route.kind);
  answer.head.set("Content-Security-Policy", kPagePolicy);
  answer.head.set("Referrer-Policy", "no-referrer");
  answer.head.set("Cross-Origin-Opener-Policy", "same-origin");
  answer.head.set(http::field::cache_control, "no-cache");
  document(answer, digestOf(file->bytes), file->type, file->bytes);
}

void Responder::blob(Answer& answer, const Route& route) {
  // Every referrer's config; no store need hold it.
  if (const Digest empty = digestOf(kEmptyConfig); route.hash.hash == empty.hash)
    return document(answer, empty, kEmptyMediaType, kEmptyConfig);
  const auto digest = backend_.artifacts->findBlob(route.instance, route.hash);
  if (!digest && digest.error().code == Code::kNotFound && imageBlob(answer, route)) return;
  if (!digest) return refuse(answer, digest.error(), route.kind);
  if (const auto may = checkReleaseOf(route.instance, *digest); !may)
    return refuse(answer, may.error(), route.kind);
  const auto missing = backend_.blobs->findMissing(route.instance, {&*digest, 1});
  if (!missing) return refuse(answer, missing.error(), route.kind);
  if (!missing->empty())
    return refuse(answer, {Code::kNotFound, "the store does not hold this blob"}, route.kind);

  send(answer, *digest, route.kind,
       [&](std::uint64_t offset, std::uint64_t length, const storage::ByteSink& sink) {
         return backend_.blobs->read(route.instance, *digest, offset, length, sink);
       });
}

void Responder::send(Answer& answer, const Digest& digest, RouteKind route, const Parts& parts) {
  if (settled(answer, digest)) return;

  ByteRange range{0, digest.size};
  const auto wanted = answer.request.find(http::field::range);
  const auto condition = answer.request.find(http::field::if_range);
  // Of what is sent, and if there is one. If-Range: the range, if the client's part is of these bytes; else
  // all of them.
  bool partial = !answer.isHead() && answer.request.count(http::field::range) == 1 &&
                 (condition == answer.request.end() || condition->value() == tagOf(digest));
  if (partial) {
    const auto parsed = parseRange({wanted->value().data(), wanted->value().size()}, digest.size);
    if (!parsed) {
      answer.head.set(http::field::content_range, "bytes */" + std::to_string(digest.size));
      return refuse(answer, {Code::kOutOfRange, parsed.error().message}, route);
    }
    partial = parsed->has_value();
    range = parsed->value_or(range);
  }
  if (partial)
    answer.head.set(http::field::content_range, "bytes " + std::to_string(range.offset) + "-" +
                                                    std::to_string(range.offset + range.length - 1) + "/" +
                                                    std::to_string(digest.size));
  answer.head.set(http::field::accept_ranges, "bytes");
  const auto begin = [&] {
    return answer.begin(partial ? 206 : 200, "application/octet-stream", range.length);
  };
  if (answer.isHead() || range.length == 0) return void(begin());

  // The header waits for the first bytes: a store that finds a blob corrupt can still be answered with an
  // error.
  bool begun = false;
  const auto sent = parts(range.offset, range.length, [&](Bytes bytes) -> Status {
    if (!begun) {
      begun = true;
      KILN_TRY(begin());
    }
    KILN_TRY(answer.writer.write(bytes));
    bytes_.Increment(static_cast<double>(bytes.size()));
    return {};
  });
  if (sent) return;
  if (!begun) return refuse(answer, sent.error(), route);
  answer.keep = false;  // a short body and a closed connection: the client sees the length does not match
}

}  // namespace kiln::gateway
