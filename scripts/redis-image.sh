#!/usr/bin/env bash
# Prints the name of a container image with redis-server and redis-cli that is present on this machine's engine.
#
# REDLOCK_IMAGE, where it is set, and is pulled if need be. Else the public image, where it is present; else the small
# one of our own, where it is present; else the public image, where it can be pulled; else our own, built from the
# distribution's package. So the way to a registry is tried once on a machine, and only for a short time.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=$(cd "$here/.." && pwd)/.cache
public=redis:7
own=go-redlock-test-redis:local
pull_seconds=90

say() { echo "redis-image.sh: $*" >&2; }

present() { docker image inspect "$1" >/dev/null 2>&1; }

pull() {
	say "pulling $1, for $pull_seconds s at most"
	timeout "$pull_seconds" docker pull --quiet "$1" >&2
}

# build makes our own image of the unpacked package: two programs, their libraries, an empty /data, and nothing else.
build() {
	local server home context loader
	server=$("$here/redis-server.sh")
	home=$(dirname "$server")
	context=$(mktemp -d "$cache/image.XXXXXX")
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$context'" EXIT
	loader=$(cat "$home/loader")
	mkdir -p "$context/root/usr/bin" "$context/root/lib" "$context/root$(dirname "$loader")" "$context/root/data" "$context/root/tmp"
	cp "$home/bin/"* "$context/root/usr/bin/"
	cp "$home/lib/"* "$context/root/lib/"
	[ -e "$context/root$loader" ] || cp "$home/lib/$(basename "$loader")" "$context/root$loader"
	cat >"$context/Dockerfile" <<'DOCKERFILE'
FROM scratch
COPY root /
ENV PATH=/usr/bin
WORKDIR /data
CMD ["redis-server", "--protected-mode", "no"]
DOCKERFILE
	say "building $own"
	docker build --quiet --tag "$own" "$context" >&2
}

if ! docker version >/dev/null 2>&1; then
	say "no container engine answers here"
	exit 1
fi

if [ -n "${REDLOCK_IMAGE:-}" ]; then
	present "$REDLOCK_IMAGE" || pull "$REDLOCK_IMAGE"
	echo "$REDLOCK_IMAGE"
	exit
fi

mkdir -p "$cache"
exec 9>"$cache/image.lock"
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
