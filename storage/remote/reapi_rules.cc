#include "storage/remote/reapi_rules.h"

#include <fmt/core.h>

#include <string>

namespace kiln::storage {

Status checkDigestFunction(reapi::DigestFunction::Value function) {
  if (function == reapi::DigestFunction::UNKNOWN || function == reapi::DigestFunction::SHA256) return {};
  const std::string& name = reapi::DigestFunction::Value_Name(function);
  return fail(Code::kInvalidArgument,
              fmt::format("digest function {} is not served; use SHA256 (GetCapabilities names it)",
                          name.empty() ? std::to_string(function) : name));
}

}  // namespace kiln::storage
