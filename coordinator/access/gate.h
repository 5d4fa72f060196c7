// The gate of a coordinator: who calls, and whether the call may go on. Every RPC passes it before its
// service sees it (server/guarded_services.h).
#pragma once

#include <grpcpp/server_context.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/access/access_rules.h"
#include "coordinator/access/call_limiter.h"
#include "coordinator/access/discovered_keys.h"
#include "coordinator/access/rpc_table.h"
#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"
#include "signing/keys/certificate.h"

namespace kiln::access {

// Calls in progress, but for the local user's and those of workers: each may hold a thread.
inline constexpr std::size_t kMaxCalls = 1536;
// Calls of workers, which hold memory alone.
inline constexpr std::size_t kMaxWorkerCalls = 32'768;

// What a caller shows.
struct Credentials {
  bool local = false;                       // came over a Unix socket
  std::string certificate;                  // PEM of the TLS peer; "" if it has none
  std::vector<std::string> authorizations;  // the metadata "authorization"
  std::string address = {};                 // sourceOfPeer(), of a call over gRPC
};
Credentials credentialsOf(const grpc::ServerContextBase& context);

// Thread safe.
class Gate {
 public:
  // All three must outlive it. Without `discovered` no issuer may have discovery.
  Gate(const Clock& clock, const signing::Certificate& workerAuthority, AccessRules rules = {},
       DiscoveredKeys* discovered = nullptr);

  // The gate of a plaintext endpoint on loopback: whoever calls is a LoopbackCaller, whatever he shows.
  static std::unique_ptr<Gate> ofLoopback(const Clock& clock, const signing::Certificate& workerAuthority);

  // From now on these rules.
  void replace(AccessRules rules);

  // kUnauthenticated unless one thing shown proves who calls. A token, where there is one, counts rather than
  // the certificate of the connection. For a token whose key is not known it waits as DiscoveredKeys does,
  // and is kUnavailable where the issuer's keys are not to be had.
  Result<Identity> identify(const Credentials& shown) const;

  // kPermissionDenied unless `rpc`'s row lets the caller do this in `instance`. kInvalidArgument for what no
  // instance can be called: what is judged here is what the database and the store are asked with.
  Status admit(const Credentials& shown, std::string_view rpc, const std::string& instance) const;
  // A caller with a token learns no more than that; which condition of which grant did not hold is logged.
  // The same for what has a rule elsewhere. `rule` may be null: nobody may.
  Status admit(const Credentials& shown, const RpcRule* rule, std::string_view what,
               const std::string& instance) const;

  // Which grant lets the caller do this: for the record of what came of it. "" where none is needed.
  std::string grantFor(const Identity& who, std::string_view rpc, const std::string& instance) const;

  // Held while a call goes on. kResourceExhausted if the caller, all that are of its instances or operator,
  // or all from its address have too many; the farm's own user may have any.
  Result<CallLimiter::Permit> permit(const Credentials& shown) const;
  // The same for a worker's call, which counts beside all others.
  Result<CallLimiter::Permit> permitWorker(const Credentials& shown) const;

  // The instances that a worker serves which presents `certificatePem` in its call. kPermissionDenied unless
  // that is what it shows: over a network, the same name, operator and key as in its TLS certificate.
  Result<InstanceSet> admitWorker(const Credentials& shown, const std::string& certificatePem) const;

 private:
  std::shared_ptr<const AccessRules> rules() const;
  Result<CallLimiter::Permit> permitOf(CallLimiter& calls, const Credentials& shown) const;

  const Clock& clock_;
  const signing::Certificate& workerAuthority_;
  DiscoveredKeys* const discovered_;
  bool loopback_ = false;
  mutable CallLimiter calls_{kMaxCalls}, workerCalls_{kMaxWorkerCalls};
  mutable Mutex mutex_;
  std::shared_ptr<const AccessRules> rules_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::access
