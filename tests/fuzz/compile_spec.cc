// libFuzzer: a CompileSpec that is accepted keeps its meaning when written and read again.
#include "manifest/spec/delivery_spec.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto json = kiln::parseStrictJson({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  kiln::CompileSpec spec;
  (void)kiln::applySubmitted(*json, spec);
  (void)kiln::DeliverySpec::fromJson(*json);
  auto spec = kiln::CompileSpec::fromJson(*json);
  if (!spec) return 0;
  auto again = kiln::CompileSpec::fromJson(spec->toJson());
  if (!again || *again != *spec) std::abort();
  return 0;
}
