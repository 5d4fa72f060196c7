// Model signatures: a model's manifest, signed, in a file beside it or in its folder. The file is a Sigstore
// bundle v0.3 with a public key's hint or with certificates. Source: OpenSSF Model Signing 1.0, sections 4, 6
// and 8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "signing/model/accepted_signers.h"
#include "signing/model/model_manifest.h"
#include "signing/model/model_signer.h"

namespace kiln::signing {

// A signature that holds. What it says of files is not yet compared with any.
struct SignedModel {
  ModelManifest manifest;
  Signer signer;
};

// Reads a signature from outside and finds which of `signers` made it. kDataLoss if none of them did, or if
// it is malformed; otherwise as ModelManifest::fromStatement.
Result<SignedModel> openModelSignature(std::string_view text, const AcceptedSigners& signers);

struct ModelScope {
  std::string signature;  // where the signature lies or will lie: no part of the model; "" for none
  std::vector<std::string> ignored;  // relative paths, left out beside those that the signature names
  bool allowUnsigned = false;        // when a model is checked: files that nobody signed are passed over
  std::uint64_t shardBytes = 0;      // when a model is signed: in shards of so many bytes; 0: by whole files
};

// Compares a model, a folder or a file, with what was signed. kDataLoss names what was changed, is missing or
// was added. Only files that the signature names are read. What was signed in shards says nothing of files
// without bytes: they are passed over.
Status checkModel(const std::string& path, const ModelManifest& said, const ModelScope& scope = {});

// Whether the file at `path` is one of `said.resources`, and has this digest, of which a signature in shards
// says nothing by itself.
Status checkFile(const std::string& path, const ModelManifest& said, const ModelResource& resource,
                 const Digest& digest);

// Signs a model by whole files or in shards, SHA-256, without links. The text of a signature; nothing is
// written. kInvalidArgument for a model without files, and in shards without bytes or with a colon in a name;
// otherwise as ModelFiles::open.
Result<std::string> signModel(const std::string& path, const ModelSigner& signer,
                              const ModelScope& scope = {});

// Where the signature of the model at `path` is looked for and put: "model.sig" in a folder, the file's name
// and ".sig" beside a file.
std::string modelSignaturePath(const std::string& path);

}  // namespace kiln::signing
