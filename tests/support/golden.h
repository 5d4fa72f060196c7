// Golden files: committed bytes that a wire format must keep. KILN_ACCEPT_GOLDEN=1 rewrites them; do that
// only for a new version of a format, and look at the diff.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace kiln::testing_support {

inline bool acceptsGolden() {
  const char* value = std::getenv("KILN_ACCEPT_GOLDEN");
  return value && std::string(value) == "1";
}

inline std::string readGolden(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << " is missing; run once with KILN_ACCEPT_GOLDEN=1";
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void writeGolden(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.flush()) << path;
}

// Compares, or rewrites when golden files are accepted.
inline void expectGolden(const std::string& path, const std::string& text) {
  if (acceptsGolden()) writeGolden(path, text);
  EXPECT_EQ(readGolden(path), text) << path;
}

}  // namespace kiln::testing_support
