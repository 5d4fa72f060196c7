/* A firmware for QEMU's mps3-an547, a board with a Cortex-M55: reads what its model takes from files of the
 * host, runs the model once and writes what comes out. It has no C library. The test generates model.h, from
 * `kiln-cc header`, and tensors.h:
 *   MODEL_TENSORS(IN, OUT): IN(member, type, elements) and OUT(member, type, elements) for each tensor.
 * Files are named in_a.bin, in_b.bin ... and out_a.bin ... in the order of the structures. The exit status is what
 * the model's function returns, or 100 and more where the firmware itself fails.
 * Semihosting for AArch32 and AArch64 (Arm's document "semihosting", 2.0) is how it speaks to the host. */
#include <stdint.h>

#include "model.h"
#include "tensors.h"

enum { kOpen = 0x01, kClose = 0x02, kWrite = 0x05, kRead = 0x06, kExit = 0x20 };
enum { kReadBinary = 1, kWriteBinary = 5, kApplicationExit = 0x20026 };
enum { kCannotRead = 100, kCannotWrite = 101, kOtherModes = 102, kFault = 103 };

static uint32_t host(uint32_t operation, const void* arguments) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = arguments;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static _Noreturn void leave(uint32_t status) {
  const uint32_t block[2] = {kApplicationExit, status};
  for (;;) host(kExit, block);
}

/* One call moves all of a file: 0 bytes are left then. */
static void move(uint32_t operation, const char* name, uint32_t mode, void* bytes, uint32_t size, uint32_t failure) {
  uint32_t length = 0;
  while (name[length] != 0) ++length;
  const uint32_t open[3] = {(uint32_t)name, mode, length};
  const uint32_t handle = host(kOpen, open);
  if (handle == UINT32_MAX) leave(failure);
  const uint32_t transfer[3] = {handle, (uint32_t)bytes, size};
  if (host(operation, transfer) != 0) leave(failure);
  host(kClose, &handle);
}

#define DEFINE_TENSOR(member, type, elements) static type tensor_##member[(elements) > 0 ? (elements) : 1];
MODEL_TENSORS(DEFINE_TENSOR, DEFINE_TENSOR)

static uint32_t modes(void) {
  uint32_t value;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(value));
  return value & 0x07cf0000u; /* modes, and the size of vectors' tails, which is 4 outside of loops */
}

static void run(void) {
  char name[] = "in_a.bin";
  uint32_t number = 0;
#define READ(member, type, elements)                                                                      \
  name[3] = (char)('a' + number++);                                                                       \
  move(kRead, name, kReadBinary, tensor_##member, sizeof(type) * (elements), kCannotRead);
#define NOTHING(member, type, elements)
  MODEL_TENSORS(READ, NOTHING)
#define MEMBER(member, type, elements) .member = tensor_##member,
  static const model_inputs inputs = {MODEL_TENSORS(MEMBER, NOTHING)};
  static const model_outputs outputs = {MODEL_TENSORS(NOTHING, MEMBER)};
  /* Rounding towards minus infinity with subnormals taken for zero: none of the model's business. */
  const uint32_t before = 0x01840000u;
  __asm__ volatile("vmsr fpscr, %0" : : "r"(before));
  const int32_t status = model_run(&inputs, &outputs);
  if (modes() != before) leave(kOtherModes);
  char result[] = "out_a.bin";
  number = 0;
#define WRITE(member, type, elements)                                                                     \
  result[4] = (char)('a' + number++);                                                                     \
  move(kWrite, result, kWriteBinary, tensor_##member, sizeof(type) * (elements), kCannotWrite);
  MODEL_TENSORS(NOTHING, WRITE)
  leave((uint32_t)status);
}

extern uint32_t kiln_stack_top[], kiln_bss_begin[], kiln_bss_end[];

static _Noreturn void fault(void) { leave(kFault); }

_Noreturn void reset(void) {
  *(volatile uint32_t*)0xe000ed88 |= 0xfu << 20; /* CPACR: floating point and vectors on */
  __asm__ volatile("dsb\n isb");
  for (volatile uint32_t* word = kiln_bss_begin; word < kiln_bss_end; ++word) *word = 0;
  run();
  leave(kFault);
}

/* Initial stack, reset, NMI and the faults. */
__attribute__((section(".vectors"), used)) static const void* const vectors[8] = {
    kiln_stack_top, (const void*)reset, (const void*)fault, (const void*)fault,
    (const void*)fault, (const void*)fault, (const void*)fault, (const void*)fault};
