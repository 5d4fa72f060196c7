// Promise 7, column by column: every row and column of the schema is rewritten, deleted and doubled behind
// the farm's back, and this list says who notices. A new table or column fails the test until it is in the
// list.
#include <array>
#include <map>

#include "coordinator/policy/promoter.h"
#include "coordinator/tuning/tuning_documents.h"
#include "signing/keys/files.h"
#include "storage/index/tuning/tuning_repository.h"
#include "tests/api/audit/logged_farm.h"
#include "tests/support/sample_tuning.h"

namespace kiln::audit {
namespace {

using namespace testing;

// Who notices that a value of the column became another one. kAudit is shown here; kElsewhere by the test
// that `why` names; of kHarmless `why` says what else decides.
enum class Who { kAudit, kElsewhere, kHarmless };
struct Noticed {
  const char* columns;  // of one table, separated by spaces
  Who who;
  const char* why;
  const char* change = nullptr;  // SQL of the new value; nullptr: another value of the column's type
};
struct Table {
  const char* name;
  std::vector<Noticed> columns;
  Who deleted;           // all of its rows
  const char* doubled;   // column that another row differs in, which the audit notices; nullptr: harmless
  const char* why = "";  // where deleted or doubled rows are harmless or noticed elsewhere
};

const std::vector<Table>& tables() {
  static const std::vector<Table> all{
      {"artifacts",
       {{"instance hash size config_hash config_size target toolchain_label toolchain_hash fixtures_hash "
         "fixtures_size",
         Who::kAudit, ""},
        {"published", Who::kHarmless, "order of lists; times are the log's to say"}},
       Who::kAudit,
       "hash"},
      {"artifact_actions",
       {{"action_hash", Who::kAudit, ""},
        {"artifact_hash", Who::kAudit, "",
         "(SELECT hash FROM artifacts WHERE hash <> artifact_actions.artifact_hash LIMIT 1)"},
        {"instance", Who::kHarmless, "no hit in the cache: it is built again"}},
       Who::kHarmless,
       "action_hash",
       "no hit in the cache: it is built again"},
      {"artifact_files",
       {{"instance artifact_hash path media_type hash size", Who::kAudit, ""}},
       Who::kAudit,
       "path"},
      {"statements",
       {{"instance payload_hash artifact_hash predicate_type bundle_hash bundle_size job_id recorded signer",
         Who::kAudit, ""},
        {"referrer_hash", Who::kHarmless,
         "an OCI client finds no referrer, or hashes what it gets: the name is the digest"}},
       Who::kAudit,
       "payload_hash"},
      {"artifact_images",
       {{"instance hash artifact_hash config_hash files_hash files_size evidence_hash evidence_size bundles "
         "payload_hash referrer_hash",
         Who::kElsewhere,
         "the gateway makes the image anew, and serves it under its own digest (image_test)"},
        {"made", Who::kHarmless, "which of several has the tag; the statement names each"}},
       Who::kElsewhere,
       nullptr,
       "an image that is not found is served to nobody (image_test)"},
      {"artifact_irs",
       {{"instance artifact_hash hash payload_hash", Who::kElsewhere,
         "kiln fetch --ir takes what the signed statement names, and its digest is computed (fetch_test)"}},
       Who::kElsewhere,
       nullptr,
       "an IR that is not found is served to nobody"},
      {"artifact_ir_files",
       {{"instance artifact_hash path hash size", Who::kElsewhere,
         "kiln fetch --ir takes the files that the signed statement names, each by its hash (fetch_test)"}},
       Who::kElsewhere,
       nullptr,
       "an IR that is not found is served to nobody"},
      {"materials",
       {{"instance payload_hash artifact_hash kind name uri hash size", Who::kAudit, ""}},
       Who::kAudit,
       "name"},
      {"builders",
       {{"instance payload_hash artifact_hash worker operator", Who::kAudit, ""}},
       Who::kAudit,
       "worker"},
      {"mentions",
       {{"instance kind value own recorded payload_hash", Who::kAudit, ""}},
       Who::kAudit,
       "value"},
      {"toolchains",
       {{"instance label hash size description", Who::kAudit, ""},
        {"targets", Who::kHarmless, "the compiler refuses a target that it does not know"},
        {"added", Who::kHarmless, "order of lists; the admission says when"}},
       Who::kAudit,
       "label"},
      {"toolchain_admissions",
       {{"instance label lock_hash lock_size payload_hash bundle_hash bundle_size admitted", Who::kAudit, ""},
        {"locked", Who::kHarmless, "the database refuses it: a constraint ties it to lock_hash"}},
       Who::kAudit,
       "admitted"},
      {"toolchain_parts",
       {{"instance tree_hash kind name version path hash size", Who::kAudit, ""}},
       Who::kAudit,
       "name"},
      {"toolchain_defaults",
       {{"instance label", Who::kHarmless,
         "the farm's choice for whoever names none; provenance and lock say which one it was"}},
       Who::kElsewhere,
       nullptr,
       "a submission that names no toolchain is refused (refusal_test)"},
      {"log",
       {{"origin", Who::kAudit, ""},
        {"size", Who::kAudit, "", "0"},
        {"only_row", Who::kHarmless, "the database refuses it"},
        {"epoch", Who::kElsewhere, "kiln-log commits under its own epoch alone (log_repository_test)"}},
       Who::kAudit,
       nullptr,
       "the database refuses a second row"},
      {"log_checkpoints",
       {{"size root note", Who::kAudit, ""}},
       Who::kAudit,
       nullptr,
       "one that no entry names proves nothing"},
      {"signatures",
       {{"log_digest payload_hash instance payload leaf log_index tree_size", Who::kAudit, ""},
        {"proof", Who::kAudit, "", "sha256(proof)"},
        {"signed_at intake", Who::kHarmless, "time and order are the log's to say"},
        {"trace", Who::kHarmless, "for whoever watches the farm: where a span is shown"}},
       Who::kAudit,
       nullptr,
       "the log takes it in, and the audit finds an entry without a statement"},
      {"recalls",
       {{"version document root", Who::kAudit, ""},
        {"published", Who::kHarmless, "recalls say themselves when they were issued"}},
       Who::kAudit,
       "version"},
      {"tuning_records",
       {{"instance record_hash record_size target payload_hash bundle_hash bundle_size worker operator "
         "job_id "
         "recorded",
         Who::kAudit, ""}},
       Who::kAudit,
       "record_hash"},
      {"tuning_entries",
       {{"target signature entry", Who::kAudit, ""},
        {"instance record_hash", Who::kHarmless, "leads to no record there: the kernel is measured again"}},
       Who::kHarmless,
       "signature",
       "kernels are measured again"},
      {"tuning_history",
       {{"target signature entry", Who::kAudit, ""},
        {"instance record_hash", Who::kHarmless, "leads to no record there: the kernel is measured again"}},
       Who::kHarmless,
       "signature",
       "kernels are measured again"},
      {"policies_in_force",
       {{"only_row policies", Who::kHarmless,
         "which coordinator judges; a verdict counts for what it says (promoter_test)"}},
       Who::kHarmless,
       nullptr,
       "put in force again at the next start"},
      {"instance_policies",
       {{"instance basis", Who::kHarmless, "artifacts are judged again"}},
       Who::kHarmless,
       nullptr,
       "artifacts are judged again"},
      {"verdicts_due",
       {{"instance artifact_hash since revision", Who::kHarmless,
         "what is served is judged when it is asked for; a verdict says itself when it was given"}},
       Who::kHarmless,
       nullptr,
       "likewise"},
      {"verdicts",
       {{"artifact_hash facts passed", Who::kAudit, ""},
        {"instance payload_hash", Who::kHarmless,
         "spares signing the same again; each verdict is a signed statement, and what is served is judged "
         "anew"}},
       Who::kHarmless,
       nullptr,
       "likewise"},
      {"attestations",
       {{"instance payload_hash artifact_hash added", Who::kHarmless,
         "bounds how many there are; the statements themselves are in `statements`"}},
       Who::kHarmless,
       nullptr,
       "likewise"},
      {"jobs",
       {{"instance id idempotency_key request_hash state cancel_wanted reuse submitted ended toolchain_label "
         "toolchain_hash toolchain_size options delivery error_code error_message error_exit error_details "
         "deadline",
         Who::kElsewhere,
         "kiln build holds what was built against what it asked for (build_test); a job is no statement"},
        {"model_name submitter trace revision", Who::kHarmless,
         "for display, and whom the farm says to have asked: no statement says it, and answers say so"}},
       Who::kElsewhere,
       nullptr,
       "a job that is not there"},
      {"executions",
       {{"instance job_id action_hash action_size cacheable", Who::kElsewhere,
         "a result counts for what its receipt says of the salted action (planning/proof.cc); none is of "
         "an artifact"},
        {"watched", Who::kHarmless, "whether anybody still waits for what has not begun"}},
       Who::kElsewhere,
       nullptr,
       "likewise: such a job is none"},
      {"sources",
       {{"instance job_id ordinal path hash size git_url git_commit git_path origin_url origin_commit "
         "origin_path",
         Who::kElsewhere, "kiln build holds what was built against what it sent (build_test)"}},
       Who::kElsewhere,
       nullptr,
       "likewise"},
      {"job_targets",
       {{"instance job_id ordinal target artifact_hash tuning_hash tuning_size check_outcome",
         Who::kElsewhere, "kiln build holds what was built against what it asked for (build_test)"},
        {"ir", Who::kHarmless,
         "the job ends without an IR, or makes it again; kiln fetch --ir says that there is none"},
        {"cached builders", Who::kHarmless, "for display: the provenance says who built"}},
       Who::kElsewhere,
       nullptr,
       "likewise"},
      {"actions",
       {{"instance hash size kind target", Who::kElsewhere,
         "a receipt names the action that ran (receipt_test), which workers read by its digest"}},
       Who::kElsewhere,
       nullptr,
       "likewise"},
      {"job_actions",
       {{"instance job_id ordinal action_hash source", Who::kElsewhere,
         "what an action leaves must be of the job's own spec (job_flow_test)"}},
       Who::kElsewhere,
       nullptr,
       "likewise"},
      {"runs",
       {{"instance id job_id action_hash action_size kind target toolchain_hash git_url git_commit git_path "
         "priority operators_wanted excluded_workers counted_operators time_limit state queued attempts "
         "epoch "
         "worker operator expires stage avoid_worker avoid_until error_code error_message revision emulated "
         "worker_key deadline "
         "devices contested not_before subject magnitude expected rank job_deadline toolchain_size",
         Who::kElsewhere,
         "the queue: what comes of it is held against the worker's receipt (receipt_test) and, published, "
         "against receipts by the signer"}},
       Who::kElsewhere,
       nullptr,
       "likewise"},
      {"durations",
       {{"instance kind target magnitude subject seconds runs", Who::kHarmless,
         "in which order runs are handed out; what comes of them is the same"}},
       Who::kHarmless,
       nullptr,
       "learnt again"},
      {"usage",
       {{"instance resource since amount", Who::kHarmless, "how much of its quota an instance has used"}},
       Who::kHarmless,
       nullptr,
       "likewise"},
      {"attempts",
       {{"instance run_id epoch worker operator leased ended outcome error error_code", Who::kHarmless,
         "a record of what went wrong; nothing is decided by it"},
        {"receipt_hash", Who::kHarmless,
         "which report of a cancelled search counts; any is held against its own receipt (receipt_test)"}},
       Who::kHarmless,
       nullptr,
       "likewise"},
      {"action_results",
       {{"instance run_id epoch job_id action_hash worker operator exit_code outputs_hash result receipt "
         "certificate",
         Who::kElsewhere, "a result counts for what its receipt says (proven_result_test)"},
        {"leased recorded disputed", Who::kHarmless,
         "times in provenance are the farm's word; the builders of one job are compared by their receipts"}},
       Who::kElsewhere,
       nullptr,
       "what is gone is built again"},
      {"client_results",
       {{"instance action_hash action_size result writer written used", Who::kHarmless,
         "never evidence: it answers the clients that wrote it, and no build, proof or audit reads it"}},
       Who::kHarmless,
       nullptr,
       "a client's action is executed again"},
      {"workers",
       {{"name operator certificate description targets kinds draining first_contact last_contact runs "
         "emulates",
         Who::kHarmless, "who may take which lease follows from the certificate that a worker shows"}},
       Who::kHarmless,
       nullptr,
       "workers announce themselves again"},
      {"fleet",
       {{"operator name key place instances certificate description targets runs emulates kinds draining "
         "first_contact last_contact slots",
         Who::kHarmless, "written at each contact; who may take which lease follows from the certificate"},
        {"proven bad_ends held_back_until", Who::kHarmless, "how much of the queue a worker gets at once"}},
       Who::kHarmless,
       nullptr,
       "workers announce themselves again"},
      {"farm",
       {{"only_row generation system_identifier timeline", Who::kElsewhere,
         "lease epochs: a stale one is refused (lease_queue_test)"}},
       Who::kElsewhere,
       nullptr,
       "opened again at the next start"},
      {"blob_store",
       {{"only_row id", Who::kElsewhere, "the mark in the bucket has the same id (s3_blob_store_test)"},
        {"scrubbed_hash scrubbed_size", Who::kHarmless, "where the next scrub goes on"}},
       Who::kElsewhere,
       nullptr,
       "a new id is not that of the mark in the bucket: the store is not opened"},
      {"blobs",
       {{"hash size generation begun", Who::kHarmless,
         "what is read is hashed; what is not found is uploaded again"}},
       Who::kHarmless,
       nullptr,
       "what is not found is uploaded again"},
      {"condemned_objects",
       {{"hash size generation due is_last", Who::kHarmless,
         "an object that is removed is missing, and uploaded again"}},
       Who::kHarmless,
       nullptr,
       "objects that nobody reads stay in the bucket"},
      {"blob_references",
       {{"instance hash size generation upload promised", Who::kHarmless,
         "what is read is hashed, whoever may read it; what is not found is uploaded again"}},
       Who::kHarmless,
       nullptr,
       "what is not found is uploaded again"},
  };
  return all;
}

std::vector<std::string> words(const char* text) {
  std::vector<std::string> out{""};
  for (const char* at = text; *at; ++at)
    if (*at == ' ')
      out.emplace_back();
    else
      out.back() += *at;
  return out;
}

class EveryColumn : public LoggedFarm {
 protected:
  void SetUp() override {
    root_.recallKeys = signing::RecallKeys{{1, {recallKey_.publicKey()}}, 1, 10};
    ASSERT_TRUE(signing::writeTextFile(trustRoot_, root_.toJson().dump()));
    AuditedFarm::SetUp();
    tuned();
    recalled();
    judged();
  }

