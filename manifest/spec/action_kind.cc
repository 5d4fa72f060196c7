#include "manifest/spec/action_kind.h"

namespace kiln {

std::string_view actionKindName(ActionKind kind) {
  switch (kind) {
    case ActionKind::kFetch:
      return "fetch";
    case ActionKind::kReference:
      return "reference";
    case ActionKind::kCompile:
      return "compile";
    case ActionKind::kCheck:
      return "check";
    case ActionKind::kEmulate:
      return "emulate";
    case ActionKind::kPlan:
      return "plan";
    case ActionKind::kTune:
      return "tune";
    case ActionKind::kExecute:
      return "execute";
    case ActionKind::kIr:
      return "ir";
  }
  return "unknown";
}

}  // namespace kiln
