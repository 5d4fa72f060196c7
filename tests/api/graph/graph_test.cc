#include <gtest/gtest.h>

#include <algorithm>

#include "api/graph/layout.h"
#include "api/graph/provenance_graph.h"
#include "tests/support/sample_provenance.h"

namespace kiln::graph {
namespace {

const Digest kArtifact = digestOf(std::string_view("artifact"));

Ancestry sample() {
  Ancestry out;
  out.artifact = kArtifact;
  out.provenances = {{testing_support::sampleProvenance(), "sha256:0123456789abcdef0123"}};
  out.submitters = {{"ci@example.com", "job-1"}, {"somebody else", "job-2"}};
  out.toolchain =
      ToolchainDescription{"kiln", "0.1", "kiln-0.1", {{"ptxas", "13.0.88", "bin/ptxas", kArtifact}}, {}};
  return out;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

bool overlap(const Box& a, const Box& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

TEST(ProvenanceGraph, LeadsFromCommitAndComponentsToTheArtifact) {
  const Ancestry ancestry = sample();
  const std::string dot = toDot(provenanceGraph(ancestry));
  for (const char* word :
       {"git+https://example.com/models.git@0123456789012345678901234567890123456789#m.onnx", "ptxas 13.0.88",
        "worker w1", "of acme", "submitter ci@example.com", "toolchain kiln-0.1"})
    EXPECT_NE(dot.find(word), std::string::npos) << word << "\n" << dot;
  EXPECT_EQ(dot.find("somebody else"), std::string::npos) << "whose job made no statement";
  EXPECT_NE(dot.find("statement sha256:0123456789abcdef"), std::string::npos) << dot;
  const Graph graph = provenanceGraph(ancestry);
  const Layout layout = layOut(graph);
  for (const Edge& edge : graph.edges())
    EXPECT_LT(layout.boxes[edge.from].x, layout.boxes[edge.to].x) << "edges lead to the right";
}

TEST(ProvenanceGraph, ACheckIsNamedByTheDigestOfWhatWasSigned) {
  CheckStatement check;
  check.builderId = "urn:b";
  check.invocationId = "job-2";
  check.worker = "w3";
  check.operatorName = "acme";
  check.startedOn = check.finishedOn = parseRfc3339("2026-11-20T06:00:00Z").value();
  check.report = {
      {"device", {{"processor", "a device"}}},
      {"items", {{{"kind", "fixture"}, {"name", "y"}, {"passed", true}, {"detail", "8 elements"}}}},
      {"measured", Json::object()},
      {"passed", true}};
  const std::string text = checkStatement(kArtifact, check).value();
  EXPECT_EQ(statementOf(kArtifact, check), digestOf(text).text());
  Ancestry ancestry = sample();
  ancestry.checks = {check};
  EXPECT_NE(toDot(provenanceGraph(ancestry)).find("on a device"), std::string::npos);
}

TEST(GraphLayout, BoxesDoNotOverlapAndStayInside) {
  Graph graph;
  for (std::size_t i = 0; i < 60; ++i)
    graph.node(std::to_string(i), Shape::kInput, std::vector<std::string>(1 + i % 4, std::string(i, 'x')));
  for (std::size_t i = 0; i < 59; ++i) graph.edge(i, i + 1 + i % 5 < 60 ? i + 1 + i % 5 : 59);
  const Layout layout = layOut(graph);
  for (std::size_t i = 0; i < 60; ++i) {
    const Box& box = layout.boxes[i];
    EXPECT_TRUE(box.x >= 0 && box.y >= 0 && box.x + box.width <= layout.width &&
                box.y + box.height <= layout.height);
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(overlap(box, layout.boxes[j])) << i << " " << j;
  }
}

TEST(GraphLayout, ACycleAndAnEmptyGraphAreDrawnToo) {
  Graph graph;
  EXPECT_NE(toSvg(graph).find("</svg>"), std::string::npos);
  const auto a = graph.node("a", Shape::kInput, {"a"}), b = graph.node("b", Shape::kInput, {});
  graph.edge(a, b);
  graph.edge(b, a);
  graph.edge(a, b);
  EXPECT_EQ(graph.edges().size(), 2u) << "said twice, there once";
  EXPECT_EQ(count(toSvg(graph), "<path d=\"M"), 3u) << "two edges and the arrow's head";
}

TEST(GraphText, NothingInALabelIsMarkup) {
  Graph graph;
  graph.node("x", Shape::kInput,
             {"</text><script>alert(1)</script>", "a\"]; evil [label=\"b\\", "two\nlines & 'more'"});
  const std::string svg = toSvg(graph), dot = toDot(graph);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_EQ(count(svg, "<text"), 3u);
  EXPECT_NE(svg.find("two?lines &amp; &#39;more&#39;"), std::string::npos) << svg;
  EXPECT_EQ(count(dot, "\n"), 5u) << dot;
  EXPECT_NE(dot.find("a\\\"]; evil [label=\\\"b\\\\"), std::string::npos) << dot;
}

}  // namespace
}  // namespace kiln::graph
