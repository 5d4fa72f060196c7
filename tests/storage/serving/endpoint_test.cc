#include "storage/serving/endpoint.h"

#include <gtest/gtest.h>

#include <fstream>

namespace kiln::serving {
namespace {

TEST(EndpointTest, HostAndPort) {
  EXPECT_EQ(parseHostPort("127.0.0.1:80")->host, "127.0.0.1");
  EXPECT_EQ(parseHostPort("127.0.0.1:80")->port, 80);
  EXPECT_EQ(parseHostPort("[::1]:0")->host, "[::1]");
  for (const char* text : {"", "80", ":80", "a:", "a:x", "a:65536", "a:-1", "a:1 "})
    EXPECT_EQ(parseHostPort(text).error().code, Code::kInvalidArgument) << text;
}

TEST(EndpointTest, PortFile) {
  const std::string path = testing::TempDir() + "/endpoint.port";
  ASSERT_TRUE(writePortFile("--x-port-file", path, 4711));
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "4711");
  EXPECT_TRUE(writePortFile("--x-port-file", "", 1));
  const auto refused = writePortFile("--x-port-file", "/none/of/it", 1);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_EQ(refused.error().message, "--x-port-file: cannot write /none/of/it");
}

}  // namespace
}  // namespace kiln::serving
