// One thing that `kiln doctor` looked at.
#pragma once

#include <string>

namespace kiln::cli {

struct Finding {
  std::string name, verdict, detail,
      next;  // verdict: "ok", "warning" or "missing"; next: "" if nothing is to be done
};

}  // namespace kiln::cli
