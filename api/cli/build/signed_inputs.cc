#include "api/cli/build/signed_inputs.h"

#include <algorithm>
#include <filesystem>

#include "signing/keys/files.h"
#include "signing/model/signed_envelope.h"

namespace kiln::cli {
namespace fs = std::filesystem;
namespace {

// A link at the end is not followed: a signature names the link.
fs::path placeOf(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error).lexically_normal();
  return fs::weakly_canonical(whole.parent_path(), error) / whole.filename();
}

}  // namespace

Result<SignedInputs> SignedInputs::open(const std::string& model, const std::string& signature,
                                        const signing::AcceptedSigners& signers) {
  const std::string path = signature.empty() ? signing::modelSignaturePath(model) : signature;
  const auto text = signing::readTextFile(path, signing::kMaxForeignBytes);
  if (!text && text.error().code == Code::kNotFound)
    return fail(Code::kNotFound,
                path + ": the model carries no signature there; --model-signature says where it is");
  if (!text) return fail(text.error());
  auto opened = signing::openModelSignature(*text, signers);
  if (!opened) return fail(opened.error().in(path));
  KILN_TRY(signing::checkModel(model, opened->manifest, {path, {}, false}));
  return SignedInputs(model, std::move(*opened));
}

Status SignedInputs::check(const std::string& file, const Digest& digest) const {
  std::error_code error;
  const auto& resources = signed_.manifest.resources;
  const fs::path place = placeOf(file);
  std::string name = place.lexically_relative(fs::weakly_canonical(model_, error)).generic_string();
  if (place == placeOf(model_)) name = resources[0].name;  // one file, the model itself
  const auto said = std::ranges::lower_bound(resources, name, {}, &signing::ModelResource::name);
  if (said == resources.end() || said->name != name)
    return fail(Code::kDataLoss, file + ": the build needs it, and the model's signature does not cover it");
  return signing::checkFile(file, signed_.manifest, *said, digest);
}

}  // namespace kiln::cli
