// The read-only HTTP side of a farm, on loopback: OCI pull, the log's tiles, metrics, health. It is handed
// interfaces and knows neither the database nor the farm.
//
// Source: OCI Distribution Specification 1.1, "pull" (end-1, end-2, end-3); errors in its JSON form.
// C2SP tlog-tiles below /log/.
#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "storage/blob/blob_store.h"

namespace kiln::gateway {

// What may be pulled. Thread safe; called on the gateway's handler threads. `hash` has size 0: sizes are what
// is asked for. kNotFound for anything that the instance has not published.
class ArtifactLookup {
 public:
  virtual ~ArtifactLookup() = default;
  // The OCI image manifest of a published artifact, with its size.
  virtual Result<Digest> findManifest(const std::string& instance, const Digest& hash) = 0;
  // A blob that a published artifact of the instance names: config, layer or bundle, with its size.
  virtual Result<Digest> findBlob(const std::string& instance, const Digest& hash) = 0;
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

struct GatewayBackend {
  std::shared_ptr<ArtifactLookup> artifacts;
  std::shared_ptr<storage::BlobStore> blobs;
  std::shared_ptr<prometheus::Registry> metrics;
  std::function<Status()> health;      // an error answers /healthz with 503, its message stays here
  std::shared_ptr<LogFiles> log = {};  // null: nothing is served below /log/
};

struct GatewayOptions {
  std::string address = "127.0.0.1";  // a loopback address; anything else is refused
  std::uint16_t port = 0;             // 0: the system chooses; see Gateway::port()
  int handlers = 128;                 // requests answered at once: who reads slowly keeps one waiting
  int maxConnections = 128;           // open at once; more are closed at accept
  std::uint32_t maxHeaderBytes = 16 << 10;
  std::uint64_t maxBodyBytes = 4 << 10;           // of a request; none of ours needs one
  std::chrono::milliseconds readTimeout{15000};   // for a whole request header, and between requests
  std::chrono::milliseconds writeTimeout{30000};  // for each chunk of an answer
};

// A running server. Thread safe. Destroying it stops it.
class Gateway {
 public:
  // Returns once the port is bound. kInvalidArgument if the address is not loopback, kUnavailable if it is
  // taken.
  static Result<std::unique_ptr<Gateway>> start(const GatewayOptions& options, GatewayBackend backend);
  ~Gateway();

  std::uint16_t port() const;
  // Closes every connection and joins the threads. Idempotent.
  void stop();

 private:
  struct Server;
  explicit Gateway(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

}  // namespace kiln::gateway
