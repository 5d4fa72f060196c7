// kiln-generate-openapi DESCRIPTORS JSON SOURCE: writes the OpenAPI description of a FileDescriptorSet, which
// protoc made, as a document and as a source file that holds the same text. Only the build runs it. It fails,
// and writes nothing, where an RPC's annotation cannot be served.
#include <google/protobuf/descriptor.pb.h>

#include <fstream>
#include <iostream>
#include <string_view>

#include "coordinator/web/served_methods.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"

namespace {

using kiln::Code;
using kiln::fail;

kiln::Status write(const std::string& file, const std::string& text) {
  std::ofstream to(file, std::ios::trunc);
  to << text;
  to.close();
  if (!to) return fail(Code::kPermissionDenied, "cannot write " + file);
  return {};
}

// Compilers need not take a literal as long as the document is: it is put together from parts.
std::string sourceOf(std::string_view document) {
  constexpr std::size_t kPart = 8192;
  std::string out =
      "// Written by kiln-generate-openapi from the protos.\n"
      "#include \"coordinator/web/openapi_document.h\"\n\n"
      "namespace kiln::server {\n\n"
      "std::string openApiDocument() {\n"
      "  std::string out;\n";
  for (std::size_t at = 0; at < document.size(); at += kPart)
    out += "  out += R\"json(" + std::string(document.substr(at, kPart)) + ")json\";\n";
  return out + "  return out;\n}\n\n}  // namespace kiln::server\n";
}

kiln::Status generate(const std::string& descriptors, const std::string& json, const std::string& source) {
  namespace pb = google::protobuf;
  std::ifstream from(descriptors, std::ios::binary);
  pb::FileDescriptorSet protos;
  if (!from || !protos.ParseFromIstream(&from))
    return fail(Code::kInvalidArgument, descriptors + " holds no descriptors");
  pb::DescriptorPool pool;
  for (const pb::FileDescriptorProto& proto : protos.file())
    if (!pool.BuildFile(proto))
      return fail(Code::kInvalidArgument, proto.name() + " does not stand on its own");
  KILN_ASSIGN(const auto routes, kiln::transcoding::RouteTable::of(kiln::server::servedMethods(pool)));
  const auto* upload = pool.FindMethodByName("google.bytestream.ByteStream.Write");
  const std::string text = kiln::transcoding::openApi(routes, kiln::server::neededFor, upload).dump(1) + "\n";
  KILN_TRY(write(json, text));
  return write(source, sourceOf(text));
}

int run(int argc, char** argv) {
  constexpr std::string_view kUsage = "usage: kiln-generate-openapi DESCRIPTORS JSON SOURCE\n";
  if (argc == 2 && argv[1] == std::string_view("--help")) {
    std::cout << kUsage;
    return 0;
  }
  if (argc != 4) {
    std::cerr << kUsage;
    return 2;
  }
  const kiln::Status status = generate(argv[1], argv[2], argv[3]);
  if (status) return 0;
  std::cerr << "kiln-generate-openapi: error: " << status.error().message << '\n';
  return kiln::exitCodeOf(status.error().code);
}

}  // namespace

int main(int argc, char** argv) {
  return kiln::runMain("kiln-generate-openapi", [&] { return run(argc, argv); });
}
