// libFuzzer: git+URL@COMMIT#path and the URL inside it.
#include "storage/source/git_reference.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto reference = kiln::source::parseGitReference(text);
  if (reference && "git+" + reference->url + "@" + reference->commit + "#" + reference->path != text)
    std::abort();
  return 0;
}
