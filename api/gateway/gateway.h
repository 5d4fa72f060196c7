// The HTTP side of a farm: OCI pull, the log's tiles, metrics and health, which are only read, and the
// services below /api/. Plain on loopback and over a private Unix socket, where whoever comes may see all
// that is only read; within TLS anywhere, where each request passes a gate and metrics and health are not
// served. Who may call what below /api/ is up to whoever implements it. It is handed interfaces and knows
// neither the database nor the farm.
//
// Source: OCI Distribution Specification 1.1, "pull" (end-1, end-2, end-3) and "listing referrers" (end-12a,
// end-12b); errors in its JSON form. Conditional requests: RFC 9110 13. C2SP tlog-tiles below /log/.
#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/gateway/api.h"
#include "api/gateway/image.h"
#include "api/gateway/page.h"
#include "api/gateway/route.h"
#include "api/gateway/tls.h"
#include "manifest/artifact/oci_layout.h"
#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "storage/blob/blob_store.h"
#include "storage/serving/connection_limiter.h"

namespace kiln::gateway {

using serving::ConnectionLimiter;
using serving::ConnectionLimits;

// A published artifact and what refers to it, with the sizes.
struct PublishedArtifact {
  Digest artifact;  // its OCI image manifest
  std::vector<Digest> bundles;
  std::vector<Referrer> others = {};  // of other types than bundles, each about `artifact`
};

// What may be pulled. Thread safe; called on the gateway's handler threads. `hash` has size 0: sizes are what
// is asked for. kNotFound for anything that the instance has not published.
class ArtifactLookup {
 public:
  virtual ~ArtifactLookup() = default;
  // The OCI image manifest of a published artifact, with its size.
  virtual Result<Digest> findManifest(const std::string& instance, const Digest& hash) = 0;
  // A blob that a published artifact of the instance or one of its referrers names, with its size.
  virtual Result<Digest> findBlob(const std::string& instance, const Digest& hash) = 0;
  // What refers to a published artifact.
  virtual Result<PublishedArtifact> findReferrers(const std::string& instance, const Digest& artifact) = 0;
  // The published artifacts that name a blob, the newest first; of very many, only so many.
  virtual Result<std::vector<Digest>> findArtifactsOf(const std::string& instance, const Digest& blob) = 0;
  // The one bundle or other referrer, and its artifact, that the OCI manifest `hash` stands for
  // (manifest/artifact/oci_layout.h).
  virtual Result<PublishedArtifact> findReferrer(const std::string& instance, const Digest& hash) = 0;
};

// The public files of the farm's log, as C2SP tlog-tiles names them. Thread safe. kNotFound for what is not
// there (yet).
class LogFiles {
 public:
  virtual ~LogFiles() = default;
  virtual Result<std::string> checkpoint() = 0;
  // `path` is well formed: "tile/0/000", "tile/entries/x001/234.p/5".
  virtual Result<std::string> tile(const std::string& path) = 0;
};

// Whether a caller may have what a route serves. Thread safe; called on the gateway's handler threads.
class RequestGate {
 public:
  virtual ~RequestGate() = default;
  // `instance` is "" for routes that name none. kUnauthenticated if nothing says who calls;
  // kPermissionDenied, with the same words whether or not anything is there.
  virtual Status admit(const Caller& caller, RouteKind route, const std::string& instance) = 0;
};

// Whether an artifact may be handed out. Thread safe; called on the gateway's handler threads.
class ReleaseGate {
 public:
  virtual ~ReleaseGate() = default;
  // kPermissionDenied, with what is wrong, for an artifact that the instance's policy refuses or that was
  // recalled.
  virtual Status check(const std::string& instance, const Digest& artifact) = 0;
};

struct GatewayBackend {
  std::shared_ptr<ArtifactLookup> artifacts;
  std::shared_ptr<storage::BlobStore> blobs;
  std::shared_ptr<prometheus::Registry> metrics;
  // An error answers /healthz with 503, its message stays here. Called on a thread of its own, one at a time.
  std::function<Status()> health;
  std::shared_ptr<LogFiles> log = {};                       // null: nothing is served below /log/
  std::shared_ptr<RequestGate> gate = {};                   // null: all of it for everybody, on loopback only
  std::shared_ptr<ReleaseGate> release = {};                // null: everything that is published
  std::string unhealthy = "the database is not available";  // what that answer says
  std::shared_ptr<Api> api = {};                            // null: nothing is served below /api/
  PageFiles page = {};                                      // null: there is no page at /
  std::shared_ptr<ImageLookup> images = {};                 // null: artifacts have no container images here
};

struct GatewayOptions {
  std::string address = "127.0.0.1";  // numeric, or localhost; loopback without TLS and a gate
  std::uint16_t port = 0;             // 0: the system chooses; see Gateway::port()
  // "/path" of a Unix socket of mode 0600 in the place of address and port, without TLS. One that is there
  // already is replaced, unless a server answers there.
  std::string socket = {};
  std::shared_ptr<ServerTls> tls = {};  // null: plain HTTP, for requests whose Host is a name of loopback
  ConnectionLimits limits = {};         // a thread for each of limits.answers
  std::uint32_t maxHeaderBytes = 16 << 10;
  std::uint64_t maxBodyBytes = 4 << 10;            // of a request that needs none
  std::uint64_t maxApiBodyBytes = 1 << 20;         // of a POST below /api/, where there is an api
  std::uint64_t maxUploadBytes = 1ull << 40;       // of a PUT there, which is read as it comes
  std::chrono::milliseconds headerTimeout{10000};  // for a handshake, and for a whole request header
  std::chrono::milliseconds bodyTimeout{5000};     // for a whole body, but that of an upload
  std::chrono::milliseconds uploadTimeout{30000};  // for each piece of that, of 64 KiB
  std::chrono::milliseconds idleTimeout{15000};    // between requests
  std::chrono::milliseconds writeTimeout{30000};   // for each chunk of an answer
  std::chrono::milliseconds healthTimeout{2000};   // for what `health` says; then it counts as an error
  std::shared_ptr<const Clock> clock = std::make_shared<const SystemClock>();  // of the Date of answers
};

// A running server. Thread safe. Destroying it stops it.
class Gateway {
 public:
  // Returns once the port or socket is bound. kInvalidArgument if the address is neither numeric nor
  // localhost, or not loopback though TLS or the gate is missing; kUnavailable if it is taken.
  static Result<std::unique_ptr<Gateway>> start(const GatewayOptions& options, GatewayBackend backend);
  ~Gateway();

  std::uint16_t port() const;  // 0 for a Unix socket
  // Closes every connection and joins the threads. Idempotent.
  void stop();

 private:
  struct Server;
  explicit Gateway(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

}  // namespace kiln::gateway
