#include "compiler_core/frontend/stablehlo/import/refusal.h"

#include "compiler_core/ir/evidence_json.h"

namespace kiln::stablehlo {

Error refusal(const std::vector<ir::UnsupportedNode>& places, std::int64_t total) {
  constexpr std::size_t kNamed = 3;
  std::string message = std::to_string(places.size()) + (places.size() == 1 ? " place in " : " places in ") +
                        std::to_string(total) + " operations cannot be served: ";
  Json list = Json::array();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ir::UnsupportedNode& place = places[i];
    list.push_back(ir::toJson(place));
    if (i < kNamed) message += (i > 0 ? "; " : "") + place.node + " (" + place.op + "): " + place.reason;
  }
  if (places.size() > kNamed) message += "; and " + std::to_string(places.size() - kNamed) + " more";
  Json details = {{"unsupported", std::move(list)}};
  return {Code::kUnimplemented, std::move(message),
          details.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace kiln::stablehlo
