// The findings of an audit, each by name.
#pragma once

#include <functional>
#include <string>

namespace kiln::audit {

enum class FindingKind {
  kTamperedRow,        // says something else than the signed statements and the bytes that it leads to
  kMissingStatement,   // a statement, or its bundle, that should be there is not
  kBadSignature,       // a bundle that is no valid one, or signed by nobody whom the trust root lets say this
  kUnloggedSignature,  // no trusted log proves that it holds the signature
  kDamagedLog,         // what the log shows does not lead to a checkpoint that it signed
};
std::string_view findingName(FindingKind kind);  // "tampered-row"

struct Finding {
  FindingKind kind = FindingKind::kTamperedRow;
  std::string table;    // of the index; "log"
  std::string subject;  // "sha256:<hex>" of the artifact or statement, a toolchain's label, or "entry 7"
  std::string what;
};

using FindingSink = std::function<void(const Finding&)>;

}  // namespace kiln::audit
