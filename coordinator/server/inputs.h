// What a coordinator reads from files before it starts.
#pragma once

#include <memory>
#include <vector>

#include "coordinator/access/access_rules.h"
#include "coordinator/policy/instance_policies.h"
#include "coordinator/quota/quota_rules.h"
#include "coordinator/server/options.h"
#include "manifest/base/digest.h"
#include "signing/keys/certificate.h"
#include "signing/log/verifier_key.h"
#include "storage/farm_store/farm_store.h"

namespace kiln::server {

struct Inputs {
  signing::Certificate workerAuthority;
  std::vector<signing::VerifierKey> logKeys;
  std::vector<Digest> sandboxPolicies, clusterPolicies;
  service::InstancePolicies policies;
  access::AccessRules access;
  quota::QuotaRules quotas;
  std::shared_ptr<storage::FarmStore> blobs;
};

// Reads all of it and opens the store. Errors name the option and its file.
Result<Inputs> readInputs(const Options& options);

// The access file of the options; without one nobody over TLS may do anything. Errors name --access.
Result<access::AccessRules> loadAccess(const Options& options);

// The quota file of the options; without one nobody has a limit. Errors name --quotas.
Result<quota::QuotaRules> loadQuotas(const Options& options);

}  // namespace kiln::server
