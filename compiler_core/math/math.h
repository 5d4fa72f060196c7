// Kiln's own math on the host: the same templates that programs get as bitcode, compiled as plain scalar C++.
// A result has the same bits here, in a compiled program of any vector width and on any processor, NaNs
// included (every NaN returned is the positive quiet one). The reference evaluator and the compiler's folding
// use nothing else. Largest errors: compiler_core/math/ACCURACY.md; special
// values: its README. Thread safe; no
// errno, no exceptions. Requires round-to-nearest without flush-to-zero, the default floating-point
// environment.
#pragma once

namespace kiln::math {

float exp(float x);
float expm1(float x);
float log(float x);
float log1p(float x);
float tanh(float x);
float erf(float x);
float sin(float x);
float cos(float x);
float tan(float x);
float asin(float x);
float acos(float x);
float atan(float x);
float sinh(float x);
float cosh(float x);
float asinh(float x);
float acosh(float x);
float atanh(float x);
float pow(float x, float y);

double exp(double x);
double expm1(double x);
double log(double x);
double log1p(double x);
double tanh(double x);
double erf(double x);
double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double sinh(double x);
double cosh(double x);
double asinh(double x);
double acosh(double x);
double atanh(double x);
double pow(double x, double y);

}  // namespace kiln::math
