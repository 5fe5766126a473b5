#!/usr/bin/env bash
# fuzz.sh TIME: every fuzz target of the module for so long; a finding fails.
#
# A target that ends with "context deadline exceeded" and no failing input has found nothing: before Go 1.27 the end of the time is
# now and then taken for an error (golang/go#75804). It is run once more, and has to pass.
set -euo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT

fuzz() { go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" "$1" 2>&1 | tee "$log"; }

ended_by_its_own_deadline() {
	grep -A1 '^--- FAIL: ' "$log" | grep -qx '    context deadline exceeded' && ! grep -q 'Failing input' "$log"
}

time=$1 found=0
for pkg in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		found=1
		fuzz "$pkg" "$target" && continue
		ended_by_its_own_deadline || exit 1
		echo "$target: its time ended it as if it had failed, with nothing found; once more"
		fuzz "$pkg" "$target"
	done
done
((found)) || { echo 'no fuzz target' >&2; exit 1; }
