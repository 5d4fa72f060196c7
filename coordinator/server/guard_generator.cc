#include "coordinator/server/guard_generator.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <array>
#include <vector>

#include "coordinator/access/rpc_table.h"

namespace kiln::server {
namespace {

namespace pb = google::protobuf;

constexpr std::array<std::string_view, 4> kNotGenerated = {
    "kiln.v1.SignerService",         // kiln-signer's own socket
    "kiln.v1.WorkerService",         // guarded_services.h: answered by callbacks
    "google.bytestream.ByteStream",  // guarded_blobs.h: the instance stands inside the resource name
    "build.bazel.remote.execution.v2.Execution",  // the instance stands inside an operation's name
};

std::string cppName(const std::string& fullName) {
  std::string out = "::";
  for (const char letter : fullName) out += letter == '.' ? std::string("::") : std::string(1, letter);
  return out;
}

Result<std::string> methodText(const pb::MethodDescriptor& method) {
  const std::string rpc = method.service()->full_name() + "/" + method.name();
  if (!access::findRule(rpc))
    return fail(Code::kFailedPrecondition, rpc + " has no row in coordinator/access/rpc_table.cc");
  if (method.client_streaming())
    return fail(Code::kUnimplemented,
                rpc + " takes a stream: guard it by hand (coordinator/server/guarded_blobs.h)");
  const std::string response = cppName(method.output_type()->full_name());
  return fmt::format(
      "  ::grpc::Status {0}(::grpc::ServerContext* context, const {1}* request, {2}* out) override {{\n"
      "    return pass(\"{0}\", &Inner::{0}, context, request, out);\n"
      "  }}\n",
      method.name(), cppName(method.input_type()->full_name()),
      method.server_streaming() ? "::grpc::ServerWriter<" + response + ">" : response);
}

Result<std::string> classText(const pb::ServiceDescriptor& service) {
  std::string out = fmt::format(
      "\nclass Guarded{} : public Guard<{}> {{\n"
      " public:\n"
      "  using Guard::Guard;\n",
      service.name(), cppName(service.full_name()));
  for (int i = 0; i < service.method_count(); ++i) {
    KILN_ASSIGN(const std::string method, methodText(*service.method(i)));
    out += method;
  }
  return out + "};\n";
}

std::string headerOf(const std::string& proto) {
  return proto.substr(0, proto.rfind('.')) + ".grpc.pb.h";
}

}  // namespace

Result<std::string> generateGuards(const pb::FileDescriptorSet& protos) {
  pb::DescriptorPool pool;
  std::string includes, classes;
  for (const pb::FileDescriptorProto& proto : protos.file()) {
    const pb::FileDescriptor* file = pool.BuildFile(proto);
    if (!file) return fail(Code::kInvalidArgument, proto.name() + " does not stand on its own");
    bool used = false;
    for (int i = 0; i < file->service_count(); ++i) {
      const pb::ServiceDescriptor& service = *file->service(i);
      if (std::ranges::find(kNotGenerated, service.full_name()) != kNotGenerated.end()) continue;
      KILN_ASSIGN(const std::string text, classText(service));
      classes += text;
      used = true;
    }
    if (used) includes += "#include \"" + headerOf(file->name()) + "\"\n";
  }
  return "// Every RPC through the gate; written by kiln-generate-guards from the protos.\n"
         "#pragma once\n\n"
         "#include \"coordinator/server/guard.h\"\n" +
         includes + "\nnamespace kiln::server {\n" + classes + "\n}  // namespace kiln::server\n";
}

}  // namespace kiln::server
