// The file format of a trust root. A farm's own development root is the document alone. Any other is a DSSE
// envelope around its canonical JSON, signed by at least the threshold of the root keys that it names; its
// successor is signed by both thresholds, the old and the new one. Source of the rule: the TUF specification,
// 5.3 "Update the root role".
#pragma once

#include "signing/dsse/dsse.h"
#include "signing/trust/trust_root.h"

namespace kiln::signing {

inline constexpr char kRootPayload[] = "application/vnd.kiln.root.v1+json";

struct RootFile {
  TrustRoot root;
  Envelope envelope;  // its payload is the root in canonical JSON; without signatures for a document alone

  // An unsigned file of this root. kInvalidArgument if the root has no canonical form.
  static Result<RootFile> of(TrustRoot root);
  // Reads either form, believing no signature yet.
  static Result<RootFile> parse(std::string_view text);

  // What is written: the envelope; the document alone while nobody has signed.
  std::string text() const;
  // Adds this key's signature; nothing if it is there already.
  Status sign(const PrivateKey& key);
  // The ids of those of `keys` that signed.
  std::vector<std::string> signers(const std::vector<PublicKey>& keys) const;
};

// kDataLoss unless the threshold of the root's own root keys signed it. A document marked `development` needs
// no signature; any other that names no root keys is refused.
Status checkSigned(const RootFile& file);

// Whether a client that trusts `old` may go over to `next`: a higher version, signed by the threshold of
// both, and no development root unless `old` is one. kDataLoss otherwise.
Status checkSuccessor(const RootFile& old, const RootFile& next);

}  // namespace kiln::signing
