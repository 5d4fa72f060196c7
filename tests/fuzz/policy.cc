// libFuzzer: policies.
#include "signing/policy/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)kiln::signing::parseVersion(text);
  if (auto policy = kiln::signing::Policy::parse(text)) {
    // What was read is written in a form that reads back.
    if (!kiln::signing::Policy::parse(policy->toJson().dump())) __builtin_trap();
  }
  return 0;
}
