#!/usr/bin/env bash
# Every public header compiles by itself and includes nothing but the standard
# library and other public headers.
set -euo pipefail
cd "$(dirname "$0")/../.."
status=0
for header in include/regard/*.h; do
  printf '#include "regard/%s"\n' "$(basename "$header")" |
    g++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -x c++ - || {
    echo "$header does not compile alone"; status=1; }
done
if grep -nE '^#include' include/regard/*.h |
  grep -vE '#include ("regard/[a-z_]+\.h"|<[a-z0-9_]+>)$'; then
  echo "public headers include only the standard library and regard/"; status=1
fi
exit $status
