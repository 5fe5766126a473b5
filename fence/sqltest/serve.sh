# Makes a database in the folder $1 and serves it on the interface $2 ("" for none) and on a socket in that folder, until
# standard input ends: so the server ends with whoever started it, however that ends. The first line of the input is the
# password. Signals are not heeded, since a terminal sends them to all at once and the tests are to have a server till their end.
set -eu
trap '' INT TERM HUP
umask 077
read -r password
initdb --pgdata="$1/data" --username=postgres --auth=scram-sha-256 --pwfile=/dev/stdin --encoding=UTF8 --no-locale --no-sync <<PASSWORD
$password
PASSWORD
echo 'host all all all scram-sha-256' >>"$1/data/pg_hba.conf" # a container's client comes from outside
# Nothing is to survive: no write is waited for.
postgres -D "$1/data" -k "$1" -c listen_addresses="$2" -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
	-c shared_buffers=16MB &
read -r _ || true
kill -INT "$!" # at once, but in order
wait "$!" || true
rm -rf "$1/data"
