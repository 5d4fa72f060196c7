#include "coordinator/access/relayed_caller.h"

namespace kiln::access {
namespace {

// "-bin": gRPC ends the program for a text that is no header, and callers send any.
constexpr char kLocal[] = "kiln-local-bin", kCertificate[] = "kiln-certificate-bin",
               kAuthorization[] = "kiln-authorization-bin", kAddress[] = "kiln-address-bin";

std::vector<std::string> valuesOf(const grpc::ServerContextBase& context, const char* name) {
  std::vector<std::string> out;
  const auto [first, last] = context.client_metadata().equal_range(name);
  for (auto at = first; at != last; ++at) out.emplace_back(at->second.data(), at->second.size());
  return out;
}

// Of what relay() adds once.
std::string valueOf(const grpc::ServerContextBase& context, const char* name) {
  const auto all = valuesOf(context, name);
  return all.size() == 1 ? all.front() : "";
}

}  // namespace

void relay(const Credentials& shown, grpc::ClientContext& call) {
  if (shown.local) call.AddMetadata(kLocal, "1");
  call.AddMetadata(kCertificate, shown.certificate);
  call.AddMetadata(kAddress, shown.address);
  for (const std::string& one : shown.authorizations) call.AddMetadata(kAuthorization, one);
}

Credentials relayedCredentials(const grpc::ServerContextBase& context) {
  return {.local = valueOf(context, kLocal) == "1",
          .certificate = valueOf(context, kCertificate),
          .authorizations = valuesOf(context, kAuthorization),
          .address = valueOf(context, kAddress)};
}

}  // namespace kiln::access
