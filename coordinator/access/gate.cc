#include "coordinator/access/gate.h"

#include <fmt/format.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include "coordinator/access/peer_address.h"
#include "coordinator/access/peer_certificate.h"
#include "manifest/base/printable.h"
#include "storage/blob/instance_name.h"
#include "storage/logging/log.h"

namespace kiln::access {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::size_t kMaxLoggedVerdicts = 1024;  // bytes, and one verdict more

tl::unexpected<Error> denied(const Identity& who, std::string_view rpc, const std::string& why) {
  return fail(Code::kPermissionDenied,
              fmt::format("{} may not call {}: {}; an administrator grants it in the farm's access file",
                          describe(who), rpc, why));
}

// Workers are their operator's, wherever they serve.
std::vector<std::string> tenantsOf(const Identity& who, const AccessRules& rules) {
  if (const auto* worker = std::get_if<WorkerHolder>(&who)) return {"operator " + worker->operatorName};
  const InstanceSet instances = rules.instancesOf(who);
  return instances.all ? std::vector{std::string(kEveryInstance)} : instances.names;
}

// For the operator alone: a caller who is told what a grant wants learns the farm's rules.
void logUnmet(const Identity& who, std::string_view rpc, const AccessRules& rules) {
  const auto* holder = std::get_if<TokenHolder>(&who);
  if (!holder) return;
  std::string grants;
  for (const GrantVerdict& verdict : rules.explain(*holder)) {
    if (grants.size() > kMaxLoggedVerdicts) break;
    grants += fmt::format("{}{}: {}", grants.empty() ? "" : "; ", verdict.grant->name,
                          verdict.unmet.empty() ? "gives " + verdict.grant->roles.names() : verdict.unmet);
  }
  logging::warning("no grant fits a token", {{"caller", describe(who)},
                                             {"rpc", std::string(rpc)},
                                             {"grants", grants.empty() ? "none of its issuer" : grants}});
}

}  // namespace

Credentials credentialsOf(const grpc::ServerContextBase& context) {
  Credentials out;
  out.local = context.peer().starts_with("unix:");
  if (const auto auth = context.auth_context()) {
    const auto found = auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    if (!found.empty()) out.certificate.assign(found.front().data(), found.front().size());
  }
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  for (auto at = first; at != last; ++at)
    out.authorizations.emplace_back(at->second.data(), at->second.size());
  out.address = sourceOfPeer(context.peer());
  return out;
}

Gate::Gate(const Clock& clock, const signing::Certificate& workerAuthority, AccessRules rules,
           DiscoveredKeys* discovered)
    : clock_(clock),
      workerAuthority_(workerAuthority),
      discovered_(discovered),
      rules_(std::make_shared<const AccessRules>(std::move(rules))) {
  if (discovered_) discovered_->follow(rules_->tokenIssuers());
}

std::unique_ptr<Gate> Gate::ofLoopback(const Clock& clock, const signing::Certificate& workerAuthority) {
  auto gate = std::make_unique<Gate>(clock, workerAuthority);
  gate->loopback_ = true;
  return gate;
}

void Gate::replace(AccessRules rules) {
  auto next = std::make_shared<const AccessRules>(std::move(rules));
  if (discovered_) discovered_->follow(next->tokenIssuers());
  const MutexLock lock(mutex_);
  rules_ = std::move(next);
}

std::shared_ptr<const AccessRules> Gate::rules() const {
  const MutexLock lock(mutex_);
  return rules_;
}

