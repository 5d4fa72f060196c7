#include "api/cli/trust/trust_sigstore.h"

#include <cerrno>
#include <filesystem>

#include "signing/keys/files.h"
#include "signing/trust/sigstore_root.h"

namespace kiln::cli {

Result<Json> writeSigstoreFiles(const signing::TrustRoot& root, const std::string& directory) {
  KILN_ASSIGN(const Json document, signing::sigstoreTrustedRoot(root));
  std::error_code error;
  if (std::filesystem::exists(directory, error) && !std::filesystem::is_empty(directory, error))
    return fail(Code::kAlreadyExists,
                "--sigstore " + directory + ": is there already, and not empty; name a new directory");
  std::filesystem::create_directories(directory, error);
  if (error) return fail(errnoError(error.value(), directory));
  Json written{{"trustedRoot", directory + "/trusted_root.json"}, {"keys", Json::array()}};
  KILN_TRY(signing::writeTextFile(directory + "/trusted_root.json", document.dump() + "\n"));
  int number = 0;
  for (const signing::TrustedKey& one : root.keys) {
    const std::string file = directory + "/signer-" + std::to_string(++number) + ".pem";
    KILN_TRY(signing::writeTextFile(file, one.key.pem()));
    written["keys"].push_back({{"keyid", one.key.id()}, {"file", file}});
  }
  return written;
}

}  // namespace kiln::cli
