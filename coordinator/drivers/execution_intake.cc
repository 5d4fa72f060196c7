#include "coordinator/drivers/execution_intake.h"

#include <fmt/format.h>

#include "coordinator/drivers/fleet_check.h"
#include "coordinator/drivers/submission_limits.h"
#include "coordinator/farm/log.h"
#include "coordinator/jobs/foreign_action.h"
#include "coordinator/planning/admitted_toolchain.h"
#include "coordinator/planning/expectations.h"
#include "coordinator/planning/planner.h"
#include "coordinator/recall/recalls.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/tree/tree_walk.h"

namespace kiln::service {
namespace {

using index::JobSnapshot;
using storage::BlobStore;

constexpr std::size_t kMaxNamed = 50;  // missing blobs in one answer: it travels in a header

Error uploadFirst(std::vector<Digest> missing) {
  const std::size_t all = missing.size();
  if (missing.size() > kMaxNamed) missing.resize(kMaxNamed);
  Json list = Json::array();
  for (const Digest& digest : missing)
    list.push_back({{"hash", digest.hex()}, {"size", std::to_string(digest.size)}});
  return {Code::kFailedPrecondition, fmt::format("{} blobs of the action must be uploaded first", all),
          Json{{"missing", std::move(list)}}.dump()};
}

// What is beyond a limit, the action is wrong about.
Error ofAction(Error error) {
  if (error.code == Code::kOutOfRange) error.code = Code::kInvalidArgument;
  return error;
}

// A blob that the client is to upload where it is not there.
Result<std::string> uploaded(BlobStore& blobs, const std::string& instance, const Digest& digest,
                             std::uint64_t most) {
  auto text = storage::getBlob(blobs, instance, digest, most);
  if (!text && (text.error().code == Code::kNotFound || text.error().code == Code::kDataLoss))
    return fail(uploadFirst({digest}));
  if (!text) return fail(ofAction(text.error()));
  return text;
}

// An action with all that it names, once it is in the store.
struct Prepared {
  jobs::ForeignAction action;
  jobs::ForeignCommand command;
  Digest root;  // the tree at /; its size is 0 if there is none
};

// Where trees lie, and for whom they are walked.
struct Walked {
  BlobStore& blobs;
  const std::string& instance;
  const std::function<bool()>& isGone;
};

// What the trees lack. The farm itself keeps those of its toolchains; of another one every byte is asked for.
Result<std::vector<Digest>> missingInputs(const Walked& walked, const Digest& input,
                                          const std::optional<jobs::ForeignRoot>& root) {
  const auto lacks = [&](const Digest& tree) {
    return storage::TreeWalker(walked.blobs, walked.instance, {}, walked.isGone).findMissing(tree);
  };
  auto missing = lacks(input);
  if (!missing) return fail(ofAction(missing.error().in("input root")));
  if (!root || !root->tree) return missing;
  auto below = lacks(*root->tree);
  if (!below) return fail(ofAction(below.error().in("platform kiln-root")));
  missing->insert(missing->end(), below->begin(), below->end());
  return missing;
}

JobSnapshot newJob(const WantedExecution& wanted, const Prepared& prepared, TimePoint now) {
  JobSnapshot snapshot;
  index::JobRecord& job = snapshot.job;
  job.key = {wanted.instance, newId(now)};
  job.idempotencyKey = "execution " + job.key.id;
  job.request = wanted.action;
  job.submitted = now;
  const bool cacheable = !prepared.action.message.do_not_cache();
  job.reuse = cacheable && !wanted.skipCacheLookup;
  job.toolchainDigest = prepared.root;
  job.spec = "{}";
  job.modelName = "executed action " + wanted.action.hex().substr(0, 12);
  job.execution = index::ExecutionRecord{wanted.action, cacheable, now};
  return snapshot;
}

// Of the checks of the fleet, in the words of who calls.
Error inWordsOfClients(Error error) {
  if (error.code != Code::kUnimplemented) return error;
  return {Code::kFailedPrecondition,
          "no worker of this instance executes foreign actions; ask the farm's operator for one",
          {}};
}

Result<Digest> rootOf(const Admissions& admissions, postgres::Connection& connection,
                      const std::string& instance, const std::optional<jobs::ForeignRoot>& root) {
  if (!root) return Digest{};
  if (root->tree) return *root->tree;
  auto toolchain = admittedToolchain(admissions, connection, instance, root->label);
  if (toolchain) return toolchain->toolchainDigest;
  Error error = toolchain.error().in("platform kiln-root");
  if (error.code == Code::kNotFound) error.code = Code::kFailedPrecondition;
  error.details.clear();
  return fail(std::move(error));
}

// The bytes that run in the action's place.
struct Salted {
  Digest digest;
  std::string bytes;
};
Salted saltedFrom(const reapi::Action& action) {
  std::string bytes = jobs::saltedAction(action);
  return {digestOf(bytes), std::move(bytes)};
}

void tell(const Observers& observers, const index::JobRecord& job, const ExecutionCaller& caller,
          std::pair<TimePoint, TimePoint> time) {
  observers.metrics.jobSubmitted(false);
  tellSubmitted(observers.tracing, job, caller.caller.traceparent, time.first, time.second,
                {{"kiln.action", job.execution->action.hex()},
                 {"kiln.tool", caller.told.tool},
                 {"kiln.invocation", caller.told.invocation},
                 {"kiln.correlated", caller.told.correlated},
                 {"kiln.clientTarget", caller.told.target}});
  logInfo("execution submitted", {{"instance", job.key.instance},
                                  {"job", job.key.id},
                                  {"trace", tracing::traceOf(job.trace)},
                                  {"submitter", caller.caller.name},
                                  {"action", job.execution->action.hex()},
                                  {"tool", caller.told.tool},
                                  {"invocation", caller.told.invocation},
                                  {"correlated", caller.told.correlated},
                                  {"target", caller.told.target}});
  observers.reached(kPointSubmitted);
}

}  // namespace

Result<TakenExecution> ExecutionIntake::take(const WantedExecution& wanted, const ExecutionCaller& caller) {
  const TimePoint began = planning_.stores.clock.now();
  BlobStore& blobs = planning_.stores.blobs;
  const std::string& instance = wanted.instance;
  Prepared prepared;
  KILN_ASSIGN(const std::string text, uploaded(blobs, instance, wanted.action, jobs::kMaxForeignAction));
  KILN_ASSIGN(prepared.action, jobs::readForeignAction(text));
  if (!wanted.skipCacheLookup && !prepared.action.message.do_not_cache()) {
    KILN_ASSIGN(auto known, results_.find(instance, wanted.action));
    if (known) return TakenExecution{{instance, newId(began)}, std::move(known)};
  }
  KILN_ASSIGN(const std::string command,
              uploaded(blobs, instance, prepared.action.command, jobs::kMaxForeignCommand));
  KILN_ASSIGN(prepared.command, jobs::readForeignCommand(command, prepared.action.message));
  {
    KILN_ASSIGN(auto connection, planning_.stores.database.acquire());
    KILN_ASSIGN(prepared.root, rootOf(admissions_, *connection, instance, prepared.command.root));
    KILN_TRY(checkNotRecalled(planning_.recalls, std::vector{prepared.root, prepared.action.inputRoot}));
    if (const Status served = checkServed(planning_, leasing_.graceUntil, *connection,
                                          {instance, {{index::ActionKind::kExecute, "", 1, 1}}, {}});
        !served)
      return fail(inWordsOfClients(served.error()));
    KILN_TRY(checkRunQuota(leasing_.quotas->current()->of(instance), *connection, instance, began));
  }
  // Large trees take their time, in which others need the connection.
  KILN_ASSIGN(const auto missing, missingInputs({blobs, instance, caller.isGone}, prepared.action.inputRoot,
                                                prepared.command.root));
  if (!missing.empty()) return fail(uploadFirst(missing));

  JobSnapshot snapshot = newJob(wanted, prepared, planning_.stores.clock.now());
  snapshot.job.submitter = caller.caller.name;
  snapshot.job.trace = traceOfNewJob(observers_.tracing, snapshot.job.key, caller.caller.traceparent);
  const Salted salted = saltedFrom(prepared.action.message);
  KILN_TRY(storage::putBlob(blobs, instance, asBytes(salted.bytes)));
  snapshot.actions.push_back({index::ActionKind::kExecute, "", salted.digest, {}});
  DeliverySpec delivery;
  delivery.priority = wanted.priority;
  delivery.timeLimitSeconds = prepared.action.timeLimitSeconds;
  KILN_ASSIGN(snapshot.job.delivery, toCanonicalJson(delivery.toJson()));
  snapshot.runs = makeRuns(snapshot, delivery, {{snapshot.actions.front(), {}, {}}}, snapshot.job.submitted);
  KILN_ASSIGN(auto connection, planning_.stores.database.acquire());
  KILN_TRY(setExpected(*connection, snapshot.runs));
  KILN_TRY(connection->transact([&](postgres::Connection& c) { return index::insertJob(c, snapshot); }));
  tell(observers_, snapshot.job, caller, {began, planning_.stores.clock.now()});
  return TakenExecution{snapshot.job.key, std::nullopt};
}

Result<std::vector<Digest>> ExecutionIntake::missingOf(const JobSnapshot& snapshot,
                                                       const std::function<bool()>& isGone) {
  BlobStore& blobs = planning_.stores.blobs;
  const std::string& instance = snapshot.job.key.instance;
  const Digest& asked = snapshot.job.execution->action;
  const auto text = storage::getBlob(blobs, instance, asked, jobs::kMaxForeignAction);
  if (!text) return std::vector{asked};
  KILN_ASSIGN(const jobs::ForeignAction action, jobs::readForeignAction(*text));
  const auto bytes = storage::getBlob(blobs, instance, action.command, jobs::kMaxForeignCommand);
  if (!bytes) return std::vector{action.command};
  KILN_ASSIGN(const jobs::ForeignCommand command, jobs::readForeignCommand(*bytes, action.message));
  KILN_ASSIGN(auto missing, missingInputs({blobs, instance, isGone}, action.inputRoot, command.root));
  if (missing.size() > kMaxNamed) missing.resize(kMaxNamed);
  return missing;
}

}  // namespace kiln::service
