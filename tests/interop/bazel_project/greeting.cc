#include "greeting.h"

const char* greeting() {
  return "built through the farm";
}
