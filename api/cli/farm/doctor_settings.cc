#include "api/cli/farm/doctor_settings.h"

#include "api/cli/base/farm_contexts.h"
#include "api/cli/base/settings.h"

namespace kiln::cli {

std::vector<Finding> checkSettings(const Context& context) {
  std::vector<Finding> out;
  if (!context.name.empty())
    out.push_back({"setting context", "ok",
                   context.name + ", from " + context.nameOrigin + ", in " + contextsPath(), ""});
  Context copy = context;
  for (const Setting& setting : settings()) {
    const std::string& value = setting.value(copy);
    if (value.empty()) continue;
    const auto from = context.origins.find(setting.member);
    const std::string origin = from != context.origins.end() ? from->second : "the farm in " + context.farm;
    const SettingFault fault = faultOf(setting, value);
    out.push_back({std::string("setting ") + setting.member, fault.what.empty() ? "ok" : "warning",
                   value + ", from " + origin + (fault.what.empty() ? "" : "; " + fault.what), fault.next});
  }
  return out;
}

}  // namespace kiln::cli
