// What tests of policies judge, and how a rule came out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "signing/policy/evaluate.h"

namespace kiln::signing {

inline Provenance provenance() {
  Provenance out;
  out.builderId = "urn:b";
  out.externalParameters = {{"target", "cpu:x86-64-v3"}, {"toolchain", digestOf("t").text()}};
  out.builders = {{"w1", "acme", {}}, {"w2", "acme", {}}, {"w3", "other", {}}};
  return out;
}

inline std::vector<std::string> failing(const Policy& policy, const Provenance& facts,
                                        bool development = false) {
  std::vector<std::string> out;
  for (const RuleResult& rule : evaluate(policy, {development, &facts})) {
    EXPECT_FALSE(rule.detail.empty());
    if (!rule.ok) out.push_back(rule.rule);
  }
  return out;
}

// How one rule came out under `policy`; the first of its name.
inline RuleResult ruled(const Policy& policy, const PolicyFacts& facts, const std::string& rule) {
  for (const RuleResult& one : evaluate(policy, facts))
    if (one.rule == rule) return one;
  ADD_FAILURE() << rule << " was not asked";
  return {};
}
inline Policy anyPolicy() {
  return {"p", true, {"*"}, 1, 1, {"*"}, {"*"}};
}

}  // namespace kiln::signing
