#!/usr/bin/env bash
# Prints the path of a library that moves a program's wall clock: see wall-clock.c, which it is built from where that
# is newer. Needs a C compiler, as the race detector does, and Linux on 64 bits. Safe to run many times at once.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=$(cd "$here/.." && pwd)/.cache
library=$cache/wall-clock.so

if [ "$(uname -s)" != Linux ] || [ "$(getconf LONG_BIT)" != 64 ]; then
	echo "wall-clock.sh: the clock of a program is moved on 64-bit Linux only" >&2
	exit 1
fi

mkdir -p "$cache"
exec 9>"$cache/wall-clock.lock"
flock 9
if [ ! -s "$library" ] || [ "$here/wall-clock.c" -nt "$library" ]; then
	"${CC:-cc}" -shared -fPIC -O2 -nostdlib -Wall -Wextra -o "$library.new" "$here/wall-clock.c"
	mv "$library.new" "$library"
fi
echo "$library"
