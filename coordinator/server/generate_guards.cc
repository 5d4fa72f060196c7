// kiln-generate-guards DESCRIPTORS OUTPUT: writes the guards of the RPCs of a FileDescriptorSet, which protoc
// made. Only the build runs it. It fails, and writes nothing, where an RPC may not be served.
#include <fstream>
#include <iostream>
#include <string_view>

#include "coordinator/server/guard_generator.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"

namespace {

using kiln::Code;
using kiln::fail;

kiln::Status generate(const std::string& descriptors, const std::string& output) {
  std::ifstream from(descriptors, std::ios::binary);
  google::protobuf::FileDescriptorSet protos;
  if (!from || !protos.ParseFromIstream(&from))
    return fail(Code::kInvalidArgument, descriptors + " holds no descriptors");
  KILN_ASSIGN(const std::string guards, kiln::server::generateGuards(protos));
  std::ofstream to(output, std::ios::trunc);
  to << guards;
  to.close();
  if (!to) return fail(Code::kPermissionDenied, "cannot write " + output);
  return {};
}

int run(int argc, char** argv) {
  constexpr std::string_view kUsage = "usage: kiln-generate-guards DESCRIPTORS OUTPUT\n";
  if (argc == 2 && argv[1] == std::string_view("--help")) {
    std::cout << kUsage;
    return 0;
  }
  if (argc != 3) {
    std::cerr << kUsage;
    return 2;
  }
  const kiln::Status status = generate(argv[1], argv[2]);
  if (status) return 0;
  std::cerr << "kiln-generate-guards: error: " << status.error().message << '\n';
  return kiln::exitCodeOf(status.error().code);
}

}  // namespace

int main(int argc, char** argv) {
  return kiln::runMain("kiln-generate-guards", [&] { return run(argc, argv); });
}