  // A record with an entry, and an artifact that was compiled with it.
  void tuned() {
    v1::Device cpu;
    cpu.set_id("cpu");
    cpu.set_kind("cpu");
    cpu.set_healthy(true);
    cpu.add_runs("cpu:x86-64-v3");
    *one_->description.add_devices() = cpu;
    ASSERT_TRUE(one_->synchronize({}));
    v1::SubmitJobRequest wanted = request("tuned", 1, "a model");
    DeliverySpec delivery;
    delivery.tuning = TuningRequest{.search = true, .budgetSeconds = 30};
    wanted.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    const v1::Job job = submitted(wanted);
    settle(job.id(), {one_.get()});
    ASSERT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
  }
  void recalled() {
    const signing::Recall news{signing::RecallKind::kWorker, "w9", "bad", clock_.now(), {}, {}, {}, {}, true};
    const auto text = signing::Recalls::issue(nullptr, news, std::array{recallKey_}, clock_.now(),
                                              clock_.now() + std::chrono::hours(1000), "");
    const auto published = publish(text.value());
    ASSERT_TRUE(published) << published.error().message;
  }

  void judged() {
    const signing::Policy policy{
        .name = "test", .allowDevelopment = true, .builderIds = {"*"}, .targets = {"*"}, .toolchains = {"*"}};
    const service::InstancePolicies policies(trustRoot_, {{"default", policy}});
    ASSERT_EQ(service::Promoter(farm_.judging, policies).judgeDue().value_or(0), 3u);
  }

