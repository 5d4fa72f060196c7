#include "compiler_core/ir/evidence_json.h"

namespace kiln::ir {
namespace {

template <class T>
Json list(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(toJson(item));
  return array;
}

Json toJson(const FusionGroup& group) {
  return {{"nodes", group.nodes}, {"operations", group.operations}};
}

// Names may be any UTF-8, member names of canonical JSON are ASCII: so maps keyed by names become lists.
template <class T>
Json pairs(const std::map<std::string, T>& map, const char* value) {
  Json array = Json::array();
  for (const auto& [name, item] : map) array.push_back({{"name", name}, {value, item}});
  return array;
}

}  // namespace

Json toJson(const PassEvidence& pass) {
  return {{"name", pass.name}, {"flags", Json(pass.flags)}, {"before", pass.before}, {"after", pass.after}};
}

Json toJson(const UnsupportedNode& node) {
  return {{"node", node.node},
          {"op", node.op},
          {"domain", node.domain},
          {"opset", node.opset},
          {"reason", node.reason}};
}

Json toJson(const CaptureEvidence& evidence) {
  return {{"format", evidence.format},
          {"producer", evidence.producer},
          {"producerVersion", evidence.producerVersion},
          {"irVersion", evidence.irVersion},
          {"opsets", pairs(evidence.opsets, "version")},
          {"nodesByOp", pairs(evidence.nodesByOp, "count")},
          {"nodes", evidence.nodes},
          {"served", evidence.served},
          {"functions", evidence.functions},
          {"customOps", evidence.customOps},
          {"unsupported", list(evidence.unsupported)}};
}

Json toJson(const AnalyseEvidence& evidence) {
  return {{"dims", pairs(evidence.dims, "value")},
          {"shapes", pairs(evidence.shapes, "type")},
          {"foldedNodes", evidence.foldedNodes}};
}

Json toJson(const RewriteEvidence& evidence) {
  Json passes = Json::array(), groups = Json::array();
  for (const PassEvidence& pass : evidence.passes) passes.push_back(toJson(pass));
  for (const FusionGroup& group : evidence.groups) groups.push_back(toJson(group));
  return {{"passes", passes}, {"fusionGroups", groups}};
}

}  // namespace kiln::ir
