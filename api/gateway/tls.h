// The TLS side of a gateway: TLS 1.3 (RFC 8446), with certificates on both sides. What it shows and whom it
// believes can be replaced while it runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "manifest/base/mutex.h"
#include "manifest/base/result.h"

namespace boost::asio::ssl {
class context;
}

namespace kiln::gateway {

struct TlsSettings {
  std::string certificate;  // of this server with its chain, PEM
  std::string key;          // its private key, PEM
  std::vector<std::string>
      clientAuthorities;          // whose certificates clients may show: PEM, one at least in each
  bool certificateWanted = true;  // false: a client may come without one; a bad one is refused all the same
};

// Thread safe.
class ServerTls {
 public:
  // kInvalidArgument if something cannot be read, or certificate and key do not belong together.
  static Result<std::shared_ptr<ServerTls>> create(const TlsSettings& settings);

  // For connections from now on. Errors as create(); then everything stays as it was.
  Status replace(const TlsSettings& settings);

  std::shared_ptr<boost::asio::ssl::context> context() const;

 private:
  explicit ServerTls(std::shared_ptr<boost::asio::ssl::context> context) : context_(std::move(context)) {}

  mutable Mutex mutex_;
  std::shared_ptr<boost::asio::ssl::context> context_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::gateway
