#include "worker/agent/doctor.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "worker/devices/host_level.h"

namespace kiln::agent {

Json Diagnosis::toJson() const {
  Json json = probe.toJson();
  json["facts"] = facts;
  return json;
}

std::string Diagnosis::text() const {
  std::string out = probe.text();
  for (const auto& [name, value] : facts) out += "fact: " + name + ": " + value + "\n";
  return out + (probe.usable() ? "this host can run a worker\n" : "this host cannot run a worker yet\n");
}

Diagnosis diagnose(const sandbox::Sandbox& sandbox, const std::string& fetcher) {
  Diagnosis diagnosis;
  diagnosis.probe = sandbox::probe(sandbox);
  if (access(fetcher.c_str(), X_OK) == 0) {
    diagnosis.probe.checks.push_back({"fetcher", sandbox::Verdict::kOk, fetcher, ""});
  } else {
    diagnosis.probe.checks.push_back({"fetcher", sandbox::Verdict::kWarning, fetcher + " is not there",
                                      "git sources need kiln-fetcher beside kiln-worker"});
  }
  if (const auto digest = sandbox.policy().digest()) diagnosis.facts["sandboxPolicy"] = digest->text();
  diagnosis.facts["cgroups"] = sandbox.host().cgroups.describe();
  diagnosis.facts["hostLevel"] = devices::hostLevel();
  utsname kernel{};
  if (uname(&kernel) == 0) diagnosis.facts["kernel"] = std::string(kernel.sysname) + " " + kernel.release;
  return diagnosis;
}

}  // namespace kiln::agent
