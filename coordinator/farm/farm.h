// The dependencies that every part of the coordinator works with; put together in coordinator/server.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "coordinator/farm/digest_cache.h"
#include "coordinator/farm/metrics.h"
#include "coordinator/jobs/publication.h"
#include "coordinator/queue/change_feed.h"
#include "coordinator/queue/lease_queue.h"
#include "manifest/base/clock.h"
#include "manifest/statement/toolchain_admission.h"
#include "signing/client/signer_client.h"
#include "signing/keys/certificate.h"
#include "signing/recall/recalls.h"
#include "storage/blob/blob_store.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

class LoggedRecalls;    // recall/logged_recalls.h
struct ProvenArtifact;  // planning/proof.h

// References to things that outlive every service; all of them thread safe.
struct Farm {
  const Clock& clock;
  postgres::Pool& database;
  storage::BlobStore& blobs;
  signing::Signer& signer;
  const signing::Certificate& workerAuthority;
  queue::ChangeFeed& feed;
  queue::LeaseQueue queue;
  Metrics& metrics;
  jobs::BuilderIdentity builder;
  TimePoint graceUntil;  // until then a missing worker may only not have called yet
  // Told the name of each point that a job passes between two durable states. Fault tests stop the program
  // there.
  std::function<void(std::string_view)> reached = [](std::string_view) {};
  // What hits would otherwise verify each time (planning/proof.cc, recall/recalls.cc).
  std::shared_ptr<DigestCache<ProvenArtifact>> proofs = std::make_shared<DigestCache<ProvenArtifact>>(4096);
  std::shared_ptr<DigestCache<signing::Recalls>> recalls = std::make_shared<DigestCache<signing::Recalls>>(2);
  std::vector<Digest> sandboxPolicies = {};  // that receipts may name; empty: any that fits its action
  std::shared_ptr<DigestCache<ToolchainAdmission>> admissions =
      std::make_shared<DigestCache<ToolchainAdmission>>(256);  // planning/admitted_toolchain.cc
  std::string trustRoot;  // the farm's root, a path; "" if it was given none
  // What the log says was recalled; null where the farm has no log, or no trust root.
  std::shared_ptr<LoggedRecalls> loggedRecalls;
};

// The points, in the order in which a job passes them.
inline constexpr std::string_view kPointSubmitted = "submitted";         // job stored, not yet acknowledged
inline constexpr std::string_view kPointResultStored = "result-stored";  // a builder's result stored
inline constexpr std::string_view kPointAssembled = "assembled";  // OCI manifest and receipts in the CAS
inline constexpr std::string_view kPointSigned = "signed";        // the signer has answered
inline constexpr std::string_view kPointBundleStored = "bundle-stored";  // the bundle is in the CAS
inline constexpr std::string_view kPointPublished = "published";         // the index has the artifact
inline constexpr std::string_view kPointEnded = "ended";                 // the job is closed

// And one between two durable states of a publication of recalls.
inline constexpr std::string_view kPointRecallLogged = "recall-logged";  // in the log, not in force yet

// And one between two durable states of a collection of garbage; the store has more (storage/blob/sweep.h).
inline constexpr std::string_view kPointMarked = "gc-marked";  // roots read, nothing removed yet

}  // namespace kiln::service
