// The schedule of a kernel, which says how it is cut and written: a schedule is a value for each knob of its
// template (the kind of kernel, on a processor or on a device). The heuristics give the default, tuning
// entries may give another one; the IR carries it in kiln.kernel (kernel_info.h), the manifest prints it. No
// schedule changes the bits of what a kernel computes where numerics.reassociation is "off": the order of
// every sum is the model's. Where it is "deterministic" a schedule may name another order, the default too;
// where it is "on" the default adds in the model's order, and other schedules may name another.
//
// To add a knob: a rule in the strategy that it belongs to (../strategies/contract/strategy.h), with its
// name, default, legal values and those worth trying; what it does where the code is written. Nothing may
// change while the knob has its default. Signatures, JSON, entries, refusals and the tuner follow from that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/schedule/knobs/schedule.h"
#include "manifest/base/result.h"

namespace kiln::schedule {

struct Knob {
  std::string name;
  // Worth trying, the default's first, each once. All of them are legal; those of a device's operations whose
  // results share nothing, and of "winograd", with some value of the other knobs. A schedule may have others.
  std::vector<std::vector<std::int64_t>> values;
};

// The default, with the row of the table that decided.
struct Chosen {
  Schedule schedule;
  std::string_view rule, reason;
};
Chosen defaultSchedule(const Site& site);

// The knobs that the template has for this shape, by name. A pure function, as the default is.
std::vector<Knob> knobsOf(const Site& site);

// kInvalidArgument names the knob: one that the template does not have or that is missing, or a value outside
// of its range. kUnimplemented: one that numerics do not allow.
Status check(const Schedule& schedule, const Site& site);

}  // namespace kiln::schedule
