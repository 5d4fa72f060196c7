#include <fmt/format.h>

#include <algorithm>

#include "api/graph/layout.h"
#include "manifest/base/printable.h"

namespace kiln::graph {
namespace {

// Text of an XML element: what could be markup is not.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text, kMaxLine)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

const char* colourOf(Shape shape) {
  switch (shape) {
    case Shape::kSource:
      return "#e8f0fe";
    case Shape::kInput:
      return "#eef7ee";
    case Shape::kPart:
      return "#f4f4f4";
    case Shape::kWho:
      return "#fff4e0";
    case Shape::kStatement:
      return "#f6ecfb";
    case Shape::kArtifact:
      return "#ffe3e3";
  }
  return "#ffffff";
}

std::string drawn(const Node& node, const Box& box) {
  const int round = node.shape == Shape::kWho ? box.height / 2 : 3;
  std::string out = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{}\" stroke=\"#555\"/>\n", box.x,
      box.y, box.width, box.height, round, colourOf(node.shape));
  for (std::size_t i = 0; i < node.lines.size(); ++i)
    out += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", box.x + kPadding,
                       box.y + kPadding + static_cast<int>(i + 1) * kLineHeight - 4,
                       i == 0 ? " font-weight=\"bold\"" : "", escaped(node.lines[i]));
  return out;
}

std::string drawn(const Box& from, const Box& to) {
  const int x1 = from.x + from.width, y1 = from.y + from.height / 2, y2 = to.y + to.height / 2;
  const int bend = std::max(20, (to.x - x1) / 2);
  return fmt::format(
      "<path d=\"M{} {} C{} {} {} {} {} {}\" fill=\"none\" stroke=\"#777\" marker-end=\"url(#end)\"/>\n", x1,
      y1, x1 + bend, y1, to.x - bend, y2, to.x, y2);
}

}  // namespace

std::string toSvg(const Graph& graph) {
  const Layout layout = layOut(graph);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"monospace\" font-size=\"11\">\n"
      "<defs><marker id=\"end\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\">"
      "<path d=\"M0 0 L7 3 L0 6 z\" fill=\"#777\"/></marker></defs>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      layout.width, layout.height);
  for (const Edge& edge : graph.edges()) out += drawn(layout.boxes[edge.from], layout.boxes[edge.to]);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) out += drawn(graph.nodes()[i], layout.boxes[i]);
  return out + "</svg>\n";
}

}  // namespace kiln::graph
