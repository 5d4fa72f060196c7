// The signer's records in memory.
#pragma once

#include <map>
#include <mutex>

#include "signing/bundle/bundle.h"
#include "signing/server/records.h"

namespace kiln::testing_support {

class MemoryRecords final : public signing::Records {
 public:
  Result<std::optional<std::string>> find(std::string_view payload) override {
    return find(digestOf(payload));
  }
  Result<std::optional<std::string>> find(const Digest& payload) override {
    std::lock_guard lock(mutex_);
    auto found = bundles_.find(payload.hex());
    return found == bundles_.end() ? std::nullopt : std::optional(found->second);
  }
  Result<std::string> add(const std::string&, const signing::Envelope& envelope,
                          const signing::PublicKey& key, const std::string&) override {
    KILN_ASSIGN(std::string bundle, signing::makeBundle(envelope, key));
    std::lock_guard lock(mutex_);
    return bundles_.try_emplace(digestOf(envelope.payload).hex(), bundle).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> bundles_;
};

}  // namespace kiln::testing_support
