// libFuzzer: access files.
#include "coordinator/access/access_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln::access;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // The document names files; whatever it names holds the document.
  const auto rules =
      AccessRules::parse(text, {.read = [&](const std::string&) { return kiln::Result<std::string>(text); }});
  if (rules) {
    const TokenHolder holder{"i", text.substr(0, 64), {{"repository", text.substr(0, 2000)}}};
    (void)rules->rolesOf(holder, "a");
    (void)rules->explain(holder);
    (void)rules->instancesOf(WorkerHolder{"w", "o", ""}, Role::kWorker);
  }
  return 0;
}
