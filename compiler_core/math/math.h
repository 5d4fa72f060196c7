// Kiln's own math on the host: the same templates that programs get as bitcode, compiled as plain scalar C++.
// A result has the same bits here, in a compiled program of any vector width and on any processor, NaNs
// included (every NaN returned is the positive quiet one). The reference evaluator and the compiler's folding
// use nothing else. Error bounds, ranges and special values: compiler_core/math/README.md. Thread safe; no
// errno, no exceptions. Requires round-to-nearest without flush-to-zero, the default floating-point
// environment.
#pragma once

namespace kiln::math {

float exp(float x);
float log(float x);
float tanh(float x);
float erf(float x);
float sin(float x);
float cos(float x);
float pow(float x, float y);

double exp(double x);
double log(double x);
double tanh(double x);
double erf(double x);
double sin(double x);
double cos(double x);
double pow(double x, double y);

}  // namespace kiln::math
