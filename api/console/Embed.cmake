# cmake -D OUT=FILE.cc -D FILES=kName=PATH,kName=PATH -P Embed.cmake: writes the bytes of the files as
# std::string_views of namespace kiln::console.
set(out "// Generated from the console's files.\n#include <string_view>\n\nnamespace kiln::console {\n")
string(REPLACE "," ";" files "${FILES}")
foreach(one ${files})
  string(REGEX MATCH "^([^=]+)=(.+)$" _ "${one}")
  set(name ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND out "static const char ${name}Bytes[] = {${bytes}};\n"
    "extern const std::string_view ${name};\nconst std::string_view ${name}(${name}Bytes, sizeof ${name}Bytes);\n")
endforeach()
string(APPEND out "}  // namespace kiln::console\n")
file(WRITE ${OUT} "${out}")
