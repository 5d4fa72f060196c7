// Stands in for kiln-check on an emulated device: the same command line and a report of the right form. What
// KILN_EMULATED_CHECK says happens to the device in the middle: lost, hang, or nothing.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "manifest/base/exit_code.h"
#include "manifest/json/error_line.h"
#include "manifest/statement/check_statement.h"
#include "tests/support/sample_spec.h"

namespace {

bool readable(const std::string& path) {
  return access(path.c_str(), R_OK) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  const char* behaviour = std::getenv("KILN_EMULATED_CHECK");
  const char* kernels = std::getenv("KILN_EMULATED_KERNELS");
  const std::string what = behaviour == nullptr ? "" : behaviour;
  if (!readable(options["--artifact"] + "/manifest.json") || !readable(options["--device-driver"]) ||
      kernels == nullptr ||
      !readable(std::string(kernels) + "/" + kiln::digestOf(kiln::testing_support::kSampleProgram).hex() +
                ".so")) {
    std::fputs("the sandbox shows too little\n", stderr);
    return kiln::kExitInternal;
  }
  std::fputs("stage: check\n", stderr);
  while (what == "hang") pause();
  if (what == "lost") {
    std::fprintf(stderr, "%s\n",
                 kiln::errorLine({kiln::Code::kUnavailable, "it fell off the bus", {}}).c_str());
    return kiln::kExitUnavailable;
  }
  const kiln::Json report{
      {"passed", true},
      {"items", {{{"kind", "fixture"}, {"name", "y"}, {"detail", ""}, {"passed", true}}}},
      {"measured", kiln::Json::object()},
      {"device",
       {{"gpu",
         {{"name", options["--device"] == "0" ? "Stub One" : "Stub Two"}, {"computeCapability", "9.0"}}},
        {"emulated", true}}}};
  std::ofstream(options["--out"] + "/" + kiln::kCheckReport) << kiln::toCanonicalJson(report).value();
  return kiln::kExitOk;
}
