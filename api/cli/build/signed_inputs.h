// Files of a model that somebody signed (signing/model), and whether what a build sends is among them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "signing/model/model_signature.h"

namespace kiln::cli {

class SignedInputs {
 public:
  // Compares the model at `model`, a folder or a file, with its signature. `signature` is "" for where it is
  // looked for; one of `signers` must have made it. kNotFound where there is no
  // signature; otherwise as openModelSignature() and checkModel().
  static Result<SignedInputs> open(const std::string& model, const std::string& signature,
                                   const signing::AcceptedSigners& signers);

  // kDataLoss unless the file at `file` was signed with these bytes: others were never compared, such as
  // those that the signature leaves out, and bytes may have changed since.
  Status check(const std::string& file, const Digest& digest) const;

  const signing::Signer& signer() const { return signed_.signer; }
  std::size_t files() const { return signed_.manifest.resources.size(); }

 private:
  SignedInputs(std::string model, signing::SignedModel opened)
      : model_(std::move(model)), signed_(std::move(opened)) {}

  std::string model_;
  signing::SignedModel signed_;
};

}  // namespace kiln::cli
