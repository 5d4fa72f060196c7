#pragma once

#include <string_view>

namespace kiln {

// What a worker is asked to do. The numbers are those of kiln.v1.ActionKind, and stand in the database.
enum class ActionKind {
  kFetch = 1,
  kReference = 2,
  kCompile = 3,
  kCheck = 4,
  kEmulate = 5,
  kPlan = 6,
  kTune = 7,
  kExecute = 8,  // a foreign action of a client of the Remote Execution API
  kIr = 9        // the compile again, for the IR behind each stage
};

// "compile"; "unknown" for a number that is none of them, as from a newer peer.
std::string_view actionKindName(ActionKind kind);

}  // namespace kiln
