// Nothing: a target needs a source to own precompiled headers (CMakeLists.txt).
