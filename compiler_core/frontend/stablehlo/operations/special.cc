// Functions of CHLO that are polynomials and series. Coefficients: erf_inv after M. Giles, "Approximating the
// erfinv function" (2010); lgamma and digamma by Lanczos' approximation with g = 7 and nine terms; erfc and
// the Bessel functions after S. Moshier's Cephes library.
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler_core/frontend/stablehlo/operations/floats.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

using ir::UnaryKind;
using Terms = std::vector<Term>;
using Coefficients = std::span<const double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Term exp(const Term& x) {
  return x.unary(UnaryKind::Exp);
}
Term log(const Term& x) {
  return x.unary(UnaryKind::Log);
}
Term log1p(const Term& x) {
  return x.unary(UnaryKind::Log1p);
}

// Coefficients from the highest power down.
Term polynomial(const Term& x, Coefficients coefficients) {
  Term sum = x.number(coefficients[0]);
  for (double coefficient : coefficients.subspan(1)) sum = sum * x + coefficient;
  return sum;
}

Result<Values> apply(OperationContext& op, llvm::function_ref<Term(const Terms&)> formula) {
  if (!isFloat(op.operand(0))) return invalid("the operand is no float");
  KILN_ASSIGN(Value result, Result<Value>(inFloat32(op, {op.operand(0)}, formula).value()));
  return Values{result};
}

bool isWide(OperationContext& op) {
  return elementOf(op.operand(0)).isF64();
}

// exp(-x * x) / |x| times a polynomial of 1 / (x * x), for |x| >= 1.
Term narrowErfcTail(const Term& x) {
  static constexpr double kNear[] = {2.326819970068386E-2,  -1.387039388740657E-1, 3.687424674597105E-1,
                                     -5.824733027278666E-1, 6.210004621745983E-1,  -4.944515323274145E-1,
                                     3.404879937665872E-1,  -2.741127028184656E-1, 5.638259427386472E-1};
  static constexpr double kFar[] = {-1.047766399936249E+1, 1.297719955372516E+1,  -7.495518717768503E+0,
                                    2.921019019210786E+0,  -1.015265279202700E+0, 4.218463358204948E-1,
                                    -2.820767439740514E-1, 5.641895067754075E-1};
  const Term power = -(x * x), inverse = 1.0 / x.abs(), y = inverse * inverse;
  const Term factor = (x.abs() < 2.0).select(polynomial(y, kNear), polynomial(y, kFar));
  const Term tail = (power < -88.72283905206835).select(x.number(0), exp(power) * inverse * factor);
  return (x < 0.0).select(2.0 - tail, tail);
}

Term wideErfcTail(const Term& x) {
  static constexpr double kP[] = {
      2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0,
      4.86371970985681366614E1,   1.96520832956077098242E2,  5.26445194995477358631E2,
      9.34528527171957607540E2,   1.02755188689515710272E3,  5.57535335369399327526E2};
  static constexpr double kQ[] = {1.0,
                                  1.32281951154744992508E1,
                                  8.67072140885989742329E1,
                                  3.54937778887819891062E2,
                                  9.75708501743205489753E2,
                                  1.82390916687909736289E3,
                                  2.24633760818710981792E3,
                                  1.65666309194161350182E3,
                                  5.57535340817727675546E2};
  static constexpr double kR[] = {5.64189583547755073984E-1, 1.27536670759978104416E0,
                                  5.01905042251180477414E0,  6.16021097993053585195E0,
                                  7.40974269950448939160E0,  2.97886665372100240670E0};
  static constexpr double kS[] = {1.0,
                                  2.26052863220117276590E0,
                                  9.39603524938001434673E0,
                                  1.20489539808096656605E1,
                                  1.70814450747565897222E1,
                                  9.60896809063285878198E0,
                                  3.36907645100081516050E0};
  const Term size = x.abs(), power = -(x * x);
  const Term factor =
      (size < 8.0)
          .select(polynomial(size, kP) / polynomial(size, kQ), polynomial(size, kR) / polynomial(size, kS));
  const Term tail = (power < -709.78271289338399).select(x.number(0), exp(power) * factor);
  return (x < 0.0).select(2.0 - tail, tail);
}

