package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/quorumlock/go-redlock/fence"
)

// balances is the table whose rows the locks protect, one a row. NewTable only fails for names that are no identifiers.
var balances, errBalances = fence.NewTable("balances", "id", "fence", fence.Dollar)

// setBalance writes under a lock: its fence, which is Lock.Fence(), and the write are one transaction.
func setBalance(ctx context.Context, db *sql.DB, fence int64, id, balance int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := balances.Row(tx, id).Admit(ctx, fence); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE balances SET balance = $1 WHERE id = $2", balance, id); err != nil {
		return err
	}
	return tx.Commit()
}

// The holder of fence 1 was stopped past the end of its lock, somebody else took over with fence 2, and now both write.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("pgx", databaseURL)
	if err = errors.Join(err, errBalances); err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, `
		CREATE TABLE balances (id int PRIMARY KEY, balance int NOT NULL, fence bigint NOT NULL DEFAULT 0);
		INSERT INTO balances VALUES (7, 100)`)
	if err != nil {
		log.Print(err)
		return
	}

	fmt.Println(setBalance(ctx, db, 2, 7, 90))
	fmt.Println(setBalance(ctx, db, 1, 7, 80)) // too late
	var balance int
	err = db.QueryRowContext(ctx, "SELECT balance FROM balances WHERE id = 7").Scan(&balance)
	fmt.Println(balance, err)
	// Output:
	// <nil>
	// fence: stale: 1, where 2 was seen
	// 90 <nil>
}
