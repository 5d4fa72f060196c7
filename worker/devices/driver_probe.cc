#include "worker/devices/driver_probe.h"

#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>

#include "manifest/base/exit_code.h"
#include "manifest/base/printable.h"
#include "manifest/base/run_program.h"
#include "manifest/json/error_line.h"
#include "manifest/json/reader.h"
#include "worker/devices/driver_settings.h"

namespace kiln::devices {
namespace {

Result<Json> answer(const std::string& library, const std::string& uuid) {
  if (uuid.empty()) {
    KILN_ASSIGN(const auto gpus, listGpus(library));
    return toJson(gpus);
  }
  KILN_ASSIGN(const int ordinal, testGpu(library, uuid));
  return Json{{"ordinal", ordinal}};
}

// A driver may print what it likes before.
std::string_view lastLine(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);
}

Error whyNot(const ProgramRun& run) {
  if (auto said = readErrorLine(run.err)) {
    said->message = printable(said->message, 400);
    return std::move(*said);
  }
  if (run.exitCode <= kKilledBySignal)
    return {Code::kUnavailable,
            "the driver ended its process with exit code " + std::to_string(run.exitCode),
            {}};
  return {Code::kUnavailable, "the driver crashed: " + signalText(run.exitCode), {}};
}

// With what the loader finds drivers by.
std::vector<std::string> environment() {
  std::vector<std::string> out;
  for (const auto& [name, value] : driverSettings()) out.push_back(name + "=" + value);
  if (const char* paths = std::getenv("LD_LIBRARY_PATH"))
    out.push_back(std::string("LD_LIBRARY_PATH=") + paths);
  return out;
}

}  // namespace

int probeDriver(const std::string& library, const std::string& uuid) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // one that hangs does not outlive its worker
  auto json = answer(library, uuid);
  auto text = json ? toCanonicalJson(*json) : Result<std::string>(fail(json.error()));
  if (text) {
    std::printf("%s\n", text->c_str());
    return std::fflush(stdout) == 0 ? kExitOk : kExitInternal;
  }
  std::fprintf(stderr, "%s\n", errorLine({text.error().code, text.error().message, {}}).c_str());
  return exitCodeOf(text.error().code);
}

Result<Json> DriverProbe::ask(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {program_, "probe-driver"});
  using std::chrono::duration_cast;
  auto run = runProgram(arguments, {.limit = duration_cast<std::chrono::milliseconds>(limit_),
                                    .environment = environment(),
                                    .standardError = StandardError::kKept,
                                    .ownGroup = true});
  if (!run && run.error().code == Code::kDeadlineExceeded)
    return fail(Code::kUnavailable, "the driver hangs: it did not end within " +
                                        std::to_string(duration_cast<std::chrono::seconds>(limit_).count()) +
                                        " s");
  if (!run) return fail(run.error());
  if (run->exitCode != 0) return fail(whyNot(*run));
  auto json = parseStrictJson(lastLine(run->out));
  if (!json) return fail(Code::kUnavailable, "the driver's answer cannot be read: " + json.error().message);
  return std::move(*json);
}

Result<std::vector<Gpu>> DriverProbe::list(const std::string& library) {
  KILN_ASSIGN(const Json json, ask({library}));
  return gpusFromJson(json);
}

Result<int> DriverProbe::test(const std::string& library, const std::string& uuid) {
  KILN_ASSIGN(const Json json, ask({library, "--test", uuid}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "driver"));
  KILN_ASSIGN(const std::int64_t ordinal, reader.integer("ordinal", 0, 1 << 20));
  KILN_TRY(reader.finish());
  return static_cast<int>(ordinal);
}

}  // namespace kiln::devices