Result<Values> erfc(OperationContext& op) {
  return apply(op, [&](const Terms& operands) {
    const Term& x = operands[0];
    const Term tail = isWide(op) ? wideErfcTail(x) : narrowErfcTail(x);
    return (x.abs() > 1.0).select(tail, 1.0 - x.unary(UnaryKind::Erf));
  });
}

Term narrowErfInv(const Term& x) {
  static constexpr double kCentral[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                        -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                        -0.00417768164,  0.246640727,    1.50140941};
  static constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                     -0.00367342844,  0.00573950773,  -0.0076224613,
                                     0.00943887047,   1.00167406,     2.83297682};
  const Term w = -log1p(-(x * x));
  return (w < 5.0).select(polynomial(w - 2.5, kCentral), polynomial(w.sqrt() - 3.0, kTail));
}

Term wideErfInv(const Term& x) {
  static constexpr double kCentral[] = {
      -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
      1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
      6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
      2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
      1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
      4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
      0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
      0.24015818242558961693,     1.6536545626831027356};
  static constexpr double kMiddle[] = {
      2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
      1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
      2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
      6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
      0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
      -0.0037512085075692412107, 0.005370914553590063617,   1.0052589676941592334,
      3.0838856104922207635};
  static constexpr double kTail[] = {
      -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
      -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
      2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
      -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
      7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
      1.0103004648645343977,      4.8499064014085844221};
  const Term w = -log1p(-(x * x));
  return (w < 6.25).select(
      polynomial(w - 3.125, kCentral),
      (w < 16.0).select(polynomial(w.sqrt() - 3.25, kMiddle), polynomial(w.sqrt() - 5.0, kTail)));
}

Result<Values> erfInv(OperationContext& op) {
  return apply(op, [&](const Terms& operands) {
    const Term& x = operands[0];
    const Term factor = isWide(op) ? wideErfInv(x) : narrowErfInv(x);
    return (x.abs() == 1.0).select(x * kInfinity, x * factor);
  });
}

constexpr double kLanczosG = 7.5;  // g + 1/2
constexpr double kLanczosBase = 0.99999999999980993227684700473478;
constexpr double kLanczos[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                               771.3234287776530788486528258894,   -176.61502916214059906584551354,
                               12.507343278686904814458936853,     -0.13857109526572011689554707,
                               9.984369578019570859563e-6,         1.50563273514931155834e-7};

// The log of g + 1/2 + z.
Term lanczosLog(const Term& z) {
  return log1p(z / kLanczosG) + std::log(kLanczosG);
}

// The logarithm of |gamma(x)|; below 1/2 by reflection.
Term lgammaOf(const Term& x) {
  const Term isReflected = x < 0.5, z = isReflected.select(-x, x - 1.0);
  Term sum = x.number(kLanczosBase);
  for (std::size_t i = 0; i < std::size(kLanczos); ++i)
    sum = sum + x.number(kLanczos[i]) / (z + static_cast<double>(i + 1));
  const Term t = z + kLanczosG, logT = lanczosLog(z);
  const Term logY = (z + 0.5 - t / logT) * logT + (0.5 * std::log(2 * std::numbers::pi) + log(sum));
  const Term fraction = x.abs() - x.abs().floor();
  const Term reduced = (fraction > 0.5).select(1.0 - fraction, fraction);
  const Term denominator = log((reduced * std::numbers::pi).unary(UnaryKind::Sin));
  const Term reflection =
      (denominator.abs() < kInfinity).select(std::log(std::numbers::pi) - denominator - logY, -denominator);
  const Term result = isReflected.select(reflection, logY);
  return (x.abs() == kInfinity).select(x.number(kInfinity), result);
}

Result<Values> lgamma(OperationContext& op) {
  return apply(op, [](const Terms& operands) { return lgammaOf(operands[0]); });
}

// The derivative of lgamma; NaN at the poles.
Result<Values> digamma(OperationContext& op) {
  return apply(op, [](const Terms& operands) {
    const Term& x = operands[0];
    const Term isReflected = x < 0.5, z = isReflected.select(-x, x - 1.0);
    Term numerator = x.number(0), denominator = x.number(kLanczosBase);
    for (std::size_t i = 0; i < std::size(kLanczos); ++i) {
      const Term place = z + static_cast<double>(i + 1);
      numerator = numerator - x.number(kLanczos[i]) / (place * place);
      denominator = denominator + x.number(kLanczos[i]) / place;
    }
    const Term y = lanczosLog(z) + numerator / denominator - (kLanczosG - 0.5) / (z + kLanczosG);
    const Term angle = (x + (x + 0.5).floor().abs()) * std::numbers::pi;
    const Term reflection = y - angle.unary(UnaryKind::Cos) * std::numbers::pi / angle.unary(UnaryKind::Sin);
    const Term isPole = (x <= 0.0) & (x == x.floor());
    return isPole.select(x.number(std::numeric_limits<double>::quiet_NaN()),
                         isReflected.select(reflection, y));
  });
}

