// The statement that an artifact was qualified on some machine: what was compared, whether it held, what was
// measured. Described in manifest/FORMAT.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/statement/stated_run.h"
#include "manifest/statement/statement.h"

namespace kiln {

inline constexpr char kCheckType[] = "urn:kiln:predicate:check:v1";
// What a check's worker leaves: its report, canonical JSON.
inline constexpr char kCheckReport[] = "report.json";
inline constexpr std::uint64_t kMaxCheckReportBytes = 1u << 20;

struct CheckStatement : StatedRun {
  Digest plan;  // the check plan (check.json)
  Json report;  // of the runtime's check (compiler_core/runtime/check/report.h)

  bool passed() const;
  // What did not hold: "fixture profile default: y (1 of 10 elements differ)", separated by "; ".
  std::string failures() const;

  // The predicate.
  Json toJson() const;
  // kInvalidArgument naming the member.
  static Result<CheckStatement> fromJson(const Json& predicate);
};

// kInvalidArgument unless `report` has the members of a report: "passed", which agrees with its "items",
// "measured", "device".
Status checkReport(const Json& report);

// Whether a report that checkReport() takes is of a device that says anything but that it is not emulated.
bool saysEmulated(const Json& report);

// What such a report was made on. kSoftware: the processor, behind a real driver of a device (Mesa's
// lavapipe): the driver and the program's use of it were tried, a GPU was not. What is of no known type is no
// hardware.
enum class CheckedOn { kHardware, kSoftware, kEmulated };
CheckedOn checkedOn(const Json& report);
// "hardware", "software", "emulated"; nothing for other texts.
std::string_view checkedOnText(CheckedOn on);
std::optional<CheckedOn> parseCheckedOn(std::string_view text);

// The GPU that such a report names.
struct CheckedGpu {
  std::string name;
  std::string version;  // of what it computes with: "compute capability 9.0", "Vulkan 1.3.230"
  std::string arch;     // as workers advertise it: "sm_90", "vulkan1.3"; "" for a version that is none
  std::string type;     // of Vulkan: "discrete", "integrated", "virtual", "software", "other"; else ""
  std::string driver, conformance;  // of Vulkan, else ""
};
// Nothing for a report that names none; kInvalidArgument for one that names it without the texts of its
// interface (FORMAT.md, "Check").
Result<std::optional<CheckedGpu>> checkedGpu(const Json& report);

// What such a report states of its device: whatever texts are there, its GPU's among them.
std::vector<std::string> deviceTexts(const Json& report);

// The statement about one artifact, in canonical JSON: what the signer signs.
Result<std::string> checkStatement(const Digest& artifact, const CheckStatement& check);

}  // namespace kiln
