#include "api/cli/base/source_name.h"

#include <filesystem>

#include "manifest/base/digest.h"
#include "manifest/base/file.h"
#include "manifest/base/printable.h"
#include "storage/source/git_reference.h"

namespace kiln::cli {

Result<std::string> sourceName(const std::string& text) {
  constexpr std::size_t kCommitDigits = 40;
  const bool commit =
      text.size() == kCommitDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (text.empty() || commit || text.starts_with("sha256:") || text.find("://") != std::string::npos)
    return source::escapeLocalUrl(text);
  std::error_code error;
  if (!std::filesystem::is_regular_file(text, error))
    return fail(Code::kNotFound, "--source: there is no file " + inQuotes(text) +
                                     " here; a source is sha256:<hex> of an input, a file here, a "
                                     "repository's URL or git+URL@COMMIT#PATH");
  KILN_ASSIGN(const Digest digest, digestOfFile(text));
  return digest.text();
}

}  // namespace kiln::cli
