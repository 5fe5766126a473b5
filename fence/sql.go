package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// DB is what a [Row] asks of database/sql: *sql.Tx, *sql.Conn and *sql.DB have it. Use the transaction of the write.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Placeholder writes the n-th parameter of a statement, from 1, as the driver wants it.
type Placeholder func(n int) string

// Dollar writes parameters as PostgreSQL wants them: $1.
func Dollar(n int) string { return "$" + strconv.Itoa(n) }

// Question writes parameters as MySQL and SQLite want them: ?.
func Question(int) string { return "?" }

// Table knows where the rows of a table keep their highest fence. It may be used by several goroutines at once.
//
// The fence is a column of the row that it guards, or of a table of its own: a 64-bit integer that is never NULL, 0 to begin
// with.
//
//	ALTER TABLE accounts ADD COLUMN fence bigint NOT NULL DEFAULT 0
type Table struct {
	name, fence    string
	update, lookup string
}

// identifier is one that cannot end early and go on as something else: plain, or quoted with no quote in it; a table's name
// also has what it is qualified with.
var identifier = regexp.MustCompile(`^(?:` + part + `\.)*` + part + `$`)

const part = "(?:[A-Za-z_][A-Za-z0-9_$]*|\"[^\"\\x00]+\"|`[^`\\x00]+`)"

// NewTable returns the table of that name, whose column id names a row and whose column fence is the highest fence seen. Names
// stand in the statements as they are given, plain or quoted: `"order"`, `billing.accounts`. Anything else is ErrInvalid.
func NewTable(name, id, fence string, p Placeholder) (*Table, error) {
	for _, s := range []string{name, id, fence} {
		if !identifier.MatchString(s) {
			return nil, fmt.Errorf("%w: %q is neither a plain nor a quoted identifier", ErrInvalid, s)
		}
	}
	if p == nil {
		return nil, fmt.Errorf("%w: no placeholder", ErrInvalid)
	}
	return &Table{
		name: name, fence: fence,
		update: fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s = %s AND %s <= %s", name, fence, p(1), id, p(2), fence, p(3)),
		lookup: fmt.Sprintf("SELECT %s FROM %s WHERE %s = %s", fence, name, id, p(1)),
	}, nil
}

// Row is the guard of the row with that id. It is made for one transaction and costs nothing.
func (t *Table) Row(db DB, id any) *Row { return &Row{t, db, id} }

// Row guards one row of a table inside the caller's transaction.
type Row struct {
	table *Table
	db    DB
	id    any
}

// Admit admits fence or returns an error that matches ErrStale, ErrNoFence or ErrNoRow, or that of the driver. After any error
// roll the transaction back at once: one that was refused after a wait still holds the row's lock. ctx governs the statements
// of Admit and not the transaction.
//
// It is one conditional UPDATE, which locks the row until the transaction ends: who comes with a higher fence waits for that
// end, and who comes with a lower one after it finds a higher fence. READ COMMITTED is enough: an UPDATE that waited for a
// row's lock reads its condition again, on the row as it was committed meanwhile. Under REPEATABLE READ and SERIALIZABLE the
// database refuses it instead with a serialization failure (SQLSTATE 40001 in PostgreSQL, of Admit or of Commit): that is the
// refusal. Tried again in a new transaction it is ErrStale, or was only a neighbour's write.
//
// A holder that stops inside its transaction keeps the row locked: let the database end such transactions
// (idle_in_transaction_session_timeout in PostgreSQL). With a *sql.DB Admit commits at once: a write after it is not protected
// against one who stops in between, and an UPDATE whose ctx ended while it waited may still be carried out later.
func (r *Row) Admit(ctx context.Context, fence int64) error {
	if r.table == nil || r.table.update == "" || r.db == nil {
		return fmt.Errorf("%w: a row needs a table of NewTable and a transaction", ErrInvalid)
	}
	if err := check(ctx, fence); err != nil {
		return err
	}
	result, err := r.db.ExecContext(ctx, r.table.update, fence, r.id, fence)
	if err != nil {
		return fmt.Errorf("fence: update of %s: %w", r.table.name, err)
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return fmt.Errorf("fence: update of %s: %w", r.table.name, err)
	case n == 1:
		return nil
	case n != 0:
		return fmt.Errorf("%w: the id names %d rows of %s", ErrInvalid, n, r.table.name)
	}
	return r.refusal(ctx, fence)
}

// refusal says why the UPDATE met no row. It reads later than the UPDATE did, which can only find a higher fence.
func (r *Row) refusal(ctx context.Context, fence int64) error {
	var highest sql.NullInt64
	err := r.db.QueryRowContext(ctx, r.table.lookup, r.id).Scan(&highest)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w with that id in %s", ErrNoRow, r.table.name)
	case err != nil:
		return fmt.Errorf("fence: lookup in %s: %w", r.table.name, err)
	case !highest.Valid:
		return fmt.Errorf("%w: %s of the row in %s is NULL", ErrInvalid, r.table.fence, r.table.name)
	case highest.Int64 > fence:
		return &StaleError{Fence: fence, Highest: highest.Int64}
	}
	// The row came, or its fence was put back, since the UPDATE; or the driver counts rows that changed and not those that
	// matched, so that a holder's second write looks refused. Neither is an admission.
	return fmt.Errorf("fence: the update of %s met no row, yet its fence is %d: let the driver count the rows that match (MySQL: clientFoundRows=true), or try again",
		r.table.name, highest.Int64)
}
