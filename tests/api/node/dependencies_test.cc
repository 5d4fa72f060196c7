// What a node needs in its process: neither gRPC, nor protobuf, nor LLVM.
#include <gtest/gtest.h>

#include <fstream>

#include "api/node/kiln_node.h"

TEST(NodeLibrary, LoadsNeitherGrpcNorLlvm) {
  char* message = nullptr;
  kiln_node* node = nullptr;
  ASSERT_NE(kiln_node_open("nowhere", nullptr, "nowhere", nullptr, &node, &message), 0);
  kiln_node_free_message(message);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const char* library : {"libgrpc", "libprotobuf", "libLLVM", "libMLIR"}) {
      EXPECT_EQ(line.find(library), std::string::npos) << line;
    }
  }
}
