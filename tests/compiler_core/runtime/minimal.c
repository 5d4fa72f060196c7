/* Links the runtime through its C API alone; dependencies_test.py looks at what that pulls in. */
#include <stdio.h>

#include "compiler_core/runtime/kiln_runtime.h"

int main(int count, char** arguments) {
  kiln_artifact* artifact = NULL;
  kiln_status* status = kiln_artifact_open(count > 1 ? arguments[1] : ".", &artifact);
  if (status != NULL) {
    printf("%s: %s\n", kiln_class_name(kiln_status_class(status)), kiln_status_message(status));
    kiln_status_free(status);
    return 1;
  }
  kiln_artifact_close(artifact);
  return 0;
}
