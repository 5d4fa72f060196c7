// libFuzzer: what a log, or somebody else, says to a witness.
#include "signing/witness/add_checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto request = kiln::signing::AddCheckpoint::parse(text); request && request->text() != text)
    __builtin_trap();
  return 0;
}
