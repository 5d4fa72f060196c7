// A root with every member, for tests.
#pragma once

#include "signing/trust/trust_root.h"

namespace kiln::testing_support {

// An Ed25519 SubjectPublicKeyInfo whose 32 bytes are all `byte`: of a log or witness that signs nothing here.
inline std::string sampleEd25519(char byte) {
  return std::string("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12) + std::string(32, byte);
}

inline signing::TrustRoot fullRoot(const signing::PrivateKey& key) {
  const TimePoint now = parseRfc3339("2026-11-20T06:00:00Z").value();
  signing::TrustRoot root = signing::developmentRoot(key.publicKey(), "urn:kiln:builder:test", now);
  root.development = false;
  root.rootKeys = signing::ThresholdKeys{1, {key.publicKey()}};
  root.recallKeys = signing::RecallKeys{{1, {key.publicKey()}}, 1, 100};
  root.logs = {{"log.example", sampleEd25519('l'), now, root.expires}};
  root.witnesses = {{"witness.example", sampleEd25519('w')}};
  root.revocations = {{key.publicKey().id(), now, "stolen", {{"log.example", 17}}}};
  return root;
}

}  // namespace kiln::testing_support
