package quorum_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/quorumlock/go-redlock/redlock"
)

const renewerTTL = 500 * time.Millisecond

// allLost is what the process says that hears everywhere that its lock is lost.
const allLost = "first: lost, err: lost, extend: lost, context: lost, keepalive: lost, unlock: lost"

// renewUntilStopped takes a lock on each key that it is told, renews it in two ways until it has stood still for longer than
// the TTL, and then says what it hears of its lock.
func renewUntilStopped(l *redlock.Locker) error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		said, err := renewOne(l, in.Text())
		if err != nil {
			return err
		}
		fmt.Println(said)
	}
	return nil
}

func renewOne(l *redlock.Locker, key string) (said string, err error) {
	ctx, cancel := bounded()
	defer cancel()
	lock, err := l.Lock(ctx, key, redlock.WithTTL(renewerTTL))
	if err != nil {
		return "", err
	}
	held, release := lock.Context(ctx)
	defer release()
	kept := keep(ctx, lock)
	fmt.Println("held")
	first, err := firstAfterStop(ctx, lock)
	if err != nil {
		return "", err
	}
	said = fmt.Sprintf("first: %s, err: %s, extend: %s", first, inWord(lock.Err()), inWord(lock.Extend(ctx)))
	select {
	case <-held.Done():
		said += ", context: " + inWord(context.Cause(held))
	case <-time.After(time.Second):
		said += ", context: lives"
	}
	return said + fmt.Sprintf(", keepalive: %s, unlock: %s", inWord(kept()), inWord(lock.Unlock(ctx))), nil
}

// firstAfterStop extends the lock until the process has stood still, and returns what the call came to in which it did.
func firstAfterStop(ctx context.Context, lock *redlock.Lock) (string, error) {
	for before := time.Now(); ; {
		err := lock.Extend(ctx)
		now := time.Now()
		if now.Sub(before) > renewerTTL {
			return inWord(err), nil
		}
		if err != nil && !errors.Is(err, redlock.ErrNoQuorum) { // on a busy machine one may fail
			return "", fmt.Errorf("without a stop: %w", err)
		}
		before = now
	}
}

func inWord(err error) string {
	if errors.Is(err, redlock.ErrLost) {
		return "lost"
	}
	return fmt.Sprint(err)
}
