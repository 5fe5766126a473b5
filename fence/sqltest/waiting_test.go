package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/fence"
)

// requireWaiting returns when n statements on this test's accounts wait for a lock.
func requireWaiting(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting int
		err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks waits JOIN pg_locks has USING (pid)
			WHERE NOT waits.granted AND has.relation = 'accounts'::regclass AND has.mode = 'RowExclusiveLock'`).Scan(&waiting)
		return err == nil && waiting == n
	}, 10*time.Second, 5*time.Millisecond)
}

// begin starts a transaction that has admitted f and written.
func begin(t *testing.T, db *sql.DB, f int64) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, accounts.Row(tx, 1).Admit(t.Context(), f))
	require.NoError(t, own(t.Context(), tx, 1, f))
	return tx
}

// async writes in a goroutine, whose result must be taken.
func async(t *testing.T, db *sql.DB, level sql.IsolationLevel, f int64) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- write(t.Context(), db, level, 1, f) }()
	return done
}

func sqlState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

func TestAWriterThatWaitsForTheRowIsRejectedAfterTheWait(t *testing.T) {
	t.Parallel()
	for _, level := range []sql.IsolationLevel{
		sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable,
	} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			db, _ := database(t, 1)
			b := begin(t, db, 2)
			a := async(t, db, level, 1)
			requireWaiting(t, db, 1)
			require.NoError(t, b.Commit())

			err := <-a
			if level > sql.LevelReadCommitted {
				require.Equal(t, "40001", sqlState(err), "%v", err)
				require.NotErrorIs(t, err, fence.ErrStale)
				err = write(t.Context(), db, level, 1, 1)
			}
			stale, ok := errors.AsType[*fence.StaleError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, fence.StaleError{Fence: 1, Highest: 2}, *stale)
			requireRow(t, db, 1, 2)
		})
	}
}

func TestAWriterThatWaitedForOneWhoGaveUpIsAdmitted(t *testing.T) {
	t.Parallel()
	db, _ := database(t, 1)
	b := begin(t, db, 2)
	a := async(t, db, sql.LevelDefault, 1)
	requireWaiting(t, db, 1)
	require.NoError(t, b.Rollback())
	require.NoError(t, <-a)
	requireRow(t, db, 1, 1)
}

func TestTheNextHolderWaitsForAWriteThatWasAdmitted(t *testing.T) {
	t.Parallel()
	db, _ := database(t, 1)
	a := begin(t, db, 1)
	b := async(t, db, sql.LevelDefault, 2)
	requireWaiting(t, db, 1)
	require.NoError(t, a.Commit())
	require.NoError(t, <-b)
	requireRow(t, db, 1, 2)
}

// A transaction that began before the other holder's committed, and only looks at the row afterwards, sees it in every level.
func TestAnOldTransactionIsRejected(t *testing.T) {
	t.Parallel()
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			db, _ := database(t, 1)
			a, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			require.NoError(t, err)
			defer func() { _ = a.Rollback() }()
			_, err = a.ExecContext(t.Context(), "SELECT * FROM accounts") // its snapshot, where it has one
			require.NoError(t, err)
			require.NoError(t, write(t.Context(), db, level, 1, 2))
			err = accounts.Row(a, 1).Admit(t.Context(), 1)
			if level == sql.LevelReadCommitted {
				require.ErrorIs(t, err, fence.ErrStale)
			} else {
				require.Equal(t, "40001", sqlState(err), "%v", err)
			}
			requireRow(t, db, 1, 2)
		})
	}
}

// A holder that stops between its guard and its write blocks its successor for as long as the database lets it.
func TestAHolderThatStopsInsideItsTransactionIsEnded(t *testing.T) {
	t.Parallel()
	db, _ := database(t, 1)
	a, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = a.Rollback() }()
	_, err = a.ExecContext(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = '300ms'")
	require.NoError(t, err)
	require.NoError(t, accounts.Row(a, 1).Admit(t.Context(), 1))

	require.NoError(t, write(t.Context(), db, sql.LevelDefault, 1, 2))
	require.Error(t, own(t.Context(), a, 1, 1), "its session is gone")
	requireRow(t, db, 1, 2)
}

// The server may go on with an UPDATE whose caller is gone, but not commit it: the transaction was the caller's.
func TestAWaitEndsWithItsContextAndLeavesNothing(t *testing.T) {
	t.Parallel()
	db, _ := database(t, 1)
	b := begin(t, db, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, write(ctx, db, sql.LevelDefault, 1, 2), context.DeadlineExceeded)
	require.NoError(t, b.Commit())
	require.NoError(t, write(t.Context(), db, sql.LevelDefault, 1, 1), "it waits for what is left of the other")
	requireRow(t, db, 1, 1)
}

// Who was refused after a wait has the row's lock, which he was given to look at it, until he rolls back.
func TestARefusalAfterAWaitKeepsTheRowUntilTheRollback(t *testing.T) {
	t.Parallel()
	db, _ := database(t, 1)
	b := begin(t, db, 2)
	a, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	refused := make(chan error, 1)
	go func() { refused <- accounts.Row(a, 1).Admit(t.Context(), 1) }()
	requireWaiting(t, db, 1)
	require.NoError(t, b.Commit())
	require.ErrorIs(t, <-refused, fence.ErrStale)
	next := async(t, db, sql.LevelDefault, 3)
	requireWaiting(t, db, 1)
	require.NoError(t, a.Rollback())
	require.NoError(t, <-next)
	requireRow(t, db, 1, 3)
}

func TestWhatTheDatabaseSaysOfMistakes(t *testing.T) {
	t.Parallel()
	db, _ := database(t, 1)
	require.ErrorIs(t, accounts.Row(db, 99).Admit(t.Context(), 1), fence.ErrNoRow)
	require.Equal(t, "42P01", sqlState(mustTable("nothing").Row(db, 1).Admit(t.Context(), 1)))
	_, err := db.ExecContext(t.Context(), "CREATE TABLE loose (id int, fence bigint); INSERT INTO loose VALUES (1, NULL), (2, 0), (2, 0)")
	require.NoError(t, err)
	loose := mustTable("loose")
	require.ErrorIs(t, loose.Row(db, 1).Admit(t.Context(), 1), fence.ErrInvalid)
	require.ErrorIs(t, loose.Row(db, 2).Admit(t.Context(), 1), fence.ErrInvalid)
	quoted := mustTable(`"loose"`)
	require.ErrorIs(t, quoted.Row(db, 3).Admit(t.Context(), 1), fence.ErrNoRow)
}

// What the guard is for, and what it cannot do: the first write needs a guard to be stopped, the second its transaction.
func TestWithoutAGuardOrOutsideItsTransactionTheLateWriteStands(t *testing.T) {
	t.Parallel()
	db, _ := database(t, 2)
	require.NoError(t, write(t.Context(), db, sql.LevelDefault, 1, 2))
	require.NoError(t, own(t.Context(), db, 1, 1))
	owner, highest := row(t, db, 1)
	require.Equal(t, [2]int64{1, 2}, [2]int64{owner, highest})

	require.NoError(t, accounts.Row(db, 2).Admit(t.Context(), 1)) // A stops here
	require.NoError(t, write(t.Context(), db, sql.LevelDefault, 2, 2))
	require.NoError(t, own(t.Context(), db, 2, 1))
	owner, highest = row(t, db, 2)
	require.Equal(t, [2]int64{1, 2}, [2]int64{owner, highest})
}

// Every digit of a fence survives, and *sql.DB, *sql.Conn and *sql.Tx serve alike.
func TestAFenceOfAnyLengthSurvives(t *testing.T) {
	t.Parallel()
	db, _ := database(t, 1)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	for _, f := range []int64{1, 1764493863123518, 1<<53 + 1, 1<<63 - 1} {
		require.NoError(t, accounts.Row(conn, 1).Admit(t.Context(), f))
		_, highest := row(t, db, 1)
		require.Equal(t, f, highest)
		if f > 1 {
			require.EqualError(t, accounts.Row(db, 1).Admit(t.Context(), f-1), (&fence.StaleError{Fence: f - 1, Highest: f}).Error())
		}
	}
}
