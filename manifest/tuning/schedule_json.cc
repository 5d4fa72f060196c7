#include "manifest/tuning/schedule_json.h"

namespace kiln {

Result<std::vector<std::int64_t>> readKnob(const Json& values, const std::string& place) {
  if (!values.is_array()) return badMember(place, "a knob must be an array of integers");
  std::vector<std::int64_t> out;
  for (const Json& value : values) {
    if (!value.is_number_integer()) return badMember(place, "a knob must be an array of integers");
    out.push_back(value.get<std::int64_t>());
  }
  return out;
}

Json scheduleJson(const Schedule& schedule) {
  Json json = Json::object();
  for (const auto& [name, values] : schedule) json[name] = values;
  return json;
}

Result<Schedule> readSchedule(ObjectReader& parent, std::string_view name) {
  KILN_ASSIGN(const Json* json, parent.any(name));
  const std::string place = parent.path(name);
  if (!json->is_object()) return badMember(place, "must be an object of knobs");
  Schedule schedule;
  for (const auto& [knob, values] : json->items()) {
    KILN_ASSIGN(schedule[knob], readKnob(values, place));
  }
  if (const Status good = checkSchedule(schedule); !good) return badMember(place, good.error().message);
  return schedule;
}

Result<std::string> readHash(ObjectReader& parent, std::string_view name) {
  KILN_ASSIGN(const std::string text, parent.string(name));
  const auto digest = Digest::parse(text, 0);
  if (!digest || digest->text() != text)
    return badMember(parent.path(name), "must be sha256:<64 hex digits>");
  return text;
}

Result<std::string> readTemplate(ObjectReader& parent) {
  KILN_ASSIGN(std::string name, parent.string("template"));
  if (!checkSchedule({{name, {0}}}))
    return badMember(parent.path("template"), "must be lower-case letters, digits and \"-\"");
  return name;
}

}  // namespace kiln
