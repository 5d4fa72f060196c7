#include "signing/trust/trust_store.h"

#include <algorithm>

#include "signing/keys/files.h"
#include "signing/trust/signed_root.h"
#include "signing/trust/trust_state.h"

namespace kiln::signing {
namespace {

std::string stateOf(const std::string& path) {
  return path + ".state";
}

Result<RootFile> readRoot(const std::string& path) {
  KILN_ASSIGN(const std::string text, readTrustFile(path, 2 * kMaxRootBytes));
  auto file = RootFile::parse(text);
  if (!file) return fail(file.error().in(path));
  if (Status holds = checkSigned(*file); !holds) return fail(holds.error().in(path));
  return file;
}

std::string recallKeysOf(const TrustRoot& root) {
  const Json json = root.toJson();
  return json.contains("recallKeys") ? json["recallKeys"].dump() : "";
}

// Moves what is remembered on to `file`, if it may follow.
Status follow(TrustState& state, const RootFile& file) {
  const bool isSigned = !file.envelope.signatures.empty();
  if (state.root.empty()) {
    state.root = isSigned ? file.text() : "";
    return {};
  }
  if (!isSigned)
    return fail(Code::kDataLoss, "is not signed, but the root seen before was; put that one back");
  KILN_ASSIGN(const RootFile old, RootFile::parse(state.root));
  if (old.envelope.payload == file.envelope.payload) return {};
  KILN_TRY(checkSuccessor(old, file));
  // Whoever may no longer recall has no say in which version comes next.
  if (recallKeysOf(old.root) != recallKeysOf(file.root)) {
    state.recalls.clear();
    state.recallsVersion = 0;
  }
  state.root = file.text();
  return {};
}

}  // namespace

Result<TrustStore> TrustStore::open(const std::string& path) {
  TrustStore store;
  store.path_ = path;
  auto file = readRoot(path);
  if (!file) return fail(file.error());
  store.kept_ = !file->envelope.signatures.empty() || file->root.recallKeys || !file->root.logs.empty();
  KILN_ASSIGN(const TrustState before, TrustState::load(stateOf(path)));
  TrustState state = before;
  Status follows = follow(state, *file);
  if (follows && !(state == before))
    follows = TrustState::update(stateOf(path), [&](TrustState& latest) { return follow(latest, *file); });
  if (!follows) return fail(follows.error().in(path));
  store.root_ = std::move(file->root);
  store.latestSeen_ = state.latestSeen;
  store.recalls_ = std::move(state.recalls);
  return store;
}

Status TrustStore::rememberTime(TimePoint cosigned) {
  if (!kept_ || cosigned <= latestSeen_) return {};
  latestSeen_ = cosigned;
  return TrustState::update(stateOf(path_), [&](TrustState& state) -> Status {
    state.latestSeen = std::max(state.latestSeen, cosigned);
    return {};
  });
}

Status TrustStore::rememberRecalls(const std::string& recalls, std::uint64_t version) {
  if (!kept_ || recalls == recalls_) return {};
  recalls_ = recalls;
  return TrustState::update(stateOf(path_), [&](TrustState& state) -> Status {
    if (version >= state.recallsVersion) {
      state.recallsVersion = version;
      state.recalls = recalls;
    }
    return {};
  });
}

}  // namespace kiln::signing
