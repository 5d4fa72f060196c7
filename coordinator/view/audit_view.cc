#include "coordinator/view/audit_view.h"

#include <charconv>

#include "coordinator/jobs/publication.h"
#include "coordinator/view/job_view.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/statement/tune_statement.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {
namespace {

std::string uriOf(const std::optional<index::GitSource>& source) {
  return source ? jobs::gitUri(*source) : "";
}

void addMentions(const std::vector<index::Mention>& mentions, bool own, v1::IndexedStatement& out) {
  for (const index::Mention& mention : mentions) {
    v1::IndexedMention& added = *out.add_mentions();
    added.set_kind(static_cast<int>(mention.kind));
    added.set_value(mention.value.hash.data(), mention.value.hash.size());
    added.set_own(own);
  }
}

}  // namespace

v1::StatementRef toProto(const index::BundleRecord& statement) {
  v1::StatementRef out;
  out.set_payload(statement.payload.text());
  *out.mutable_bundle() = kiln::toProto(statement.bundle);
  out.set_predicate_type(statement.predicateType);
  setTimestamp(out.mutable_recorded(), statement.recorded);
  return out;
}

v1::Admission toProto(const index::AdmissionRecord& admission) {
  v1::Admission out;
  out.set_label(admission.label);
  if (admission.lock) *out.mutable_lock() = kiln::toProto(*admission.lock);
  *out.mutable_statement() = toProto(
      index::BundleRecord{admission.payload, admission.bundle, kToolchainType, "", admission.admitted});
  return out;
}

v1::ToolchainPart toProto(const index::PartRecord& part) {
  v1::ToolchainPart out;
  out.set_kind(part.kind);
  out.set_name(part.name);
  out.set_version(part.version);
  out.set_path(part.path);
  *out.mutable_digest() = kiln::toProto(part.digest);
  return out;
}

v1::ProvenanceStatement toProto(const index::StatementRecord& statement) {
  v1::ProvenanceStatement out;
  *out.mutable_statement() = toProto(statement.bundle);
  if (statement.bundle.signer) out.set_key(toBase64(statement.bundle.signer->hash));
  out.set_job(statement.bundle.jobId);
  for (const index::MaterialRecord& material : statement.materials) {
    v1::ProvenanceMaterial& added = *out.add_materials();
    added.set_kind(material.kind);
    added.set_name(material.name);
    added.set_uri(material.uri);
    *added.mutable_digest() = kiln::toProto(material.digest);
  }
  for (const index::BuilderRecord& builder : statement.builders) {
    v1::ProvenanceBuilder& added = *out.add_builders();
    added.set_worker(builder.worker);
    added.set_operator_(builder.operatorName);
  }
  return out;
}

v1::IndexedStatement indexedStatement(const index::StatementRecord& statement,
                                      const index::StoredVerdict* verdict) {
  v1::IndexedStatement out;
  *out.mutable_statement() = toProto(statement);
  addMentions(statement.bundle.mentions, true, out);
  addMentions(statement.inherited, false, out);
  for (const std::string& table : statement.inconsistent) out.add_inconsistent(table);
  if (verdict) {
    out.mutable_verdict()->set_artifact(verdict->artifact.text());
    out.mutable_verdict()->set_facts(verdict->verdict.facts.hash.data(), verdict->verdict.facts.hash.size());
    out.mutable_verdict()->set_passed(verdict->verdict.passed);
  }
  return out;
}

v1::IndexedArtifact indexedArtifact(const index::ArtifactRecord& artifact,
                                    const std::vector<Digest>& actions) {
  v1::IndexedArtifact out;
  *out.mutable_manifest() = kiln::toProto(artifact.digest);
  *out.mutable_config() = kiln::toProto(artifact.config);
  out.set_target(artifact.target);
  out.set_toolchain_label(artifact.toolchainLabel);
  out.set_toolchain_digest(artifact.toolchainDigest.text());
  if (artifact.fixtures) *out.mutable_fixtures() = kiln::toProto(*artifact.fixtures);
  for (const index::FileRecord& file : artifact.files) {
    v1::IndexedFile& added = *out.add_files();
    added.set_path(file.path);
    added.set_media_type(file.mediaType);
    *added.mutable_digest() = kiln::toProto(file.digest);
  }
  for (const Digest& action : actions) out.add_actions(action.text());
  return out;
}

v1::IndexedTuningRecord toProto(const index::IndexedTuning& tuning) {
  const index::TuningRecordRow& record = tuning.record;
  v1::IndexedTuningRecord out;
  *out.mutable_record() = kiln::toProto(record.record);
  out.set_target(record.target);
  *out.mutable_statement() =
      toProto(index::BundleRecord{record.payload, record.bundle, kTuneType, record.jobId, record.recorded});
  out.set_worker(record.worker);
  out.set_operator_(record.operatorName);
  out.set_job(record.jobId);
  for (const index::IndexedTuning::Entry& entry : tuning.entries) {
    v1::IndexedTuningEntry& added = *out.add_entries();
    added.set_target(entry.target);
    added.set_signature(entry.row.signature);
    added.set_entry(entry.row.entry);
  }
  return out;
}

v1::Submission toProto(const index::SubmissionRecord& submission) {
  v1::Submission out;
  out.set_job(submission.jobId);
  out.set_submitter(submission.submitter);
  out.set_target(submission.target);
  setTimestamp(out.mutable_submitted(), submission.submitted);
  out.set_cached(submission.cached);
  for (const index::SourceRecord& source : submission.sources) {
    v1::Submission::Source& added = *out.add_sources();
    added.set_path(source.path);
    added.set_uri(uriOf(source.git));
    added.set_claimed(uriOf(source.origin));
    if (source.blob) added.set_digest(source.blob->text());
  }
  return out;
}

std::string positionText(const index::Position& position) {
  return std::to_string(position.recorded.time_since_epoch().count()) + " " + position.payload.hex();
}

Result<index::Position> readPosition(std::string_view text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  std::int64_t micros = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + space, micros);
  if (error != std::errc() || end != text.data() + space || space == text.size())
    return fail(Code::kInvalidArgument, "page_token: holds no position");
  KILN_ASSIGN(const Digest payload, Digest::parse(text.substr(space + 1), 0));
  return index::Position{TimePoint(Duration(micros)), payload};
}

}  // namespace kiln::service
