// The keys whose statements the signer builds on when it is asked for one that rests on them. A record proves
// only that somebody wrote it: the coordinator writes to the same table.
#pragma once

#include <string>

#include "signing/bundle/bundle.h"
#include "signing/keys/keys.h"

namespace kiln::signing {

// Thread safe.
class KnownKeys {
 public:
  // `trustRoot`: file of the root that names the farm's earlier keys and its rebuilders, read anew whenever
  // it is asked; "": nobody but `own`.
  KnownKeys(PublicKey own, std::string trustRoot) : own_(std::move(own)), trustRoot_(std::move(trustRoot)) {}

  // Whether the own key made the envelope's signature.
  bool isOwn(const Bundle& bundle) const;
  // Unless the own key made it, or one that the root lists for `author` and does not revoke (its places in a
  // log prove nothing here): kFailedPrecondition. Errors of reading the root.
  Status check(const Bundle& bundle, const std::string& author) const;

 private:
  const PublicKey own_;
  const std::string trustRoot_;
};

}  // namespace kiln::signing
