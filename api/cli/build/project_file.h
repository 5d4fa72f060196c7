// kiln.toml: the models of a folder and what each is built for. Everybody who clones a repository runs it, so
// it names no farm and no file outside its folder, and what it says of signers only refuses builds that would
// be made without it.
//
//   [models]                            # of all models, where it is there: who must have signed them
//   signed-by = ["vendor.pem"]          # as --model-signed-by of kiln build, and the others alike
//   certificate-roots = ["ca.pem"]
//   certificate-crls = ["ca.crl"]
//   certificate-identities = ["releases@vendor.example"]
//   trusted-roots = ["trusted_root.json"]
//   certificate-oidc-issuers = ["https://issuer.example"]
//
//   [[model]]
//   name = "digits"                     # in kiln.lock; each once
//   path = "digits.onnx"                # a file or folder here, or git+https://…@COMMIT#path, git+ssh://…
//   targets = ["cpu:x86-64-v3"]
//   signature = "digits.sig"            # --model-signature
//   profiles = ["N=1:8:64"]             # this and the others as the option of kiln build without its dashes
//
// TOML 1.0 (toml.io).
#pragma once

#include <string>
#include <vector>

#include "api/cli/build/build_job.h"

namespace kiln::cli {

struct ProjectModel {
  std::string name;
  BuildOptions options;  // paths as the folder of the file has them, made absolute
};

inline constexpr char kProjectFile[] = "kiln.toml", kProjectLock[] = "kiln.lock";

// The models of `folder`/kiln.toml in their order, at least one. kInvalidArgument with the next step where
// there is no such file, and as "kiln.toml:LINE: …" for what is no TOML, is not known, has another type, is
// outside the folder (links followed) or is too much: 64 KiB, 100 models, 64 values of a list.
Result<std::vector<ProjectModel>> readProject(const std::string& folder);
// The same of a text that is about to be written there.
Result<std::vector<ProjectModel>> parseProject(const std::string& text, const std::string& folder);

// A name of a model in a project: letters, digits and "-._", at most 64, the first a letter or a digit.
bool isProjectName(const std::string& name);

}  // namespace kiln::cli
