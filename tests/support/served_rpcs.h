// Every RPC that the repository's .proto files define for a coordinator, by reflection.
#pragma once

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "build/bazel/semver/semver.pb.h"
#include "google/api/annotations.pb.h"
#include "google/bytestream/bytestream.pb.h"
#include "google/longrunning/operations.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "kiln/v1/artifact.pb.h"
#include "kiln/v1/attestation.pb.h"
#include "kiln/v1/audit.pb.h"
#include "kiln/v1/job.pb.h"
#include "kiln/v1/maintenance.pb.h"
#include "kiln/v1/recall.pb.h"
#include "kiln/v1/signer.pb.h"
#include "kiln/v1/transfer.pb.h"
#include "kiln/v1/worker.pb.h"

namespace kiln::testing_support {

// kiln-signer serves its own, on a Unix socket that only the coordinator's user can open.
inline bool isServedElsewhere(const std::string& service) {
  return service == "kiln.v1.SignerService";
}

// Fails for a .proto file that is not named here.
inline std::vector<const google::protobuf::MethodDescriptor*> servedRpcs() {
  namespace fs = std::filesystem;
  // One message of each file, which links the file into the program.
  std::set<std::string> known;
  known.insert(
      "google/api/annotations.proto");  // which has no message, and is there with google/api/http.proto
  for (const auto* message :
       {google::api::HttpRule::descriptor(), google::bytestream::ReadRequest::descriptor(),
        build::bazel::remote::execution::v2::Action::descriptor(), build::bazel::semver::SemVer::descriptor(),
        google::longrunning::Operation::descriptor(), google::rpc::PreconditionFailure::descriptor(),
        google::rpc::Status::descriptor(), v1::Artifact::descriptor(), v1::Attestation::descriptor(),
        v1::ListAffectedRequest::descriptor(), v1::Job::descriptor(), v1::CollectGarbageRequest::descriptor(),
        v1::SignRequest::descriptor(), v1::Recalls::descriptor(), v1::BlobRoute::descriptor(),
        v1::Lease::descriptor()})
    known.insert(message->file()->name());
  std::vector<const google::protobuf::MethodDescriptor*> out;
  const fs::path root = KILN_PROTO_DIR;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".proto") continue;
    const std::string name = fs::relative(entry.path(), root).generic_string();
    const auto* file = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(name);
    if (!known.contains(name) || !file) {
      ADD_FAILURE() << name << " is not named in tests/support/served_rpcs.h";
      continue;
    }
    for (int s = 0; s < file->service_count(); ++s)
      for (int m = 0; m < file->service(s)->method_count(); ++m)
        if (!isServedElsewhere(file->service(s)->full_name())) out.push_back(file->service(s)->method(m));
  }
  return out;
}

}  // namespace kiln::testing_support
