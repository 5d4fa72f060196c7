// The provenance of a compile of sampleSpec(), for tests.
#pragma once

#include "manifest/statement/provenance.h"
#include "tests/support/sample_spec.h"

namespace kiln::testing_support {

inline Provenance sampleProvenance() {
  Provenance out;
  out.externalParameters = externalParameters(sampleSpec()).value();
  out.externalParameters["toolchainLabel"] = "kiln-0.1.0";
  out.internalParameters = {{"action", digestOf("action").text()},
                            {"sandboxPolicy", digestOf("policy").text()}};
  out.resolvedDependencies = dependencies(sampleSpec());
  out.resolvedDependencies[1].uri =
      "git+https://example.com/models.git@0123456789012345678901234567890123456789#m.onnx";
  out.builderId = "urn:kiln:builder:test";
  out.builderVersion = {{"kiln", "0.1.0"}};
  out.invocationId = "job-1";
  out.startedOn = parseRfc3339("2026-11-20T06:00:00Z").value();
  out.finishedOn = parseRfc3339("2026-11-20T06:00:02Z").value();
  out.builders = {{"w1", "acme", digestOf("receipt 1")}, {"w2", "other", digestOf("receipt 2")}};
  out.byproducts = {{"evidence", "", digestOf("evidence"), {}}};
  return out;
}

}  // namespace kiln::testing_support
