// An audited farm whose signatures go into a real log: a sequencer over its database, tiles in a directory.
#pragma once

#include "coordinator/recall/recalls.h"
#include "coordinator/signatures/logged_signer.h"
#include "signing/follow/tile_directory.h"
#include "signing/sequencer/sequencer.h"
#include "tests/api/audit/audited_farm.h"

namespace kiln::audit::testing {

inline constexpr char kOrigin[] = "log.audit.example";

// Signs, has it logged at once, and returns the bundle with the proof.
class SequencedSigner final : public signing::Signer {
 public:
  SequencedSigner(signing::Signer& base, postgres::Pool& pool, const postgres::ConnectionOptions& database,
                  const std::string& tiles, const Clock& clock)
      : base_(base),
        settings_{.database = database, .origin = kOrigin},
        tiles_(signing::WritableTiles::open(tiles).value()),
        sequencer_(signing::Sequencer::open(settings_, key, tiles_, clock).value()),
        growth_(pool),
        logged_(base, pool, growth_,
                {signing::VerifierKey{kOrigin, signing::NoteKeyKind::kEd25519, key.publicKey()}}) {}

  Result<std::string> sign(const signing::SignRequest& request) override {
    KILN_TRY(base_.sign(request));
    KILN_TRY(sequencer_->append());
    return logged_.sign(request);
  }
  Result<std::string> publicKeyPem() override { return base_.publicKeyPem(); }
  // What waits comes into the log now.
  Status append() {
    KILN_TRY(sequencer_->append());
    return {};
  }
  service::LogGrowth& growth() { return growth_; }

  const signing::Ed25519PrivateKey key = signing::Ed25519PrivateKey::create().value();

 private:
  signing::Signer& base_;
  const signing::SequencerSettings settings_;
  signing::WritableTiles tiles_;
  std::unique_ptr<signing::Sequencer> sequencer_;
  service::LogGrowth growth_;
  service::LoggedSigner logged_;
};

class LoggedFarm : public AuditedFarm {
 protected:
  explicit LoggedFarm(const postgres::ConnectionOptions& database = index::testing::newIndex())
      : AuditedFarm(database), sequenced_(localSigner_, pool_, database, tiles_, clock_) {
    signer_.instead = &sequenced_;
    root_.logs.push_back(
        {kOrigin, sequenced_.key.publicKey().der(), root_.keys[0].validFrom, root_.keys[0].validUntil});
    options_.log = log_.get();
  }

  // Puts a version of recalls.json in force, under the root in trustRoot_; the log has it at once.
  Result<signing::Recalls> publish(const std::string& document) {
    KILN_ASSIGN(const auto news, signing::Recalls::parse(document, root_, signing::LogProofs::kIfAny));
    KILN_TRY(recallLogger_.loggedAlready(news, *root_.recallKeys));
    KILN_TRY(sequenced_.append());
    return putInForce({trustRoot_, &recallLogger_}, document);
  }

  const std::string tiles_ = directory_ / "tiles";
  SequencedSigner sequenced_;
  std::unique_ptr<signing::LogSource> log_ = signing::openLogSource(tiles_);
  const std::string trustRoot_ = directory_ / "farm-root.json";
  service::RecallLogger recallLogger_{pool_, clock_, sequenced_.growth(), tiles_};
};

}  // namespace kiln::audit::testing
