#!/usr/bin/env bash
# Prints the path of a redis-server that runs on this machine without being installed.
#
# The first time it downloads the distribution's package, and what that needs, with apt's own state in the ignored
# folder .cache, unpacks them there and leaves two commands, redis-server and redis-cli, that bring their own C library.
# No root, nothing changed on the system. Safe to run many times at once.
set -euo pipefail

# shellcheck source=scripts/packages.sh
. "$(dirname "$0")/packages.sh"

cache=$(cd "$(dirname "$0")/.." && pwd)/.cache
home=$cache/redis

if [ -x "$home/redis-server" ]; then
	echo "$home/redis-server"
	exit
fi

say() { echo "redis-server.sh: $*" >&2; }

for tool in apt-get dpkg dpkg-deb flock; do
	if ! command -v "$tool" >/dev/null; then
		say "no $tool here: redis-server cannot be unpacked from a package; install it, or use containers"
		exit 1
	fi
done

mkdir -p "$cache"
exec 9>"$cache/redis.lock"
flock 9
if [ -x "$home/redis-server" ]; then # another run was faster
	echo "$home/redis-server"
	exit
fi

work=$(mktemp -d "$cache/redis.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
say "unpacking redis-server from the distribution's package, once"
fetch_packages "$work/apt" redis-server redis-tools
unpack_packages "$work/apt" "$root"

# What the server needs and no more: its binaries, their libraries and the loader that the binaries name.
kept=$work/kept
mkdir -p "$kept/bin" "$kept/lib"
cp -L "$root/usr/bin/redis-server" "$root/usr/bin/redis-cli" "$kept/bin/"
LC_ALL=C grep -aom1 '/lib[a-z0-9/_-]*/ld[a-zA-Z0-9_.-]*\.so\.[0-9]*' "$kept/bin/redis-server" | head -n 1 >"$kept/loader"
loader=$(basename "$(cat "$kept/loader")")
cp -L "$(find "$root" -name "$loader" | head -n 1)" "$kept/lib/$loader"
libraries=$(find "$root" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)
for program in redis-server redis-cli; do
	"$kept/lib/$loader" --library-path "$libraries" --list "$kept/bin/$program" |
		sed -n 's/.*=> \([^ ]*\) (.*/\1/p'
	cat >"$kept/$program" <<COMMAND
#!/bin/sh
here=\$(dirname "\$0")
exec "\$here/lib/$loader" --library-path "\$here/lib" "\$here/bin/$program" "\$@"
COMMAND
	chmod +x "$kept/$program"
done | sort -u | while read -r library; do
	[ -e "$kept/lib/$(basename "$library")" ] || cp -L "$library" "$kept/lib/"
done

"$kept/redis-server" --version >&2
rm -rf "$home"
mv "$kept" "$home"
echo "$home/redis-server"
