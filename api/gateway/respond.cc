#include "api/gateway/respond.h"

#include <prometheus/text_serializer.h>

#include "api/gateway/error_json.h"

namespace kiln::gateway {
namespace {

constexpr std::uint64_t kMaxManifestBytes = 4 << 20;
constexpr std::string_view kManifestType = "application/vnd.oci.image.manifest.v1+json";

}  // namespace

// One answer in the making.
struct Responder::Answer {
  const Request& request;
  ResponseWriter& writer;
  http::response_header<> head;
  bool keep = true;
  unsigned status = 0;

  bool isHead() const { return request.method() == http::verb::head; }
  Status begin(unsigned code, std::string_view type, std::uint64_t length) {
    status = code;
    head.version(11);
    head.result(status);
    head.set(http::field::content_type, boost::beast::string_view(type.data(), type.size()));
    head.set(http::field::content_length, std::to_string(length));
    head.set("Docker-Distribution-API-Version", "registry/2.0");
    head.set("X-Content-Type-Options", "nosniff");
    if (!keep) head.set(http::field::connection, "close");
    auto written = writer.writeHead(head);
    if (!written) keep = false;
    return written;
  }
};

Responder::Responder(GatewayBackend backend)
    : backend_(std::move(backend)),
      requests_(prometheus::BuildCounter()
                    .Name("kiln_gateway_requests_total")
                    .Help("Answers of the read-only HTTP side, by status.")
                    .Register(*backend_.metrics)),
      bytes_(prometheus::BuildCounter()
                 .Name("kiln_gateway_bytes_total")
                 .Help("Blob bytes sent by the read-only HTTP side.")
                 .Register(*backend_.metrics)
                 .Add({})) {}

bool Responder::respond(const Request& request, ResponseWriter& writer) {
  Answer answer{request, writer, {}, request.keep_alive()};
  const auto target = request.target();
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    const auto told = httpError(405, "UNSUPPORTED", "this side is read-only: GET and HEAD are served");
    answer.head.set(http::field::allow, "GET, HEAD");
    refuse(answer, told.status, told.body);
  } else if (const auto route = parseRoute({target.data(), target.size()}); !route) {
    const bool blob = target.find("/blobs/") != boost::beast::string_view::npos;
    refuse(answer, route.error(), blob ? RouteKind::kBlob : RouteKind::kManifest);
  } else {
    switch (route->kind) {
      case RouteKind::kHealth: {
        const auto healthy = backend_.health();
        text(answer, healthy ? 200 : 503, "text/plain; charset=utf-8",
             healthy ? "ok\n" : "the database is not available\n");
        break;
      }
      case RouteKind::kMetrics:
        text(answer, 200, "text/plain; version=0.0.4; charset=utf-8",
             prometheus::TextSerializer().Serialize(backend_.metrics->Collect()));
        break;
      case RouteKind::kBase:
        text(answer, 200, "application/json", "{}\n");
        break;
      case RouteKind::kManifest:
        manifest(answer, *route);
        break;
      case RouteKind::kBlob:
        blob(answer, *route);
        break;
      case RouteKind::kCheckpoint:
      case RouteKind::kTile:
        logFile(answer, *route);
        break;
    }
  }
  requests_.Add({{"status", std::to_string(answer.status)}}).Increment();
  return answer.keep;
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

void Responder::manifest(Answer& answer, const Route& route) {
  const auto digest = backend_.artifacts->findManifest(route.instance, route.hash);
  if (!digest) return refuse(answer, digest.error(), route.kind);
  const auto bytes = storage::getBlob(*backend_.blobs, route.instance, *digest, kMaxManifestBytes);
  if (!bytes) return refuse(answer, bytes.error(), route.kind);
  answer.head.set("Docker-Content-Digest", digest->text());
  answer.head.set(http::field::etag, "\"" + digest->text() + "\"");
  text(answer, 200, kManifestType, *bytes);
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

void Responder::blob(Answer& answer, const Route& route) {
  const auto digest = backend_.artifacts->findBlob(route.instance, route.hash);
  if (!digest) return refuse(answer, digest.error(), route.kind);
  const auto missing = backend_.blobs->findMissing(route.instance, {&*digest, 1});
  if (!missing) return refuse(answer, missing.error(), route.kind);
  if (!missing->empty())
    return refuse(answer, {Code::kNotFound, "the store does not hold this blob"}, route.kind);

  ByteRange range{0, digest->size};
  const auto wanted = answer.request.find(http::field::range);
  const bool partial = wanted != answer.request.end();
  if (partial) {
    const auto parsed = parseRange({wanted->value().data(), wanted->value().size()}, digest->size);
    if (!parsed) {
      answer.head.set(http::field::content_range, "bytes */" + std::to_string(digest->size));
      return refuse(answer, {Code::kOutOfRange, parsed.error().message}, route.kind);
    }
    range = *parsed;
    answer.head.set(http::field::content_range, "bytes " + std::to_string(range.offset) + "-" +
                                                    std::to_string(range.offset + range.length - 1) + "/" +
                                                    std::to_string(digest->size));
  }
  answer.head.set(http::field::accept_ranges, "bytes");
  answer.head.set("Docker-Content-Digest", digest->text());
  answer.head.set(http::field::etag, "\"" + digest->text() + "\"");
  const auto begin = [&] {
    return answer.begin(partial ? 206 : 200, "application/octet-stream", range.length);
  };
  if (answer.isHead() || range.length == 0) return void(begin());

  // The header waits for the first bytes: a store that finds a blob corrupt can still be answered with an
  // error.
  bool begun = false;
  const auto sent =
      backend_.blobs->read(route.instance, *digest, range.offset, range.length, [&](Bytes bytes) -> Status {
        if (!begun) {
          begun = true;
          KILN_TRY(begin());
        }
        KILN_TRY(answer.writer.write(bytes));
        bytes_.Increment(static_cast<double>(bytes.size()));
        return {};
      });
  if (sent) return;
  if (!begun) return refuse(answer, sent.error(), route.kind);
  answer.keep = false;  // a short body and a closed connection: the client sees the length does not match
}

}  // namespace kiln::gateway
