#include "manifest/statement/stated_run.h"

#include "manifest/statement/members.h"

namespace kiln {

Json StatedRun::members(const char* role) const {
  return {{role, {{"id", builderId}, {"worker", worker}, {"operator", operatorName}}},
          {"invocationId", invocationId},
          {"action", digestMember(action)},
          {"receipt", digestMember(receipt)},
          {"startedOn", rfc3339(startedOn)},
          {"finishedOn", rfc3339(finishedOn)}};
}

Status StatedRun::readMembers(ObjectReader& predicate, const char* role) {
  KILN_ASSIGN(ObjectReader who, predicate.object(role));
  KILN_ASSIGN(builderId, who.string("id"));
  KILN_ASSIGN(worker, who.string("worker"));
  KILN_ASSIGN(operatorName, who.string("operator"));
  KILN_TRY(who.finish());
  KILN_ASSIGN(invocationId, predicate.string("invocationId"));
  KILN_ASSIGN(action, readDigestMember(predicate, "action"));
  KILN_ASSIGN(receipt, readDigestMember(predicate, "receipt"));
  KILN_ASSIGN(startedOn, readTimeMember(predicate, "startedOn"));
  KILN_ASSIGN(finishedOn, readTimeMember(predicate, "finishedOn"));
  return {};
}

}  // namespace kiln
