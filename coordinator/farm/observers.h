// Who is told what happens, and the points of a job that fault tests know.
#pragma once

#include <functional>
#include <string_view>

#include "coordinator/farm/job_trace.h"
#include "coordinator/farm/metrics.h"

namespace kiln::service {

// Thread safe. The metrics must outlive it, and so must the spans' sink.
struct Observers {
  Metrics& metrics;
  // Told the name of each point that a job passes between two durable states. Fault tests stop the program
  // there.
  std::function<void(std::string_view)> reached = [](std::string_view) {};
  Tracing tracing = {};  // who is told what became of traced jobs
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
