// What somebody says to have verified: another's statement about the model of an artifact. Made by
// signing/model/input_statement.h; the form is described in FORMAT.md.
#pragma once

#include <string>

#include "manifest/json/json.h"

namespace kiln {

inline constexpr char kInputStatementType[] = "urn:kiln:predicate:input-statement:v1";

// Who signed what, as the author of an input statement found.
struct SignedInput {
  std::string predicateType;  // of the other's statement
  std::string keyId;          // that signed it
  std::string identity;       // that its certificate names, where it was signed by one
  std::string root;           // "sha256:<hex>" of the certificate that vouches for that
  std::string issuer;         // of a keyless signature: the OpenID issuer that said who that is

  // Of a predicate. What is missing or of another type is "": it meets no demand.
  static SignedInput of(const Json& predicate);
};

}  // namespace kiln
