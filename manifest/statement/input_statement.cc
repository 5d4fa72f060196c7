#include "manifest/statement/input_statement.h"

namespace kiln {

SignedInput SignedInput::of(const Json& predicate) {
  const auto text = [&](const char* name) {
    const auto found = predicate.is_object() ? predicate.find(name) : predicate.end();
    return found != predicate.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return {text("predicateType"), text("keyId"), text("identity"), text("root"), text("issuer")};
}

}  // namespace kiln
