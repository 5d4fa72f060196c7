// Rows of the index as messages of kiln.v1.AuditService, and positions in its lists as text.
#pragma once

#include <string>
#include <string_view>

#include "kiln/v1/audit.pb.h"
#include "storage/index/artifacts/verdict_repository.h"
#include "storage/index/audit/audit_repository.h"
#include "storage/index/toolchains/toolchain_parts.h"
#include "storage/index/tuning/tuning_repository.h"

namespace kiln::service {

v1::StatementRef toProto(const index::BundleRecord& statement);
v1::Admission toProto(const index::AdmissionRecord& admission);
v1::ToolchainPart toProto(const index::PartRecord& part);
v1::ProvenanceStatement toProto(const index::StatementRecord& statement);
// `verdict`: null if it is the newest on no artifact.
v1::IndexedStatement indexedStatement(const index::StatementRecord& statement,
                                      const index::StoredVerdict* verdict);
v1::IndexedArtifact indexedArtifact(const index::ArtifactRecord& artifact,
                                    const std::vector<Digest>& actions);
v1::IndexedTuningRecord toProto(const index::IndexedTuning& tuning);
v1::Submission toProto(const index::SubmissionRecord& submission);

// "<microseconds> <hex>"
std::string positionText(const index::Position& position);
Result<index::Position> readPosition(std::string_view text);

}  // namespace kiln::service
