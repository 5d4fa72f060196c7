#include <cstdio>

#include "greeting.h"

int main() {
  return std::puts(greeting()) < 0;
}
