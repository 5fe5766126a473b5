#!/usr/bin/env bash
# cluster.sh up: starts the five masters of docker-compose.yml and returns when all are healthy.
# cluster.sh down: removes them and all that they kept.
# Works with the Compose plugin and with the older docker-compose program.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export COMPOSE_PROJECT_NAME=go-redlock
wait_seconds=60

if docker compose version >/dev/null 2>&1; then
	compose=(docker compose)
elif command -v docker-compose >/dev/null; then
	compose=(docker-compose)
else
	echo "cluster.sh: neither the Compose plugin nor docker-compose is here" >&2
	exit 1
fi
compose+=(--file "$here/../docker-compose.yml")

# healthy prints how many masters are.
healthy() {
	"${compose[@]}" ps -q | xargs docker inspect --format '{{.State.Health.Status}}' | grep -cx healthy || true
}

up() {
	REDLOCK_IMAGE=$("$here/redis-image.sh")
	export REDLOCK_IMAGE
	"${compose[@]}" up -d
	for ((i = 0; i < wait_seconds * 2; i++)); do
		if [ "$(healthy)" -eq 5 ]; then
			echo "five masters of $REDLOCK_IMAGE answer at 127.0.0.1:7001 to 127.0.0.1:7005"
			return
		fi
		sleep 0.5
	done
	echo "cluster.sh: not all masters are healthy after $wait_seconds s" >&2
	"${compose[@]}" ps >&2
	return 1
}

case ${1:-} in
up) up ;;
down) "${compose[@]}" down --volumes --remove-orphans ;;
*)
	echo "usage: cluster.sh up | down" >&2
	exit 2
	;;
esac
