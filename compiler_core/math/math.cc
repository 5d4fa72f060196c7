// The host's instantiation over Lanes<1>. Without -march the fused multiply-adds are calls of libm's fma,
// which picks an instruction or a software routine by processor: an exactly rounded operation has one result,
// so both agree.
#include "compiler_core/math/math.h"

#include "compiler_core/math/erf.h"
#include "compiler_core/math/exp.h"
#include "compiler_core/math/log.h"
#include "compiler_core/math/pow.h"
#include "compiler_core/math/tanh.h"
#include "compiler_core/math/trig.h"

namespace kiln::math {

using One = Lanes<1>;

float exp(float x) {
  return exp<One>(x);
}
float log(float x) {
  return log<One>(x);
}
float tanh(float x) {
  return tanh<One>(x);
}
float erf(float x) {
  return erf<One>(x);
}
float sin(float x) {
  return sin<One>(x);
}
float cos(float x) {
  return cos<One>(x);
}
float pow(float x, float y) {
  return pow<One>(x, y);
}

double exp(double x) {
  return exp<One>(x);
}
double log(double x) {
  return log<One>(x);
}
double tanh(double x) {
  return tanh<One>(x);
}
double erf(double x) {
  return erf<One>(x);
}
double sin(double x) {
  return sin<One>(x);
}
double cos(double x) {
  return cos<One>(x);
}
double pow(double x, double y) {
  return pow<One>(x, y);
}

}  // namespace kiln::math
