// A small fixtures.json with its files.
#pragma once

#include <map>
#include <string>

#include "manifest/artifact/fixture_list.h"
#include "manifest/json/json.h"

namespace kiln::testing_support {

using FixtureContents = std::map<std::string, std::string>;  // by path below fixtures/

inline FixtureContents sampleFixtures() {
  return {{"default/input_0.npy", "not a real tensor"}, {"default/output_0.npy", "nor is this"}};
}

// Of one profile, "default", with the files named input_* and output_*.
inline std::string fixtureListOf(const FixtureContents& contents) {
  Json files = Json::array(), inputs = Json::array(), outputs = Json::array();
  for (const auto& [path, bytes] : contents) {
    files.push_back(
        {{"path", path}, {"digest", digestOf(bytes).text()}, {"size", std::to_string(bytes.size())}});
    (path.find("input") != std::string::npos ? inputs : outputs).push_back(path);
  }
  return toCanonicalJson({{"version", "1"},
                          {"files", std::move(files)},
                          {"profiles", {{{"name", "default"}, {"inputs", inputs}, {"outputs", outputs}}}},
                          {"tolerance", {{"rtol", "1e-3"}, {"atol", "1e-5"}}}})
      .value();
}

}  // namespace kiln::testing_support
