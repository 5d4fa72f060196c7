// The signer without its wire: checks a statement and all it rests on, signs, records.
#pragma once

#include <memory>

#include "manifest/base/clock.h"
#include "signing/client/signer_client.h"
#include "signing/keys/certificate.h"
#include "signing/server/known_keys.h"
#include "signing/server/records.h"
#include "storage/blob/blob_store.h"

namespace kiln::signing {

// Signs a statement only if
//  - it is canonical JSON, an in-toto Statement of SLSA provenance with one subject (checks and
//  reproductions:
//    check_claim.h, reproduction_claim.h);
//  - the subject, its Manifest and all files are in the store and have their digests;
//  - the fixtures that it names, if any, are there and have their digests;
//  - parameters and dependencies are those of the Manifest's spec;
//  - there is one receipt per builder, by distinct workers of the authority, for one action, listing the
//  artifact's files;
//  - the receipts of outvoted builders that it names are there, by other workers, about that action;
//  - the sandbox policies that the receipts state are those of the statement, and in the store;
//  - that action is the compile of the spec with the spec's toolchain.
// A compile statement if it is the summary of the Manifest that is in the store; the files that this lists
// are the provenance's to answer for. An image statement as image_check.h says. A verification summary as
// summary_check.h says. A tombstone only if the artifact is there and the provenances that it names are in
// the records. For both, only what keys that it knows have signed counts: its own, and those of the trust
// root (known_keys.h). An admission of a toolchain: toolchain_check.h; what was measured: tune_claim.h.
// Errors as Signer::sign. Thread safe. What is passed by reference must outlive the signer.
class LocalSigner final : public Signer {
 public:
  LocalSigner(PrivateKey key, Certificate authority, Records& records, storage::BlobStore& store,
              const Clock& clock, std::string trustRoot = "")
      : keys_(key.publicKey(), std::move(trustRoot)),
        key_(std::move(key)),
        authority_(std::move(authority)),
        records_(records),
        store_(store),
        clock_(clock) {}

  Result<std::string> sign(const SignRequest& request) override;
  Result<std::string> publicKeyPem() override { return key_.publicKey().pem(); }

 private:
  Status check(const SignRequest& request) const;

  const KnownKeys keys_;
  const PrivateKey key_;
  const Certificate authority_;
  Records& records_;
  storage::BlobStore& store_;
  const Clock& clock_;
};

}  // namespace kiln::signing
