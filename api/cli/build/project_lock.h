// kiln.lock: what a project was built to, so that a later build says what has changed. Canonical JSON, so
// that a diff of it is one of what it says:
//
//   {"models":{"digits":{"artifacts":{"cpu:x86-64-v3":"sha256:…"},"inputs":{"model.onnx":"sha256:…"},
//    "options":"sha256:…","toolchain":"sha256:…"}},"version":1}
//
// It proves nothing: an artifact is believed for its signatures alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kiln/v1/job.pb.h"
#include "manifest/base/result.h"

namespace kiln::cli {

struct LockedModel {
  std::map<std::string, std::string> inputs;     // by the farm's path: a digest, or git+URL@COMMIT#PATH
  std::string options;                           // digest of the spec that was submitted
  std::string toolchain;                         // digest of the tree
  std::map<std::string, std::string> artifacts;  // by target

  bool operator==(const LockedModel&) const = default;
};
using ProjectLock = std::map<std::string, LockedModel>;  // by name

// Nothing where there is no such file. kInvalidArgument naming the file for what is none, or beyond 1 MiB.
Result<ProjectLock> readLockFile(const std::string& path);
// Replaces the file unless it says so already.
Status writeLockFile(const std::string& path, const ProjectLock& lock);

// Of a request that is about to be submitted: all but toolchain and artifacts.
LockedModel lockedInputs(const v1::SubmitJobRequest& request);
// The same of what came of it.
LockedModel lockedJob(const v1::SubmitJobRequest& request, const v1::Job& job);

// In what `now` is not `before`, in words: "input model.onnx: sha256:0123456789ab to sha256:ba9876543210",
// "input x: gone", "options", "cpu:x86-64-v3: new".
std::vector<std::string> changedInputs(const LockedModel& before, const LockedModel& now);
std::vector<std::string> changedArtifacts(const LockedModel& before, const LockedModel& now);
// One of these texts, or "" for the same tree.
std::string changedToolchain(const std::string& before, const std::string& now);

}  // namespace kiln::cli
