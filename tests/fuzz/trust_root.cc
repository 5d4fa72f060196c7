// libFuzzer: trust roots and the files they lie in.
#include "signing/trust/signed_root.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto root = kiln::signing::TrustRoot::parse(text)) {
    // What was read is written in a form that reads back.
    auto again = kiln::toCanonicalJson(root->toJson());
    if (!again || !kiln::signing::TrustRoot::parse(*again)) __builtin_trap();
  }
  if (auto file = kiln::signing::RootFile::parse(text)) (void)kiln::signing::checkSigned(*file);
  return 0;
}
