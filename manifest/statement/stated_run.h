// The run of an action that a statement is about: whose worker did what, when, and the receipt for it.
#pragma once

#include <string>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/json/reader.h"

namespace kiln {

struct StatedRun {
  std::string builderId;     // of the farm that says so
  std::string invocationId;  // the job
  Digest action;             // what ran
  std::string worker, operatorName;
  Digest receipt;  // the document that proves what the worker reported
  TimePoint startedOn, finishedOn;

  // The members of a predicate; `role` is the name of the one that says who ("checker").
  Json members(const char* role) const;
  // Takes them from the predicate, which may have more. kInvalidArgument naming the member.
  Status readMembers(ObjectReader& predicate, const char* role);
};

}  // namespace kiln
