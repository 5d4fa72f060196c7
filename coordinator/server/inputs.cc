#include "coordinator/server/inputs.h"

#include <fstream>

namespace kiln::server {
namespace {

Result<signing::Certificate> loadCertificate(const std::string& path) {
  std::ifstream file(path);
  std::string pem((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file && pem.empty()) return fail(Code::kNotFound, "--worker-ca: cannot read " + path);
  auto certificate = signing::Certificate::fromPem(pem);
  if (!certificate) return fail(certificate.error().in("--worker-ca " + path));
  return certificate;
}

Result<std::vector<signing::VerifierKey>> loadLogKeys(const std::vector<std::string>& paths) {
  std::vector<signing::VerifierKey> keys;
  for (const std::string& path : paths) {
    KILN_ASSIGN(signing::VerifierKey key, signing::loadVerifierKey(path));
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<std::vector<Digest>> readDigests(const std::vector<std::string>& texts) {
  std::vector<Digest> digests;
  for (const std::string& text : texts) {
    KILN_ASSIGN(const Digest digest, Digest::parse(text, 0));
    digests.push_back(digest);
  }
  return digests;
}

}  // namespace

Result<access::AccessRules> loadAccess(const Options& options) {
  if (options.access.empty()) return access::AccessRules();
  auto rules = access::AccessRules::load(options.access);
  if (!rules) return fail(rules.error().in("--access"));
  return rules;
}

Result<quota::QuotaRules> loadQuotas(const Options& options) {
  if (options.quotas.empty()) return quota::QuotaRules();
  auto rules = quota::QuotaRules::load(options.quotas);
  if (!rules) return fail(rules.error().in("--quotas"));
  return rules;
}

Result<Inputs> readInputs(const Options& options) {
  KILN_ASSIGN(signing::Certificate workerAuthority, loadCertificate(options.workerCa));
  KILN_ASSIGN(auto logKeys, loadLogKeys(options.logKeys));
  KILN_ASSIGN(auto sandboxPolicies, readDigests(options.sandboxPolicies));
  KILN_ASSIGN(auto clusterPolicies, readDigests(options.clusterPolicies));
  KILN_ASSIGN(auto policies, service::InstancePolicies::load(options.trustRoot, options.policies));
  KILN_ASSIGN(auto access, loadAccess(options));
  KILN_ASSIGN(auto quotas, loadQuotas(options));
  KILN_ASSIGN(std::shared_ptr<storage::FarmStore> blobs,
              storage::FarmStore::open(
                  {.place = options.store,
                   .database = {.conninfo = options.database, .applicationName = "kiln-coordinator blobs"},
                   .cache = options.storeCache,
                   .cacheBytes = static_cast<std::uint64_t>(options.storeCacheMib) << 20})
                  .map_error([](const Error& error) { return error.in("--store"); }));
  return Inputs{.workerAuthority = std::move(workerAuthority),
                .logKeys = std::move(logKeys),
                .sandboxPolicies = std::move(sandboxPolicies),
                .clusterPolicies = std::move(clusterPolicies),
                .policies = std::move(policies),
                .access = std::move(access),
                .quotas = std::move(quotas),
                .blobs = std::move(blobs)};
}

}  // namespace kiln::server
