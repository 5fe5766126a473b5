package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/fence"
)

// databaseURL is of a running PostgreSQL; "" where there is none, and none is required.
var databaseURL string

// TestMain runs the tests beside a PostgreSQL, and is a holder where a test started it as one.
func TestMain(m *testing.M) {
	if u := os.Getenv(holderVariable); u != "" {
		os.Exit(holder(u))
	}
	flag.Parse()
	s, err := start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "sqltest:", err)
		if !errors.Is(err, errAbsent) || os.Getenv("REDLOCK_REQUIRE") != "" {
			os.Exit(1)
		}
		// An example cannot skip itself.
		if err := flag.Set("test.skip", "^Example"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	databaseURL = s.url
	code := m.Run()
	if err := s.close(); err != nil {
		fmt.Fprintln(os.Stderr, "sqltest:", err)
		code = 1
	}
	os.Exit(code)
}

// start starts the best server there is, or the one that the environment wants, and says which it is.
func start(ctx context.Context) (*server, error) {
	all := []struct {
		name  string
		start func(context.Context) (*server, error)
	}{{"containers", container}, {"processes", process}}
	forced, required := os.Getenv("CLUSTER"), os.Getenv("REDLOCK_REQUIRE")
	var missing error
	for _, a := range all {
		if (forced == "containers" || forced == "processes") && a.name != forced || required != "" && a.name != required {
			continue
		}
		s, err := a.start(ctx)
		if err == nil {
			fmt.Fprintf(os.Stderr, "sqltest: PostgreSQL %s, of %s\n", s.version, a.name)
			return s, nil
		}
		missing = errors.Join(missing, fmt.Errorf("%s: %w", a.name, err))
		if !errors.Is(err, errAbsent) {
			return nil, missing
		}
	}
	if missing == nil {
		missing = fmt.Errorf("%w: CLUSTER=%s, REDLOCK_REQUIRE=%s", errAbsent, forced, required)
	}
	return nil, missing
}

// table is accounts in the schema of one test. The owner of a balance is the fence it was written with.
const table = `CREATE TABLE accounts (
	id    int PRIMARY KEY,
	owner bigint NOT NULL DEFAULT 0,
	fence bigint NOT NULL DEFAULT 0
)`

var schemas atomic.Int64

// database returns a database where accounts has the rows 1 to n, and where only the test that asked sees them.
func database(t *testing.T, n int) (db *sql.DB, u string) {
	t.Helper()
	if databaseURL == "" {
		t.Skip("there is no PostgreSQL")
	}
	schema := "test" + strconv.FormatInt(schemas.Add(1), 10)
	db = open(t, databaseURL)
	_, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+schema)
	require.NoError(t, err)
	u = within(databaseURL, schema)
	db = open(t, u)
	_, err = db.ExecContext(t.Context(), table)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO accounts (id) SELECT generate_series(1, $1)", n)
	require.NoError(t, err)
	return db, u
}

func open(t *testing.T, u string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", u)
	require.NoError(t, err)
	db.SetMaxOpenConns(40)
	db.SetMaxIdleConns(40)
	db.SetConnMaxLifetime(time.Hour)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

var accounts = mustTable("accounts")

func mustTable(name string) *fence.Table {
	t, err := fence.NewTable(name, "id", "fence", fence.Dollar)
	if err != nil {
		panic(err)
	}
	return t
}

// write is a write as users write it: the guard first, and both in one transaction.
func write(ctx context.Context, db *sql.DB, level sql.IsolationLevel, id int, f int64) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := accounts.Row(tx, id).Admit(ctx, f); err != nil {
		return err
	}
	if err := own(ctx, tx, id, f); err != nil {
		return err
	}
	return tx.Commit()
}

// own is the write itself, which looks at no fence: what protects it is the guard alone.
func own(ctx context.Context, db fence.DB, id int, f int64) error {
	_, err := db.ExecContext(ctx, "UPDATE accounts SET owner = $1 WHERE id = $2", f, id)
	return err
}

// row returns what is committed.
func row(t *testing.T, db *sql.DB, id int) (owner, highest int64) {
	t.Helper()
	err := db.QueryRowContext(t.Context(), "SELECT owner, fence FROM accounts WHERE id = $1", id).Scan(&owner, &highest)
	require.NoError(t, err)
	return owner, highest
}

func requireRow(t *testing.T, db *sql.DB, id int, f int64) {
	t.Helper()
	owner, highest := row(t, db, id)
	require.Equal(t, [2]int64{f, f}, [2]int64{owner, highest})
}
