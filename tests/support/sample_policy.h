// The document of a sandbox policy as workers leave one, for tests.
#pragma once

#include <string>

#include "manifest/json/json.h"

namespace kiln::testing_support {

inline Json samplePolicy(const std::string& name) {
  Json limits = Json::object();
  for (const char* limit : {"memoryBytes", "addressSpaceBytes", "stackBytes", "processes", "openFiles",
                            "cpuSeconds", "wallSeconds", "fileBytes", "outputBytes", "outputFiles",
                            "outputDepth", "outputPathBytes", "logBytes"})
    limits[limit] = "1000";
  return Json{{"apiVersion", "kiln/v1"},
              {"kind", "SandboxPolicy"},
              {"name", name},
              {"network", false},
              {"namespaces", {"cgroup", "ipc", "mount", "net", "pid", "user", "uts"}},
              {"uid", 1000},
              {"gid", 1000},
              {"hostName", "localhost"},
              {"randomizeAddresses", false},
              {"devices", {"/dev/null", "/dev/zero"}},
              {"calls", {"close", "open", "read"}},
              {"limits", std::move(limits)}};
}
inline std::string samplePolicyText(const std::string& name) {
  return toCanonicalJson(samplePolicy(name)).value();
}

}  // namespace kiln::testing_support
