package sqltest_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
)

// holderVariable makes the test binary a holder of another process, with the database's URL in it.
const holderVariable = "SQLTEST_HOLDER"

// holder has begun its transaction when it says so, and writes to row 1 with fence 1 when it is told to.
func holder(u string) (exitCode int) {
	ctx := context.Background()
	db, err := sql.Open("pgx", u)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("begun")
	if !bufio.NewScanner(os.Stdin).Scan() {
		return 1
	}
	fmt.Println("admit:", accounts.Row(tx, 1).Admit(ctx, 1))
	result, err := tx.ExecContext(ctx, "UPDATE accounts SET owner = 1, fence = 1 WHERE id = 1 AND fence <= 1")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	n, err := result.RowsAffected()
	fmt.Println("update:", n, err)
	fmt.Println("commit:", tx.Commit())
	return 0
}

// within makes a database's URL that of one schema. No statement of a test waits for a lock without end.
func within(u, schema string) string {
	parsed, err := url.Parse(u)
	if err != nil {
		panic(err)
	}
	query := parsed.Query()
	query.Set("search_path", schema)
	query.Set("lock_timeout", "30s")
	parsed.RawQuery = query.Encode()
	return parsed.String()
}
