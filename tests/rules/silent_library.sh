#!/usr/bin/env bash
# The library never prints, aborts or exits: its archives reference no such
# symbol. Usage: silent_library.sh ARCHIVE...
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: silent_library.sh ARCHIVE..."; exit 2; }
forbidden='(abort|exit|_exit|_Exit|quick_exit|printf|fprintf|vfprintf|puts|putchar|fputs|perror|__assert_fail|__printf_chk|__fprintf_chk|_ZSt4cout|_ZSt4cerr|_ZSt4clog|_ZN3hwy5AbortEPKciS1_z)'
status=0
for archive in "$@"; do
  if found=$(nm -u -A "$archive" 2>/dev/null | grep -E " U ${forbidden}$"); then
    echo "$found"
    status=1
  fi
done
[ $status = 0 ] || echo "the library must throw regard::Error instead"
exit $status
