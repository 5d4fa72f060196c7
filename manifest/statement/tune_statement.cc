#include "manifest/statement/tune_statement.h"

#include "manifest/statement/members.h"
#include "manifest/tuning/record.h"

namespace kiln {

Json TuneStatement::toJson() const {
  Json json = members("tuner");
  json["plan"] = digestMember(plan);
  json["target"] = target;
  json["device"] = {{"kind", deviceKind}, {"name", deviceName}};
  json["kernels"] = std::to_string(kernels);
  json["faster"] = std::to_string(faster);
  return json;
}

Result<TuneStatement> TuneStatement::fromJson(const Json& predicate) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(predicate, "predicate"));
  TuneStatement tune;
  KILN_TRY(tune.readMembers(reader, "tuner"));
  KILN_ASSIGN(tune.plan, readDigestMember(reader, "plan"));
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
