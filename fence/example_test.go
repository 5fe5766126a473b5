package fence_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/fence"
)

var ctx = context.Background()

// A holder that was stopped past the end of its lock acts on when it wakes. The resource knows better.
func Example() {
	var guard fence.Memory
	const first, second = 1764493863123518, 1764493863123519 // what Lock.Fence returned to two holders, one after the other

	fmt.Println(guard.Admit(ctx, first))
	fmt.Println(guard.Admit(ctx, second)) // the first holder has stopped, the second has taken over
	fmt.Println(guard.Admit(ctx, first))
	// Output:
	// <nil>
	// <nil>
	// fence: stale: 1764493863123518, where 1764493863123519 was seen
}

// account is data in this process. One mutex covers the guard's question and the write: nobody stops in between and writes
// late.
type account struct {
	mu      sync.Mutex // protects balance, and makes Admit and the write one step
	guard   fence.Memory
	balance int
}

func (a *account) set(fence int64, balance int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.guard.Admit(ctx, fence); err != nil {
		return err
	}
	a.balance = balance
	return nil
}

func ExampleMemory() {
	var a account
	fmt.Println(a.set(1, 100), a.set(2, 90), a.balance)
	fmt.Println(a.set(1, 100), a.balance)
	// Output:
	// <nil> <nil> 90
	// fence: stale: 1, where 2 was seen 90
}

// setBalance writes a field of a hash. The body sees its own keys and arguments only.
var setBalance = fence.NewScript(`return redis.call('HSET', KEYS[1], 'balance', ARGV[1])`)

// Guard and write are one script. The server here is one in this process; any *redis.Client will do.
func ExampleRedis_Run() {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()

	guard := fence.NewRedis(client, "account:7:fence")
	if _, err := guard.Run(ctx, 2, setBalance, []string{"account:7"}, 90); err != nil {
		log.Print(err)
	}
	_, err = guard.Run(ctx, 1, setBalance, []string{"account:7"}, 100)
	fmt.Println(errors.Is(err, fence.ErrStale), client.HGet(ctx, "account:7", "balance").Val())
	// Output: true 90
}

// A lock that was taken without fencing has the fence 0. That is no stale holder but a mistake in the program.
func ExampleStaleError() {
	var guard fence.Memory
	for _, f := range []int64{7, 5, 0} {
		err := guard.Admit(ctx, f)
		switch stale, is := errors.AsType[*fence.StaleError](err); {
		case is:
			fmt.Printf("somebody else has the lock since fence %d; stop\n", stale.Highest)
		case errors.Is(err, fence.ErrNoFence):
			fmt.Println("the lock was taken without fencing")
		default:
			fmt.Println("admitted")
		}
	}
	// Output:
	// admitted
	// somebody else has the lock since fence 7; stop
	// the lock was taken without fencing
}