Result<Identity> Gate::identify(const Credentials& shown) const {
  if (loopback_) return LoopbackCaller{};
  if (shown.local) return LocalUser{};
  if (shown.authorizations.size() > 1)
    return fail(Code::kUnauthenticated, "the call carries several authorizations; send one token");
  if (!shown.authorizations.empty()) {
    const std::string& text = shown.authorizations.front();
    if (!text.starts_with(kBearer))
      return fail(Code::kUnauthenticated, "the authorization is no bearer token");
    const auto now = rules();
    return verifyToken(std::string_view(text).substr(kBearer.size()), now->tokenIssuers(), clock_.now(),
                       discovered_);
  }
  if (shown.certificate.empty())
    return fail(Code::kUnauthenticated,
                "nothing says who calls: give a client certificate (--tls-cert, --tls-key) or a token "
                "(--token-file)");
  KILN_ASSIGN(const CertificateId id, certificateId(shown.certificate));
  if (rules()->isRevoked(id))
    return fail(Code::kUnauthenticated, "the certificate with serial number " + id.serial + " of " +
                                            printable(id.issuer) + " was revoked");
  return identifyCertificate(shown.certificate, workerAuthority_, clock_.now());
}

Status Gate::admit(const Credentials& shown, std::string_view rpc, const std::string& instance) const {
  return admit(shown, findRule(rpc), rpc, instance);
}

Status Gate::admit(const Credentials& shown, const RpcRule* rule, std::string_view rpc,
                   const std::string& instance) const {
  KILN_ASSIGN(const Identity who, identify(shown));
  if (!rule || rule->scope == Scope::kWorker) return denied(who, rpc, "nobody may");
  KILN_TRY(storage::checkInstanceName(instance));
  const auto now = rules();
  const bool may =
      rule->scope == Scope::kAnywhere
          ? now->rolesAnywhere(who).meets(rule->roles)
          : now->rolesOf(who, rule->scope == Scope::kFarm ? kEveryInstance : std::string_view(instance))
                .meets(rule->roles);
  if (may) return {};
  logUnmet(who, rpc, *now);
  const std::string place = rule->scope == Scope::kFarm       ? "in every instance"
                            : rule->scope == Scope::kAnywhere ? "in some instance"
                                                              : "in the instance " + inQuotes(instance);
  return denied(who, rpc, fmt::format("it wants a role among {} {}", rule->roles.names(), place));
}

std::string Gate::grantFor(const Identity& who, std::string_view rpc, const std::string& instance) const {
  const RpcRule* rule = findRule(rpc);
  return rule ? rules()->grantFor(who, rule->roles, instance) : "";
}

Result<CallLimiter::Permit> Gate::permit(const Credentials& shown) const {
  return permitOf(calls_, shown);
}

Result<CallLimiter::Permit> Gate::permitWorker(const Credentials& shown) const {
  return permitOf(workerCalls_, shown);
}

Result<CallLimiter::Permit> Gate::permitOf(CallLimiter& calls, const Credentials& shown) const {
  KILN_ASSIGN(const Identity who, identify(shown));
  if (std::holds_alternative<LocalUser>(who)) return CallLimiter::Permit();
  return calls.acquire({describe(who), tenantsOf(who, *rules()), shown.address});
}

Result<InstanceSet> Gate::admitWorker(const Credentials& shown, const std::string& certificatePem) const {
  constexpr std::string_view kRpc = "kiln.v1.WorkerService/Synchronize";
  // A worker proves itself by its certificate. A token is not even looked at: this runs on a thread that many
  // workers share, and must not wait for an issuer.
  if (!shown.local && !shown.authorizations.empty())
    return fail(Code::kUnauthenticated, "a worker shows its certificate, and no token");
  KILN_ASSIGN(const Identity who, identify(shown));
  const auto presented = signing::Certificate::fromPem(certificatePem);
  if (!presented) return fail(Code::kUnauthenticated, "worker certificate: " + presented.error().message);
  if (!std::holds_alternative<LocalUser>(who)) {
    const WorkerHolder same{presented->commonName(), presented->organisation(),
                            keyDigest(presented->publicKey())};
    if (who != Identity(same))
      return denied(who, kRpc,
                    "the certificate in the call is of " + describe(same) + " and not of this connection");
  }
  const InstanceSet instances = rules()->instancesOf(who, Role::kWorker);
  if (instances.empty()) return denied(who, kRpc, "it is a worker of no instance");
  return instances;
}

}  // namespace kiln::access
