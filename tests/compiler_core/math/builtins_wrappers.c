/* Calls the builtins the way compiled code does: through conversions and plain calls. Linked with the archive
 * alone, then every symbol gets a prefix so that the test can sit beside the C library. */
typedef __SIZE_TYPE__ Size;
void* memcpy(void*, const void*, Size);
void* memmove(void*, const void*, Size);
void* memset(void*, int, Size);
int memcmp(const void*, const void*, Size);
float fmodf(float, float);
double fmod(double, double);
float __powisf2(float, int);
double __powidf2(double, int);

unsigned short toBf16(float x) {
  return __builtin_bit_cast(unsigned short, (__bf16)x);
}
unsigned short doubleToBf16(double x) {
  return __builtin_bit_cast(unsigned short, (__bf16)x);
}
unsigned short doubleToF16(double x) {
  return __builtin_bit_cast(unsigned short, (_Float16)x);
}
