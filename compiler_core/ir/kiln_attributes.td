// The facts that one stage leaves on the IR for another: discardable attributes of the dialect. attributes.h has
// what reads and writes them; each name stands here alone.
#ifndef KILN_COMPILER_CORE_IR_KILN_ATTRIBUTES_TD
#define KILN_COMPILER_CORE_IR_KILN_ATTRIBUTES_TD

include "mlir/IR/OpBase.td"

defvar Kiln_ModelAttributes = (ins
  // Argument and result of @main: the tensor's name in the source model.
  "::mlir::StringAttr":$name,
  // Module: the symbols that types may name (dims.h), dictionaries in the symbols' order: {name, input, dim} a
  // dimension of an input, {name, input, element} an element of an integer input, {name, bound} a size that
  // kiln.truncate finds out, each with its "min" and "max"; "multiple" where a size is that many times its
  // symbol. Absent: there are none. profile.h reads and writes it.
  "::mlir::ArrayAttr":$symbols,
  // Function: the shape profile it is compiled for, (min, opt, max) of each symbol. Absent: no symbols. profile.h
  // reads and writes it.
  "::mlir::DenseI64ArrayAttr":$profile,
  // Last result of @main: the names of the nodes whose indices outside their dimension are counted, each once.
  // Absent: nothing is counted. index_checks.h reads and writes it.
  "::mlir::ArrayAttr":$index_checks,
  // Operation of @main: the target where it runs; function of a partition: the target that it is compiled for.
  // Module of one isolated kernel: the target of that.
  "::mlir::StringAttr":$target
);

// From kiln-lower-to-linalg on.
defvar Kiln_ArgumentAttributes = (ins
  // Argument of @main: the number of the model's input.
  "::mlir::IntegerAttr":$input,
  // Argument of @main: the number of the model's output that is written there (kiln-bufferize).
  "::mlir::IntegerAttr":$output,
  // Argument of @main: a weight, and its slot among the program's weights.
  "::mlir::IntegerAttr":$weight,
  // With $weight: the entry of the weight table that it is made from.
  "::mlir::IntegerAttr":$source,
  // With $weight: how the entry's dimensions are permuted. Absent: not at all.
  "::mlir::DenseI64ArrayAttr":$permutation,
  // With $weight: the results of a tile of Winograd's along a dimension. Absent: not in Winograd's domain.
  "::mlir::IntegerAttr":$winograd,
  // With $weight: the columns of a panel. Absent: not in panels.
  "::mlir::IntegerAttr":$panels,
  // With $weight, an array [axis, steps]: packed dot operands, so many steps of this axis in each. On a linalg
  // operation, a unit: it packs what lies side by side in memory, so that the bytes stay as they are.
  "::mlir::Attribute":$words,
  // Argument of @main: an index, the symbol that the caller gives.
  "::mlir::IntegerAttr":$symbol,
  // Argument or result of dynamic shape: its extents, a map over symbols.
  "::mlir::AffineMapAttr":$shape
);

// Between the passes of compiler_core/schedule, and from there to memory, codegen and driver.
defvar Kiln_ScheduleAttributes = (ins
  // Linalg operation: the number of the kernel it belongs to.
  "::mlir::IntegerAttr":$group,
  // Linalg operation of dynamic shape: the extents of its loops, a map over symbols.
  "::mlir::AffineMapAttr":$extents,
  // Linalg operation: a sum along the innermost dimension, which has partial sums in a fixed order
  // (schedule/analysis/partial_sums.h). Its last reduction loop runs along that dimension; it starts from a
  // filled 0.
  "::mlir::UnitAttr":$partials,
  // Linalg operation: a sum over products of packed operands, and of which kind (schedule/analysis/packed_dot.h).
  // The body says the same in single steps.
  "::mlir::StringAttr":$dot,
  // Linalg operation of one result, on a device: what each element is before the first step of its reduction, a
  // number; the buffer holds nothing yet. Absent: the buffer holds it.
  "::mlir::TypedAttr":$initial,
  // Allocation of a device's block: of those that do not fit shared memory together, the last to move out.
  "::mlir::UnitAttr":$panel,
  // scf.forall or single operation of kiln-tile and kiln-map-to-gpu, function of a kernel: a dictionary of what is
  // known about the kernel; namespace kernel of attributes.h has its members.
  "::mlir::DictionaryAttr":$kernel,
  // Module of one isolated kernel: the processor's features.
  "::mlir::ArrayAttr":$features,
  // Module of one isolated kernel: whether a * b + c in reductions is one fused operation.
  "::mlir::BoolAttr":$contraction,
  // Module of one isolated kernel: whether products of f32 may be products of tf32. Absent: no.
  "::mlir::BoolAttr":$tf32,
  // Module of one isolated kernel: whether a schedule may change the order of sums. Absent: no.
  "::mlir::BoolAttr":$reassociation
);

// From kiln-plan-memory to codegen and driver; bytes.
defvar Kiln_MemoryAttributes = (ins
  // Allocation: its place in the arena, or in the scratch of its slot inside of an scf.forall.
  "::mlir::IntegerAttr":$offset,
  // Function: the arena.
  "::mlir::IntegerAttr":$arena_bytes,
  // Function: the arena without reuse.
  "::mlir::IntegerAttr":$arena_total_bytes,
  // Function: the most alive at one time, below which no plan can go.
  "::mlir::IntegerAttr":$arena_live_bytes,
  // Function: the buffers in the arena, a count.
  "::mlir::IntegerAttr":$arena_buffers,
  // Function: what is alive over the time of a run.
  "::mlir::DenseI64ArrayAttr":$arena_alive,
  // Function: the scratch of one slot.
  "::mlir::IntegerAttr":$scratch_bytes,
  // Run function of several partitions: dictionaries of their regions of the arenas; namespace region of
  // attributes.h has their members.
  "::mlir::ArrayAttr":$regions,
  // Run function of several partitions: the arenas of spaces 1, 2 ... Absent: there is no device.
  "::mlir::DenseI64ArrayAttr":$device_arena_bytes
);

defvar Kiln_CodegenAttributes = (ins
  // Run function of a device's unit: $kernel of each launch, in order, with its symbol.
  "::mlir::ArrayAttr":$launches,
  // gpu.func of a kernel: threads of a block, a multiple of 32, at most 1024.
  "::mlir::IntegerAttr":$threads,
  // Function of a kernel: the symbol of the first kernel that has the same code. Absent: the code is its own.
  "::mlir::StringAttr":$code_of
);

#endif
