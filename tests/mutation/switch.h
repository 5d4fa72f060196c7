// The switch behind which every mutant is compiled: KILN_MUTANT names the one that is on, none when it is
// unset. Only the copies of sources that instrument.py writes include this header; the product never does.
#pragma once

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace kiln::mutation {

// Whether `id` is the mutant of this process. Where KILN_MUTANTS_REACHED names a file, `id` is appended to
// it, which says that some test reaches the place. Called once per place, from the initialiser of a static.
inline bool isOn(const char* id) {
  if (const char* reached = std::getenv("KILN_MUTANTS_REACHED"))
    std::ofstream(reached, std::ios::app) << id << '\n';
  const char* chosen = std::getenv("KILN_MUTANT");
  return chosen != nullptr && std::strcmp(chosen, id) == 0;
}

}  // namespace kiln::mutation

#define KILN_MUTANT_IS_ON(id)                            \
  ([] {                                                  \
    static const bool isOn = ::kiln::mutation::isOn(id); \
    return isOn;                                         \
  }())
