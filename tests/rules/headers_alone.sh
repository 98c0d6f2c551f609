#!/usr/bin/env bash
# Every public header compiles by itself and includes nothing but the standard
# library and other public headers; that of C compiles as C99 too, with
# <stddef.h> and <stdint.h> alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
status=0
for header in include/regard/*.h; do
  printf '#include "regard/%s"\n' "$(basename "$header")" |
    g++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -x c++ - || {
    echo "$header does not compile alone"; status=1; }
done
c_header=include/regard/regard_c.h
gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c $c_header || {
  echo "$c_header does not compile as C99"; status=1; }
if grep -nE '^#include' $c_header | grep -vE '<std(def|int)\.h>$'; then
  echo "$c_header includes <stddef.h> and <stdint.h> only"; status=1
fi
if grep -E '^#include' include/regard/*.h | grep -v "^$c_header" |
  grep -vE '#include ("regard/[a-z_]+\.h"|<[a-z0-9_]+>)$'; then
  echo "public headers include only the standard library and regard/"; status=1
fi
exit $status
