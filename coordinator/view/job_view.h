// A stored job as the wire shows it.
#pragma once

#include "kiln/v1/artifact.pb.h"
#include "kiln/v1/job.pb.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

v1::Job toProto(const index::JobSnapshot& snapshot);  // with builders if it was loaded with its evidence
v1::BuilderResult toProto(const index::ResultRecord& result);
v1::Artifact toProto(const index::ArtifactRecord& artifact);
v1::Toolchain toProto(const index::ToolchainRecord& toolchain);
void setTimestamp(google::protobuf::Timestamp* out, TimePoint time);

}  // namespace kiln::service