// A series of Chebyshev polynomials at x / 2.
Term chebyshev(const Term& x, Coefficients coefficients) {
  Term now = x.number(0), before = now, last = now;
  for (double coefficient : coefficients) {
    last = before;
    before = now;
    now = x * before - last + coefficient;
  }
  return (now - last) * 0.5;
}

// exp(-|x|) times the modified Bessel function of the first kind of order 1. The first coefficients matter to
// f64 alone.
Result<Values> besselI1e(OperationContext& op) {
  static constexpr double kNear[] = {
      2.77791411276104639959E-18,  -2.11142121435816608115E-17, 1.55363195773620046921E-16,
      -1.10559694773538630805E-15, 7.60068429473540693410E-15,  -5.04218550472791168711E-14,
      3.22379336594557470981E-13,  -1.98397439776494371520E-12, 1.17361862988909016308E-11,
      -6.66348972350202774223E-11, 3.62559028155211703701E-10,  -1.88724975172282928790E-9,
      9.38153738649577178388E-9,   -4.44505912879632808065E-8,  2.00329475355213526229E-7,
      -8.56872026469545474066E-7,  3.47025130813767847674E-6,   -1.32731636560394358279E-5,
      4.78156510755005422638E-5,   -1.61760815825896745588E-4,  5.12285956168575772895E-4,
      -1.51357245063125314899E-3,  4.15642294431288815669E-3,   -1.05640848946261981558E-2,
      2.47264490306265168283E-2,   -5.29459812080949914269E-2,  1.02643658689847095384E-1,
      -1.76416518357834055153E-1,  2.52587186443633654823E-1};
  static constexpr double kFar[] = {
      7.51729631084210481353E-18,  4.41434832307170791151E-18,  -4.65030536848935832153E-17,
      -3.20952592199342395980E-17, 2.96262899764595013876E-16,  3.30820231092092828324E-16,
      -1.88035477551078244854E-15, -3.81440307243700780478E-15, 1.04202769841288027642E-14,
      4.27244001671195135429E-14,  -2.10154184277266431302E-14, -4.08355111109219731823E-13,
      -7.19855177624590851209E-13, 2.03562854414708950722E-12,  1.41258074366137813316E-11,
      3.25260358301548823856E-11,  -1.89749581235054123450E-11, -5.58974346219658380687E-10,
      -3.83538038596423702205E-9,  -2.63146884688951950684E-8,  -2.51223623787020892529E-7,
      -3.88256480887769039346E-6,  -1.10588938762623716291E-4,  -9.76109749136146840777E-3,
      7.78576235018280120474E-1};
  constexpr std::size_t kNarrowNear = 12, kNarrowFar = 18;  // where f32 starts
  return apply(op, [&](const Terms& operands) {
    const Term &x = operands[0], size = x.abs();
    const Coefficients near = Coefficients(kNear).subspan(isWide(op) ? 0 : kNarrowNear);
    const Coefficients far = Coefficients(kFar).subspan(isWide(op) ? 0 : kNarrowFar);
    const Term y = (size <= 8.0)
                       .select(chebyshev(size * 0.5 - 2.0, near) * size,
                               chebyshev(32.0 / size - 2.0, far) / size.sqrt());
    return x.unary(UnaryKind::Sign) * y;
  });
}

}  // namespace

std::span<const Row> specialRows() {
  static constexpr Row kRows[] = {
      {"chlo.bessel_i1e", besselI1e, 1, 0, true}, {"chlo.digamma", digamma, 1, 0, true},
      {"chlo.erf_inv", erfInv, 1, 0, true},       {"chlo.erfc", erfc, 1, 0, true},
      {"chlo.lgamma", lgamma, 1, 0, true},
  };
  return kRows;
}

}  // namespace kiln::stablehlo
