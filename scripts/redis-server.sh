#!/usr/bin/env bash
# Prints the path of a redis-server that runs on this machine without being installed.
#
# The first time it downloads the distribution's package, and what that needs, with apt's own state in the ignored
# folder .cache, unpacks them there and leaves two commands, redis-server and redis-cli, that bring their own C library.
# No root, nothing changed on the system. Safe to run many times at once.
set -euo pipefail

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
apt=$work/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/sources"
: >"$apt/status" # nothing is installed: every library comes along

# The distribution's own sources are enough. Others may be out of reach and take their time to say so.
for list in /etc/apt/sources.list.d/{debian,ubuntu}.sources /etc/apt/sources.list; do
	if [ -s "$list" ]; then
		cp "$list" "$apt/sources/"
		break
	fi
done
cat >"$apt/conf" <<CONF
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons-hidpi;
#clear Acquire::IndexTargets::deb::DEP-11-icons-large;
#clear Acquire::IndexTargets::deb::DEP-11-icons-large-hidpi;
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt";
Dir::Cache::archives "$apt/archives";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$apt/sources";
Acquire::Languages "none";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Acquire::Retries "1";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
CONF

say "unpacking redis-server from the distribution's package, once"
apt-get -qq -c "$apt/conf" update >&2
apt-get -qq -c "$apt/conf" --yes --download-only install redis-server redis-tools >&2

root=$work/root
mkdir -p "$root"
for package in "$apt"/archives/*.deb; do
	dpkg-deb --extract "$package" "$root"
done

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
