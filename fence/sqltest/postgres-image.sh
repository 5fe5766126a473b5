#!/usr/bin/env bash
# Prints the name of a container image with PostgreSQL's postgres and initdb that is present on this machine's engine.
#
# REDLOCK_POSTGRES_IMAGE, where it is set, and is pulled if need be. Else the public image, where it is present; else the
# small one of our own, where it is present; else the public image, where it can be pulled; else our own, built from the
# distribution's package, which is unpacked with apt's own state and not installed. No root, nothing changed on the system.
set -euo pipefail

# shellcheck source=scripts/packages.sh
. "$(dirname "$0")/../../scripts/packages.sh"

cache=$(cd "$(dirname "$0")/../.." && pwd)/.cache
public=postgres:17
own=go-redlock-test-postgres:local
pull_seconds=90

say() { echo "postgres-image.sh: $*" >&2; }

present() { docker image inspect "$1" >/dev/null 2>&1; }

pull() {
	say "pulling $1, for $pull_seconds s at most"
	timeout "$pull_seconds" docker pull --quiet "$1" >&2
}

# pick copies from the unpacked packages in $1 to $2 what a server needs: two programs and a shell, the libraries that they
# name, and PostgreSQL's own files at the places where it looks for them. Compilation of queries stays behind, a hundred
# megabytes that no test needs.
pick() {
	local root=$1 image=$2 server loader libraries program
	server=$(find "$root/usr/lib/postgresql" -path '*/bin/postgres' -printf '%h\n' | head -n 1)
	mkdir -p "$image"/{usr/bin,bin,lib,etc,tmp} "$image/usr/share" "$image${server#"$root"}"
	cp "$server/postgres" "$server/initdb" "$image${server#"$root"}/"
	cp -r "$server/../lib" "$image${server#"$root"}/.."
	rm -rf "$image${server#"$root"}/../lib"/{bitcode,pgxs,llvmjit*}
	mkdir -p "$image/usr/share/postgresql"
	cp -r "$root/usr/share/postgresql/"[0-9]* "$image/usr/share/postgresql/"
	cp -r "$root/usr/share/zoneinfo" "$image/usr/share/"
	cp -L "$(find "$root" -path '*bin/dash' | head -n 1)" "$image/bin/sh"
	ln -s "${server#"$root"}/postgres" "${server#"$root"}/initdb" "$image/usr/bin/"

	loader=$(LC_ALL=C grep -aom1 '/lib[a-z0-9/_-]*/ld[a-zA-Z0-9_.-]*\.so\.[0-9]*' "$server/postgres" | head -n 1)
	mkdir -p "$image$(dirname "$loader")"
	cp -L "$(find "$root" -name "$(basename "$loader")" | head -n 1)" "$image$loader"
	libraries=$(find "$root" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)
	for program in "$server/postgres" "$server/initdb" "$image/bin/sh"; do
		"$image$loader" --library-path "$libraries" --list "$program" | sed -n 's/.*=> \([^ ]*\) (.*/\1/p'
	done | sort -u | while read -r library; do
		[ -e "$image/lib/$(basename "$library")" ] || cp -L "$library" "$image/lib/"
	done
	echo 'postgres:x:999:999::/tmp:/bin/sh' >"$image/etc/passwd"
	chmod 1777 "$image/tmp"
}

build() {
	local work tool
	for tool in apt-get dpkg-deb; do
		command -v "$tool" >/dev/null || { say "no $tool here: the image cannot be built"; return 1; }
	done
	work=$(mktemp -d "$cache/postgres.XXXXXX")
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$work'" EXIT
	say "building $own from the distribution's package, once"
	fetch_packages "$work/apt" postgresql dash
	unpack_packages "$work/apt" "$work/root"
	mkdir "$work/image"
	pick "$work/root" "$work/image/root"
	cat >"$work/image/Dockerfile" <<'DOCKERFILE'
FROM scratch
COPY root /
RUN ["/bin/sh", "-c", "postgres --version"]
USER postgres
DOCKERFILE
	docker build --quiet --tag "$own" "$work/image" >&2
}

if ! docker version >/dev/null 2>&1; then
	say "no container engine answers here"
	exit 1
fi

if [ -n "${REDLOCK_POSTGRES_IMAGE:-}" ]; then
	present "$REDLOCK_POSTGRES_IMAGE" || pull "$REDLOCK_POSTGRES_IMAGE"
	echo "$REDLOCK_POSTGRES_IMAGE"
	exit
fi

mkdir -p "$cache"
exec 9>"$cache/postgres.lock"
flock 9

if present "$public"; then
	echo "$public"
elif present "$own"; then
	echo "$own"
elif pull "$public"; then
	echo "$public"
else
	build
	echo "$own"
fi
