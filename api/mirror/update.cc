#include "api/mirror/update.h"

#include <algorithm>

#include "api/audit/page_walk.h"
#include "api/mirror/intake.h"
#include "api/mirror/log_copy.h"
#include "manifest/base/printable.h"
#include "manifest/json/json.h"

namespace kiln::mirror {
namespace {

// Signed, logged, and not in the index yet: the farm goes on with what a crash interrupted.
constexpr auto kOnItsWay = std::chrono::hours(24);
constexpr std::size_t kMaxOnTheirWay = 4096;
// So far before the log's end may entries be whose artifacts were not in the index when the first walk
// passed.
constexpr std::uint64_t kLookBack = 1024;

// Whether the mirror's own limit is used up, and neither its disk nor anything of the farm's.
bool isOverCapacity(const Error& error) {
  const auto details = parseJson(error.details);
  return details && details->is_object() && details->value("budget", Json()) == "capacity";
}

class Update {
 public:
  Update(const MirrorDirectory& directory, storage::LocalBlobStore& blobs, Farm& farm, node::Trust& trust,
         const Clock& clock, const UpdateOptions& options)
      : directory_(directory),
        blobs_(blobs),
        farm_(farm),
        trust_(trust),
        clock_(clock),
        options_(options),
        intake_(directory, blobs, farm, trust, clock) {}

  Result<UpdateReport> run() {
    KILN_ASSIGN(state_, directory_.state());
    // Whoever serves looks again, also at what an update wrote that was killed before it could say so.
    ++state_.generation;
    KILN_TRY(takeRecalls());
    KILN_TRY(directory_.save(state_));
    KILN_TRY(copyLog());
    if (options_.all) {
      state_.walked = false;
      state_.pageToken.clear();
    }
    KILN_TRY(walk());
    KILN_TRY(follow());
    KILN_TRY(lookAgain());
    KILN_TRY(retryRefused());
    KILN_TRY(tidy());
    state_.asked = clock_.now();
    KILN_TRY(directory_.save(state_));
    KILN_ASSIGN(report_.artifacts, directory_.count());
    report_.refused = state_.refused.size();
    report_.recalls = trust_.recalls ? trust_.recalls->version : 0;
    return report_;
  }

 private:
  Status takeRecalls() {
    KILN_ASSIGN(const std::string offered, farm_.recalls());
    if (!offered.empty() && trust_.root.recallKeys)
      if (const Status learnt = trust_.learn(offered); !learnt)
        return fail(learnt.error().asEvidence("the farm's recalls"));
    if (!trust_.recalls) return {};
    const std::string& text = trust_.recalls->text;
    KILN_ASSIGN(const std::string here, directory_.recalls());
    if (here == text) return {};
    KILN_TRY(storage::putBlob(blobs_, directory_.instance(), asBytes(text)));
    return directory_.saveRecalls(text);
  }

  Status copyLog() {
    const signing::RootLogs logs(trust_.root);
    if (farm_.log() == nullptr || logs.empty()) return {};
    KILN_ASSIGN(auto tiles, signing::WritableTiles::open(directory_.log()));
    LogCopy copy(*farm_.log(), tiles, logs);
    KILN_TRY(copy.run(state_.tiles, clock_.now(), [&](std::uint64_t have) {
      state_.tiles = have;
      return directory_.save(state_);
    }));
    report_.logEntries = copy.size();
    return {};
  }

  // All that the farm has, by digest. What is published behind the walk's back is in the log.
  Status walk() {
    if (state_.walked) return {};
    if (state_.pageToken.empty())
      state_.looked = report_.logEntries > kLookBack ? report_.logEntries - kLookBack : 0;
    audit::PageWalk pages("artifacts");
    do {
      auto page = farm_.artifacts(state_.pageToken);
      if (!page && page.error().code == Code::kInvalidArgument && !state_.pageToken.empty()) {
        // Of a farm that was set up anew: from the beginning, at the next update.
        state_.pageToken.clear();
        KILN_TRY(directory_.save(state_));
      }
      if (!page) return fail(page.error());
      for (const Digest& artifact : page->artifacts) {
        KILN_TRY(pages.takeInOrder(artifact.hex()));
        KILN_TRY(take(artifact, options_.all));
      }
      KILN_TRY(pages.check(page->next, static_cast<int>(page->artifacts.size())));
      state_.pageToken = page->next;
      KILN_TRY(directory_.save(state_));
    } while (!state_.pageToken.empty());
    state_.walked = true;
    return directory_.save(state_);
  }

