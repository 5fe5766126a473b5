// Package sqltest holds the SQL guard of package fence against a real PostgreSQL, in a module of its own: no user of the
// library gets a database driver with it. There is nothing in it but tests and an example.
//
// The tests start the server themselves and end it, however they end: in a container, of the image that postgres-image.sh
// names, and builds where it cannot be had; else as an unprivileged process, where PostgreSQL is installed; else they are
// skipped. CLUSTER=containers or CLUSTER=processes forces one; with REDLOCK_REQUIRE=containers anything else is a failure.
package sqltest
