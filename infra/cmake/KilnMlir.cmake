# kiln::mlir: Debian's static MLIR, LLVM and lld archives. MLIR's own CMake targets would pull in
# libLLVM.so and libz3.so beside the archives; options would then register twice, so the archives are named here.
set(KILN_LLVM_ROOT /usr/lib/llvm-22 CACHE PATH "Where llvm-22-dev, libmlir-22-dev and liblld-22-dev are")
file(GLOB mlir_archives ${KILN_LLVM_ROOT}/lib/libMLIR*.a)
list(FILTER mlir_archives EXCLUDE REGEX
  "Test|CAPI|JitRunner|Reduce|Lsp|Query|PDLL|TableGen|Tblgen|ODS|ExecutionEngine|SparseTensorRuntime|SPIRVTranslate")
execute_process(
  COMMAND ${KILN_LLVM_ROOT}/bin/llvm-config --link-static --libs x86 aarch64 arm riscv nvptx passes irreader linker
    option lto windowsdriver frontendopenmp frontendopenacc frontendoffloading debuginfodwarf dtlto objcopy
  OUTPUT_VARIABLE llvm_libraries OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "-l(Polly[A-Za-z]*|LLVMExtensions)" "" llvm_libraries "${llvm_libraries}")
separate_arguments(llvm_libraries)

add_library(kiln_mlir INTERFACE)
add_library(kiln::mlir ALIAS kiln_mlir)
target_include_directories(kiln_mlir SYSTEM INTERFACE ${KILN_LLVM_ROOT}/include)
target_compile_definitions(kiln_mlir INTERFACE _GNU_SOURCE __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
target_link_directories(kiln_mlir INTERFACE ${KILN_LLVM_ROOT}/lib)
target_link_libraries(kiln_mlir INTERFACE -Wl,--start-group ${mlir_archives} -llldELF -llldCommon ${llvm_libraries}
  -Wl,--end-group z zstd Threads::Threads dl m rt)

# kiln_tablegen(OUT FILE ARGS...): runs mlir-tblgen on FILE (from the repository root) into the build tree.
function(kiln_tablegen out file)
  set(result ${CMAKE_BINARY_DIR}/${out})
  get_filename_component(dir ${result} DIRECTORY)
  file(MAKE_DIRECTORY ${dir})
  file(GLOB tds ${CMAKE_SOURCE_DIR}/compiler_core/*/*.td)
  add_custom_command(OUTPUT ${result}
    COMMAND ${KILN_LLVM_ROOT}/bin/mlir-tblgen ${ARGN} -I ${CMAKE_SOURCE_DIR} -I ${KILN_LLVM_ROOT}/include
      ${CMAKE_SOURCE_DIR}/${file} -o ${result}
    DEPENDS ${tds} ${CMAKE_SOURCE_DIR}/${file} VERBATIM)
endfunction()

# kiln_passes(NAME GROUP): the declarations of the passes in NAME.td of this folder, and registerGROUPPasses(), become
# NAME.h.inc; it is a source of the library that has the passes.
function(kiln_passes name group)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  kiln_tablegen(${folder}/${name}.h.inc ${folder}/${name}.td --gen-pass-decls -name=${group})
endfunction()
