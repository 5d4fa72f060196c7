// Roots under several keys, as `kiln trust` makes them.
#pragma once

#include "signing/trust/signed_root.h"

namespace kiln::testing_support {

inline std::vector<signing::PrivateKey> newKeys(int count) {
  std::vector<signing::PrivateKey> out;
  for (int i = 0; i < count; ++i) out.push_back(signing::PrivateKey::create().value());
  return out;
}

inline signing::ThresholdKeys thresholdOf(int threshold, const std::vector<signing::PrivateKey>& keys) {
  signing::ThresholdKeys out{threshold, {}};
  for (const signing::PrivateKey& key : keys) out.keys.push_back(key.publicKey());
  return out;
}

inline signing::RootFile signedBy(const signing::TrustRoot& root,
                                  const std::vector<const signing::PrivateKey*>& keys) {
  signing::RootFile file = signing::RootFile::of(root).value();
  for (const signing::PrivateKey* key : keys) (void)file.sign(*key);
  return file;
}

}  // namespace kiln::testing_support
