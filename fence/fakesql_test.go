package fence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/fence"
)

func accounts(t *testing.T) *fence.Table {
	t.Helper()
	table, err := fence.NewTable("accounts", "id", "fence", fence.Dollar)
	require.NoError(t, err)
	return table
}

// fakeTable is a database with one table that knows the two statements of a guard, and nothing of SQL. Each statement is a
// transaction of its own. The real thing is in the module sqltest.
type fakeTable struct {
	mu   sync.Mutex // protects what follows
	rows map[int64]any
	said []string // the statements, in their order

	failUpdate, failLookup, failAffected error
	affected                             func(matched int64) int64 // what the driver says; nil: the truth
}

func (f *fakeTable) open(t *testing.T) *sql.DB {
	t.Helper()
	db := sql.OpenDB(f)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func (f *fakeTable) Connect(context.Context) (driver.Conn, error) { return &fakeConn{f}, nil }
func (f *fakeTable) Driver() driver.Driver                        { return nil }

type fakeConn struct{ *fakeTable }

func (c *fakeConn) Close() error                        { return nil }
func (c *fakeConn) Begin() (driver.Tx, error)           { return nil, errors.New("no transactions") }
func (c *fakeConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("no statements") }

var (
	updateSQL = regexp.MustCompile(`^UPDATE \S+ SET fence = (?:\$1|\?) WHERE id = (?:\$2|\?) AND fence <= (?:\$3|\?)$`)
	lookupSQL = regexp.MustCompile(`^SELECT fence FROM \S+ WHERE id = (?:\$1|\?)$`)
)

func (c *fakeConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, query)
	if !updateSQL.MatchString(query) || len(args) != 3 || args[0].Value != args[2].Value {
		return nil, fmt.Errorf("syntax error at %s %v", query, args)
	}
	if c.failUpdate != nil {
		return nil, c.failUpdate
	}
	matched := int64(0)
	id := args[1].Value.(int64)
	if seen, ok := c.rows[id].(int64); ok && seen <= args[0].Value.(int64) {
		c.rows[id] = args[0].Value
		matched = 1
	}
	if c.affected != nil {
		matched = c.affected(matched)
	}
	return fakeResult{matched, c.failAffected}, nil
}

func (c *fakeConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, query)
	if !lookupSQL.MatchString(query) || len(args) != 1 {
		return nil, fmt.Errorf("syntax error at %s %v", query, args)
	}
	if c.failLookup != nil {
		return nil, c.failLookup
	}
	rows := &fakeRows{}
	if seen, ok := c.rows[args[0].Value.(int64)]; ok {
		rows.left = []driver.Value{seen}
	}
	return rows, nil
}

type fakeResult struct {
	matched int64
	err     error
}

func (r fakeResult) LastInsertId() (int64, error) { return 0, errors.New("no ids") }
func (r fakeResult) RowsAffected() (int64, error) { return r.matched, r.err }

type fakeRows struct{ left []driver.Value }

func (r *fakeRows) Columns() []string { return []string{"fence"} }
func (r *fakeRows) Close() error      { return nil }

func (r *fakeRows) Next(dest []driver.Value) error {
	if len(r.left) == 0 {
		return io.EOF
	}
	dest[0], r.left = r.left[0], r.left[1:]
	return nil
}
