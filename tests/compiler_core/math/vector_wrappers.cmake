# Writes textual IR with one function per routine of kmath.bc: void test_NAME(result*, x*[, y*]) on one vector.
# cmake -DOUT=FILE [-DAVX512=1] -P vector_wrappers.cmake; AVX512: those that are for such processors alone
set(vectors 1xfloat:f32 4xfloat:v4f32 8xfloat:v8f32 16xfloat:v16f32 1xdouble:f64 4xdouble:v4f64 8xdouble:v8f64)
set(names exp expm1 log log1p tanh erf sin cos tan asin acos atan sinh cosh asinh acosh atanh powf)
if(AVX512)
  set(vectors 16xfloat:v16f32_avx512)
  set(names exp tanh erf)
endif()
set(text "")
foreach(vector ${vectors})
  string(REGEX MATCH "^([0-9]+)x([a-z]+):([a-z0-9_]+)$" _ ${vector})
  set(type "<${CMAKE_MATCH_1} x ${CMAKE_MATCH_2}>")
  if(CMAKE_MATCH_1 EQUAL 1)
    set(type ${CMAKE_MATCH_2})
  endif()
  set(suffix ${CMAKE_MATCH_3})
  foreach(name ${names})
    set(parameters "${type}")
    set(arguments "${type} %a")
    if(name STREQUAL "powf")
      set(parameters "${type}, ${type}")
      set(arguments "${type} %a, ${type} %b")
    endif()
    string(APPEND text "declare ${type} @kiln_${name}_${suffix}(${parameters})\n"
      "define void @test_${name}_${suffix}(ptr %r, ptr %x, ptr %y) {\n"
      "  %a = load ${type}, ptr %x, align 4\n  %b = load ${type}, ptr %y, align 4\n"
      "  %c = call ${type} @kiln_${name}_${suffix}(${arguments})\n"
      "  store ${type} %c, ptr %r, align 4\n  ret void\n}\n")
  endforeach()
endforeach()
file(WRITE ${OUT} "${text}")
