// What handing out work, and taking it back, needs.
#pragma once

#include <memory>
#include <vector>

#include "coordinator/queue/change_feed.h"
#include "coordinator/queue/lease_queue.h"
#include "coordinator/quota/quota_rules.h"
#include "manifest/base/clock.h"
#include "signing/keys/certificate.h"

namespace kiln::service {

// Thread safe. What is referred to must outlive it.
struct Leasing {
  queue::ChangeFeed& feed;
  queue::LeaseQueue queue;
  const signing::Certificate& workerAuthority;
  TimePoint graceUntil;  // until then a missing worker may only not have called yet
  std::shared_ptr<quota::Quotas> quotas = std::make_shared<quota::Quotas>();
  std::vector<Digest> sandboxPolicies = {};  // that receipts may name; empty: any that fits its action
  std::vector<Digest> clusterPolicies = {};  // of clusters that may run actions; empty: none
};

}  // namespace kiln::service
