package fence_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/fence"
)

func TestARowIsAskedInOneStatementAndOnceMoreWhenItRefuses(t *testing.T) {
	t.Parallel()
	f := &fakeTable{rows: map[int64]any{7: int64(0)}}
	row := accounts(t).Row(f.open(t), 7)
	require.NoError(t, row.Admit(t.Context(), 2))
	require.Equal(t, []string{"UPDATE accounts SET fence = $1 WHERE id = $2 AND fence <= $3"}, f.said)
	requireStale(t, row, 1, 2)
	require.Equal(t, []string{
		"UPDATE accounts SET fence = $1 WHERE id = $2 AND fence <= $3",
		"UPDATE accounts SET fence = $1 WHERE id = $2 AND fence <= $3",
		"SELECT fence FROM accounts WHERE id = $1",
	}, f.said)
	require.ErrorIs(t, row.Admit(t.Context(), 0), fence.ErrNoFence)
	require.Len(t, f.said, 3, "nothing is asked about what is no fence")
}

func TestPlaceholdersAreTheDrivers(t *testing.T) {
	t.Parallel()
	f := &fakeTable{rows: map[int64]any{7: int64(3)}}
	table, err := fence.NewTable("accounts", "id", "fence", fence.Question)
	require.NoError(t, err)
	requireStale(t, table.Row(f.open(t), 7), 2, 3)
	require.Equal(t, []string{
		"UPDATE accounts SET fence = ? WHERE id = ? AND fence <= ?", "SELECT fence FROM accounts WHERE id = ?",
	}, f.said)
}

func TestEachRowHasItsOwnFence(t *testing.T) {
	t.Parallel()
	db := (&fakeTable{rows: map[int64]any{7: int64(9), 8: int64(0)}}).open(t)
	requireStale(t, accounts(t).Row(db, 7), 1, 9)
	require.NoError(t, accounts(t).Row(db, 8).Admit(t.Context(), 1))
	err := accounts(t).Row(db, 6).Admit(t.Context(), 1)
	require.ErrorIs(t, err, fence.ErrNoRow)
	require.EqualError(t, err, "fence: no row with that id in accounts")
}

func TestWhatIsNotKnownIsNoAdmission(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	unchanged := func(int64) int64 { return 0 } // as MySQL counts without clientFoundRows
	tests := map[string]struct {
		table *fakeTable
		text  string
		is    error
	}{
		"the update fails":           {&fakeTable{failUpdate: broken}, "fence: update of accounts: connection reset", broken},
		"the lookup fails":           {&fakeTable{failLookup: broken}, "fence: lookup in accounts: connection reset", broken},
		"the driver does not count":  {&fakeTable{failAffected: broken}, "fence: update of accounts: connection reset", broken},
		"the driver counts changes":  {&fakeTable{rows: map[int64]any{7: int64(5)}, affected: unchanged}, "clientFoundRows", nil},
		"the row came in between":    {&fakeTable{rows: map[int64]any{7: int64(4)}, affected: unchanged}, "its fence is 5", nil},
		"the fence is NULL":          {&fakeTable{rows: map[int64]any{7: nil}}, "fence of the row in accounts is NULL", fence.ErrInvalid},
		"the id names several rows":  {&fakeTable{affected: func(int64) int64 { return 2 }}, "the id names 2 rows of accounts", fence.ErrInvalid},
		"the fence is not a number":  {&fakeTable{rows: map[int64]any{7: "x"}}, "lookup in accounts", nil},
		"the driver counts nonsense": {&fakeTable{affected: func(int64) int64 { return -1 }}, "-1 rows", fence.ErrInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := accounts(t).Row(tt.table.open(t), 7).Admit(t.Context(), 5)
			require.ErrorContains(t, err, tt.text)
			require.NotErrorIs(t, err, fence.ErrStale)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
		})
	}
}

func TestOnlyIdentifiersBecomePartOfAStatement(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "Accounts", "_1", "a$1", "billing.accounts", `"order"`, `"my schema"."a b"`, "`order`", "a.b.c"} {
		_, err := fence.NewTable(good, good, good, fence.Dollar)
		require.NoError(t, err, good)
	}
	for _, bad := range []string{
		"", " ", "1a", "a b", "a;", "a--", "a\n", "a.", ".a", "a..b", `"`, `""`, `"a`, `a"b"`, `"a""b"`, `"a" "b"`, "`a`b`", "a)", "é",
		"a = 1 OR id", "a; DROP TABLE a", `"a"; DROP TABLE a; --"`, "\"a\x00\"",
	} {
		for i := range 3 {
			names := []string{"a", "b", "c"}
			names[i] = bad
			table, err := fence.NewTable(names[0], names[1], names[2], fence.Dollar)
			require.ErrorIs(t, err, fence.ErrInvalid, "%q", bad)
			require.Nil(t, table)
		}
	}
	_, err := fence.NewTable("a", "b", "c", nil)
	require.ErrorIs(t, err, fence.ErrInvalid)
}

func TestARowWithoutATableOrADatabaseIsInvalid(t *testing.T) {
	t.Parallel()
	db := (&fakeTable{}).open(t)
	for _, row := range []*fence.Row{{}, new(fence.Table).Row(db, 7), (*fence.Table)(nil).Row(db, 7), accounts(t).Row(nil, 7)} {
		require.ErrorIs(t, row.Admit(t.Context(), 1), fence.ErrInvalid)
	}
}
