#include "compiler_core/frontend/graph/unsupported.h"

#include "compiler_core/ir/evidence_json.h"

namespace kiln::frontend {

Error unsupportedError(const std::vector<ir::UnsupportedNode>& nodes, std::int64_t total) {
  constexpr std::size_t kNamed = 3;
  std::string message = std::to_string(nodes.size()) + (nodes.size() == 1 ? " place of " : " places of ") +
                        std::to_string(total) + " nodes cannot be served: ";
  Json list = Json::array();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ir::UnsupportedNode& node = nodes[i];
    list.push_back(ir::toJson(node));
    if (i >= kNamed) continue;
    message += (i ? "; " : "") + std::string("node '") + node.node + "' (" +
               (node.domain.empty() || node.domain == "ai.onnx" ? "" : node.domain + ":") + node.op +
               (node.opset > 0 ? ", opset " + std::to_string(node.opset) : "") + "): " + node.reason;
  }
  if (nodes.size() > kNamed) message += "; and " + std::to_string(nodes.size() - kNamed) + " more";
  Json details = {{"unsupported", std::move(list)}};
  return {Code::kUnimplemented, std::move(message),
          details.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace kiln::frontend
