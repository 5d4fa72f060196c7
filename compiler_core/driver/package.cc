// The stage package: writes the weights as the program wants them.
#include "compiler_core/driver/stages.h"
#include "manifest/spec/bare_metal.h"

namespace kiln::driver {

Result<Package> packageWeights(const Compilation& compilation, const Analysed& analysed,
                               const ProgramParts& parts) {
  compilation.begin(Stage::kPackage);
  Package written;
  if (isBareMetal(compilation.request.target.triple)) return written;  // they are in the program
  KILN_ASSIGN(written.weights,
              package::writeWeights(analysed.common().weights, parts.weights, compilation.request.out));
  return written;
}

}  // namespace kiln::driver
