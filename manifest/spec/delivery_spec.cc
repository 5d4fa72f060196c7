#include "manifest/json/reader.h"
#include "manifest/spec/compile_spec.h"

namespace kiln {

Json DeliverySpec::toJson() const {
  return {{"apiVersion", "kiln/v1"}, {"kind", "DeliverySpec"}, {"builders", builders},
          {"operators", operators},  {"priority", priority},   {"timeLimitSeconds", timeLimitSeconds},
          {"noCache", noCache}};
}

Result<DeliverySpec> DeliverySpec::fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "delivery"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "DeliverySpec"));
  DeliverySpec spec;
  std::int64_t number = 0;
  KILN_ASSIGN(number, reader.integer("builders", 1, 16));
  spec.builders = static_cast<int>(number);
  KILN_ASSIGN(number, reader.integer("operators", 1, spec.builders));
  spec.operators = static_cast<int>(number);
  KILN_ASSIGN(number, reader.integer("priority", -1000, 1000));
  spec.priority = static_cast<int>(number);
  KILN_ASSIGN(number, reader.integer("timeLimitSeconds", 1, 7 * 24 * 3600));
  spec.timeLimitSeconds = static_cast<std::uint32_t>(number);
  KILN_ASSIGN(spec.noCache, reader.boolean("noCache"));
  KILN_TRY(reader.finish());
  return spec;
}

}  // namespace kiln
