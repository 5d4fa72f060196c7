#include "coordinator/access/identity.h"

#include "manifest/base/printable.h"

namespace kiln::access {
namespace {

struct Describe {
  std::string operator()(const LocalUser&) const { return "local"; }
  std::string operator()(const CertificateHolder& who) const { return printable(who.subject); }
  std::string operator()(const WorkerHolder& who) const { return "worker " + printable(who.name); }
  std::string operator()(const TokenHolder& who) const {
    return printable(who.subject) + " of " + printable(who.issuer);
  }
  std::string operator()(const LoopbackCaller&) const { return "loopback"; }
};

}  // namespace

std::string describe(const Identity& identity) {
  return std::visit(Describe(), identity);
}

}  // namespace kiln::access
