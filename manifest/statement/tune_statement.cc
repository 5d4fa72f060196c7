#include "manifest/statement/tune_statement.h"

#include "manifest/statement/members.h"
#include "manifest/tuning/record.h"

namespace kiln {

Json TuneStatement::toJson() const {
  return {{"tuner", {{"id", builderId}, {"worker", worker}, {"operator", operatorName}}},
          {"invocationId", invocationId},
          {"action", digestMember(action)},
          {"plan", digestMember(plan)},
          {"receipt", digestMember(receipt)},
          {"startedOn", rfc3339(startedOn)},
          {"finishedOn", rfc3339(finishedOn)},
          {"target", target},
          {"device", {{"kind", deviceKind}, {"name", deviceName}}},
          {"kernels", std::to_string(kernels)},
          {"faster", std::to_string(faster)}};
}

Result<TuneStatement> TuneStatement::fromJson(const Json& predicate) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(predicate, "predicate"));
  TuneStatement tune;
  KILN_ASSIGN(ObjectReader tuner, reader.object("tuner"));
  KILN_ASSIGN(tune.builderId, tuner.string("id"));
  KILN_ASSIGN(tune.worker, tuner.string("worker"));
  KILN_ASSIGN(tune.operatorName, tuner.string("operator"));
  KILN_TRY(tuner.finish());
  KILN_ASSIGN(tune.invocationId, reader.string("invocationId"));
  KILN_ASSIGN(tune.action, readDigestMember(reader, "action"));
  KILN_ASSIGN(tune.plan, readDigestMember(reader, "plan"));
  KILN_ASSIGN(tune.receipt, readDigestMember(reader, "receipt"));
  KILN_ASSIGN(tune.startedOn, readTimeMember(reader, "startedOn"));
  KILN_ASSIGN(tune.finishedOn, readTimeMember(reader, "finishedOn"));
  KILN_ASSIGN(tune.target, reader.string("target"));
  KILN_ASSIGN(ObjectReader device, reader.object("device"));
  KILN_ASSIGN(tune.deviceKind, device.string("kind"));
  KILN_ASSIGN(tune.deviceName, device.string("name"));
  KILN_TRY(device.finish());
  KILN_ASSIGN(tune.kernels, reader.unsigned64("kernels"));
  KILN_ASSIGN(tune.faster, reader.unsigned64("faster"));
  if (tune.faster > tune.kernels) return badMember(reader.path("faster"), "more than the kernels");
  KILN_TRY(reader.finish());
  return tune;
}

Result<std::string> tuneStatement(const Digest& record, const TuneStatement& tune) {
  KILN_TRY(TuneStatement::fromJson(tune.toJson()));  // nothing is written that a reader would refuse
  return toCanonicalJson(Statement{{{kTuningRecordFile, record.hash}}, kTuneType, tune.toJson()}.toJson());
}

}  // namespace kiln