  // Columns that somebody may write, by table, with their types.
  std::map<std::string, std::map<std::string, std::string>> schema() {
    auto rows =
        pool_
            .execute(
                "SELECT c.table_name::text AS t, c.column_name::text AS c, c.data_type::text AS d FROM "
                "information_schema.columns c JOIN information_schema.tables b ON b.table_name = "
                "c.table_name AND b.table_schema = c.table_schema WHERE c.table_schema = 'public' AND "
                "b.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'")
            .value();
    std::map<std::string, std::map<std::string, std::string>> out;
    for (int i = 0; i < rows.size(); ++i)
      out[rows[i].get<std::string>("t")][rows[i].get<std::string>("c")] = rows[i].get<std::string>("d");
    return out;
  }
  // Another value of the same type, for each row another one.
  static std::string another(const std::string& column, const std::string& type) {
    if (type == "text") return "'x' || " + column;
    if (type == "bytea") return "set_byte(" + column + ", 0, get_byte(" + column + ", 0) # 1)";
    if (type == "boolean") return "NOT " + column;
    if (type.starts_with("timestamp")) return column + " + interval '1 day'";
    return column + " + 40";  // beyond every kind of mention, and every size of this log
  }
  static std::string listOf(const std::map<std::string, std::string>& columns, const std::string& but = "",
                            const std::string& instead = "") {
    std::string out;
    for (const auto& [column, type] : columns)
      out += (out.empty() ? "" : ", ") + (column == but ? instead : column);
    return out;
  }
  // The findings while a table is as `change` leaves it.
  std::vector<Finding> findingsWhile(const std::string& table,
                                     const std::map<std::string, std::string>& columns,
                                     const std::string& change) {
    const std::string list = listOf(columns);
    run("CREATE TABLE kept AS SELECT " + list + " FROM " + table + "; " + change);
    auto findings = audited(100);
    run("DELETE FROM " + table + "; INSERT INTO " + table + " (" + list +
        ") OVERRIDING SYSTEM VALUE SELECT " + list + " FROM kept; DROP TABLE kept");
    return findings;
  }

