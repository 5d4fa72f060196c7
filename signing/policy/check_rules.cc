#include "signing/policy/check_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"

namespace kiln::signing {
namespace {

std::string textOf(const Json& json, const char* name) {
  return json.value(name, std::string());
}

// Checks that a policy does not count.
struct Refused {
  std::size_t hardware = 0, software = 0, emulated = 0;

  // "a software device", "an emulated device"; the one that comes nearest to hardware.
  const char* best() const {
    if (hardware > 0) return "hardware";
    return software > 0 ? "a software device" : "an emulated device";
  }
  bool none() const { return hardware + software + emulated == 0; }
  std::string text() const {
    std::string text;
    const auto add = [&](std::size_t count, const char* before, const char* after) {
      if (count == 0) return;
      text += fmt::format("{}{} {}check{}{}", text.empty() ? "" : ", ", count, before, count == 1 ? "" : "s",
                          after);
    };
    add(emulated, "emulated ", "");
    add(software, "", " on software devices");
    add(hardware, "", " on hardware");
    return text;
  }
};

const char* saidOf(CheckedOn on) {
  switch (on) {
    case CheckedOn::kHardware:
      return "";
    case CheckedOn::kSoftware:
      return ", on a software device: a policy may refuse it";
    case CheckedOn::kEmulated:
      return ", on an emulated device: a policy may refuse it";
  }
  return "";
}

RuleResult checked(bool required, std::span<const CheckStatement> checks, const Refused& refused) {
  constexpr char kRule[] = "requireCheck";
  if (checks.empty())
    return {!required, kRule,
            std::string(required ? "" : "not required; ") + "the artifact is unchecked" +
                (refused.none() ? "" : std::string(", but for what ") + refused.best() + " said")};
  const CheckStatement& last = *std::ranges::max_element(checks, {}, &CheckStatement::finishedOn);
  const std::string by = "check by " + printable(last.worker) + " at " + rfc3339(last.finishedOn) +
                         saidOf(checkedOn(last.report));
  if (last.passed()) return {true, kRule, "satisfied by " + by};
  return {!required, kRule, (required ? "" : "not required; ") + by + " failed: " + last.failures()};
}

// Why a number that the item states is not within the wanted bound; "" if it is.
std::string outOfBound(const Json& item, const char* name, double bound, bool atLeast) {
  const auto measured = item.find("measured");
  if (measured == item.end() || !measured->contains(name)) return std::string("does not state ") + name;
  auto reader = ObjectReader::open(*measured, "measured");
  const auto value = reader ? reader->decimal(name) : fail(reader.error());
  if (!value) return std::string("states no number as ") + name;
  if (atLeast ? *value >= bound : *value <= bound) return "";
  return fmt::format("{} is {}, {} {} wanted", name, *value, atLeast ? "at least" : "at most", bound);
}

std::string whyNot(const WantedCheck& wanted, const Json& item) {
  if (!item.at("passed").get<bool>()) return "failed";
  std::string why;
  if (wanted.maxAbsolute) why = outOfBound(item, "maxAbsolute", *wanted.maxAbsolute, false);
  if (why.empty() && wanted.maxRelative) why = outOfBound(item, "maxRelative", *wanted.maxRelative, false);
  if (why.empty() && wanted.minAccuracy) why = outOfBound(item, "accuracy", *wanted.minAccuracy, true);
  return why;
}

RuleResult holds(const WantedCheck& wanted, const CheckStatement* last) {
  const std::string what = printable(wanted.kind) + (wanted.name.empty() ? "" : " " + printable(wanted.name));
  if (!last) return {false, "checks", what + ": the artifact is unchecked"};
  int found = 0;
  for (const Json& item : last->report.at("items")) {
    const std::string name = textOf(item, "name");
    // A golden's items are named after it and its outputs: "golden: output".
    const bool named = wanted.name.empty() || name == wanted.name || name.starts_with(wanted.name + ": ");
    if (textOf(item, "kind") != wanted.kind || !named) continue;
    ++found;
    if (const std::string why = whyNot(wanted, item); !why.empty())
      return {false, "checks", what + ": " + printable(name) + " " + why};
  }
  if (found == 0) return {false, "checks", what + ": the latest check compared nothing of it"};
  return {true, "checks", fmt::format("{}: satisfied by {} item{}", what, found, found == 1 ? "" : "s")};
}

}  // namespace

void addCheckRules(const Policy& policy, std::span<const CheckStatement> checks,
                   std::vector<RuleResult>& out) {
  std::vector<CheckStatement> counted;
  Refused refused;
  for (const CheckStatement& check : checks) {
    const CheckedOn on = checkedOn(check.report);
    if (policy.counts(on)) {
      counted.push_back(check);
      continue;
    }
    ++(on == CheckedOn::kHardware   ? refused.hardware
       : on == CheckedOn::kSoftware ? refused.software
                                    : refused.emulated);
  }
  checks = counted;
  const char* const none =
      policy.checkDevices.empty() ? "satisfied: no check was emulated" : "satisfied: every check counts";
  if (policy.refuseEmulated || !policy.checkDevices.empty())
    out.push_back({true, policy.checkDevices.empty() ? "refuseEmulated" : "checkDevices",
                   refused.none() ? none : refused.text() + " not counted"});
  out.push_back(checked(policy.requireCheck, checks, refused));
  const CheckStatement* last =
      checks.empty() ? nullptr : &*std::ranges::max_element(checks, {}, &CheckStatement::finishedOn);
  for (const WantedCheck& wanted : policy.checks) out.push_back(holds(wanted, last));
}

}  // namespace kiln::signing