  // Whatever was signed since: an artifact, or one more statement about it.
  Status follow() {
    for (;;) {
      KILN_ASSIGN(const LoggedPage page, farm_.logged(state_.looked));
      if (!page.hasLog) state_.walked = false;  // then only another walk tells what is new
      std::set<Digest> about;
      for (const LoggedStatement& statement : page.statements) {
        KILN_ASSIGN(const auto artifact, intake_.subjectOf(statement));
        if (!artifact) continue;
        about.insert(*artifact);
        if (!statement.bundle && state_.lookAgain.size() < kMaxOnTheirWay)
          state_.lookAgain[artifact->text()] = clock_.now() + kOnItsWay;
      }
      for (const Digest& artifact : about) KILN_TRY(take(artifact, false));
      const bool further = page.next > state_.looked;
      state_.looked = page.next;
      KILN_TRY(directory_.save(state_));
      if (page.last || !further) return {};
    }
  }

  Status lookAgain() {
    for (auto at = state_.lookAgain.begin(); at != state_.lookAgain.end();) {
      KILN_ASSIGN(const Digest artifact, Digest::parse(at->first, 0));
      KILN_TRY(take(artifact, false));
      at = at->second <= clock_.now() ? state_.lookAgain.erase(at) : std::next(at);
    }
    return {};
  }

  // Once something changed that they were refused under.
  Status retryRefused() {
    KILN_ASSIGN(std::string rests, toCanonicalJson(trust_.root.toJson()));
    rests += trust_.policy.toJson().dump() + (trust_.recalls ? trust_.recalls->text : "");
    const std::string basis = digestOf(rests).text();
    if (basis == state_.basis) return {};
    const std::map<std::string, std::string> before = state_.refused;
    for (const auto& [artifact, why] : before) {
      if (lookedAt_.contains(artifact)) continue;
      KILN_ASSIGN(const Digest digest, Digest::parse(artifact, 0));
      KILN_TRY(take(digest, false));
    }
    state_.basis = basis;
    return directory_.save(state_);
  }

  Status take(const Digest& artifact, bool again) {
    const std::string name = artifact.text();
    const auto taken = intake_.take(artifact, again);
    const bool first = lookedAt_.insert(name).second;
    if (!taken && !isRefusal(taken.error())) return fail(taken.error().in(name));
    if (!taken) {
      if (taken.error().code == Code::kDataLoss) ++report_.unverified;
      const std::string why = printable(taken.error().message);
      if (std::string& known = state_.refused[name]; first || known != why) {
        known = why;
        options_.tell("not taken: " + name + ": " + taken.error().message);
      }
      return {};
    }
    state_.refused.erase(name);
    report_.taken += *taken == Taken::kNew ? 1 : 0;
    report_.changed += *taken == Taken::kChanged ? 1 : 0;
    report_.same += *taken == Taken::kSame ? 1 : 0;
    return {};
  }

  // What came with artifacts that were not taken, and is of no other, goes: a minute after it came, at the
  // next update.
  Status tidy() {
    if (report_.changed == 0 && state_.refused.empty() && !options_.all) return {};
    const std::string& instance = directory_.instance();
    storage::NeededBlobs needed;
    const auto damaged = [&](const Error& error) { options_.tell(error.message); };
    bool whole = true;
    KILN_TRY(directory_.eachRecord(
        [&](const ArtifactRecord& record) {
          needed.add(instance, record.artifact.hash);
          for (const Digest& file : record.files) needed.add(instance, file.hash);
          for (const Digest& bundle : record.bundles) needed.add(instance, bundle.hash);
          for (const FixtureFile& file : record.fixtures) needed.add(instance, file.digest.hash);
          for (const ModelFile& file : record.ir) needed.add(instance, file.digest.hash);
        },
        [&](const Error& error) { damaged(error), whole = false; }));
    if (!whole) return {};
    if (trust_.recalls) needed.add(instance, digestOf(trust_.recalls->text).hash);
    KILN_TRY(blobs_.sweep(needed, {}));
    return {};
  }

  const MirrorDirectory& directory_;
  storage::LocalBlobStore& blobs_;
  Farm& farm_;
  node::Trust& trust_;
  const Clock& clock_;
  const UpdateOptions& options_;
  Intake intake_;
  State state_;
  UpdateReport report_;
  std::set<std::string> lookedAt_;  // in this update
};

}  // namespace

Result<UpdateReport> update(const MirrorDirectory& directory, Farm& farm, node::Trust& trust,
                            const Clock& clock, const UpdateOptions& options) {
  KILN_ASSIGN(const auto blobs,
              storage::LocalBlobStore::open(
                  {.directory = directory.blobs(), .capacity = options.maxBytes, .clock = &clock}));
  auto done = Update(directory, *blobs, farm, trust, clock, options).run();
  if (done || !isOverCapacity(done.error())) return done;
  Error error = done.error();
  error.message += "; the mirror may hold " + std::to_string(options.maxBytes) +
                   " bytes: give a larger --max-bytes, or none for as much as the disk holds";
  return fail(std::move(error));
}

}  // namespace kiln::mirror