  const signing::PrivateKey recallKey_ = signing::PrivateKey::create().value();
};

TEST_F(EveryColumn, IsInTheList) {
  auto left = schema();
  for (const Table& table : tables())
    for (const Noticed& noticed : table.columns)
      for (const std::string& column : words(noticed.columns)) {
        EXPECT_EQ(left[table.name].erase(column), 1u)
            << table.name << "." << column << " is not in the schema";
        EXPECT_TRUE(noticed.who == Who::kAudit || *noticed.why) << table.name << "." << column;
      }
  for (const auto& [table, columns] : left)
    if (!table.starts_with("kiln_schema") && !table.starts_with("schema_"))
      for (const auto& [column, type] : columns)
        ADD_FAILURE() << table << "." << column << ": who notices when it is rewritten? Say so in this list";
}

TEST_F(EveryColumn, IsNoticedByWhomTheListNames) {
  ASSERT_TRUE(audited().empty()) << audited()[0].table << ": " << audited()[0].what;
  const auto columnsOf = schema();
  run("ALTER TABLE signatures DROP CONSTRAINT signatures_check1");  // an entry is before its checkpoint's end
  for (const Table& table : tables()) {
    const auto& columns = columnsOf.at(table.name);
    const std::string name = table.name;
    for (const Noticed& noticed : table.columns) {
      if (noticed.who != Who::kAudit) continue;
      for (const std::string& column : words(noticed.columns)) {
        const std::string value = noticed.change ? noticed.change : another(column, columns.at(column));
        EXPECT_FALSE(
            findingsWhile(name, columns, "UPDATE " + name + " SET " + column + " = " + value).empty())
            << name << "." << column << " was rewritten";
      }
    }
    if (table.deleted == Who::kAudit)
      EXPECT_FALSE(findingsWhile(name, columns, "DELETE FROM " + name).empty())
          << "rows of " << name << " were deleted";
    if (table.doubled)
      EXPECT_FALSE(findingsWhile(
                       name, columns,
                       "INSERT INTO " + name + " (" + listOf(columns) + ") SELECT " +
                           listOf(columns, table.doubled, another(table.doubled, columns.at(table.doubled))) +
                           " FROM kept LIMIT 1")
                       .empty())
          << "a row of " << name << " was doubled";
  }
  EXPECT_TRUE(audited().empty()) << "all is as it was";
}

}  // namespace
}  // namespace kiln::audit
