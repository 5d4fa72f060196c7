#!/bin/sh
# usage: link_archives.sh LINKER ARGUMENT...   runs the link with every /path/libX.so[.N] replaced by /path/libX.a
for argument in "$@"; do
  shift
  case $argument in
    /*/lib*.so | /*/lib*.so.*) argument="${argument%%.so*}.a" ;;
  esac
  set -- "$@" "$argument"
done
exec "$@"
