package redlock

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/clock"
)

const century = 100 * 365 * 24 * time.Hour

// badTerms are options of a lock that are invalid together with the defaults, with the relation that the error must name.
var badTerms = []struct {
	name     string
	option   LockOption
	relation string
}{
	{"nil", nil, "is nil"},
	{"ttl zero", WithTTL(0), "ttl 0s is below 1ms"},
	{"ttl negative by the least", WithTTL(-1), "is below 1ms"},
	{"ttl negative", WithTTL(-time.Second), "ttl -1s is below 1ms"},
	{"ttl the most negative", WithTTL(math.MinInt64), "is below 1ms"},
	{"ttl below a millisecond", WithTTL(time.Millisecond - 1), "ttl 0s is below 1ms"},
	{"ttl above the bound", WithTTL(10*365*24*time.Hour + time.Millisecond), "is above 87600h0m0s"},
	{"ttl of a century", WithTTL(century), "is above 87600h0m0s"},
	{"ttl the longest there is", WithTTL(math.MaxInt64), "is above 87600h0m0s"},
	{"ttl equal to the node timeout", WithTTL(nodeTimeout), "node timeout 200ms does not fit into ttl 200ms less drift 4ms"},
	{"ttl eaten up by the drift", WithTTL(204 * time.Millisecond), "does not fit into ttl"},
	{"backoff of nothing", WithBackoff(0, time.Second), "backoff minimum 0s is not above zero"},
	{"backoff negative", WithBackoff(-time.Second, time.Second), "backoff minimum -1s is not above zero"},
	{"backoff upside down", WithBackoff(2*time.Second, time.Second), "backoff maximum 1s is below its minimum 2s"},
	{"attempts negative", WithMaxAttempts(-1), "max attempts -1 is negative"},
	{"attempts the most negative", WithMaxAttempts(math.MinInt), "is negative"},
	{"hold below the ttl", WithMaxHold(ttl - 1), "max hold 9.999999999s is below the ttl 10s"},
	{"hold negative", WithMaxHold(-1), "is below the ttl 10s"},
	{"label too long", WithLabel(strings.Repeat("l", 257)), "label of 257 bytes is longer than 256"},
	{"retention below the ttl", fencedFor(ttl - 1), "fence retention 9.999s is below the ttl 10s"},
	{"retention negative", fencedFor(-time.Hour), "is below the ttl 10s"},
	{"retention above the bound", fencedFor(10*365*24*time.Hour + time.Millisecond), "is above 87600h0m0s"},
}

// fencedFor is two options in one: a retention matters where there is a fence.
func fencedFor(d time.Duration) LockOption {
	return lockOption(func(t *terms) {
		WithFencing().applyLock(t)
		WithFenceRetention(d).applyLock(t)
	})
}

var badSettings = []struct {
	name     string
	option   Option
	relation string
}{
	{"node timeout zero", WithNodeTimeout(0), "node timeout 0s is not above zero"},
	{"node timeout negative", WithNodeTimeout(-1), "is not above zero"},
	{"node timeout as long as the validity", WithNodeTimeout(ttl - drift), "does not fit into ttl 10s less drift 102ms"},
	{"node timeout the longest there is", WithNodeTimeout(math.MaxInt64), "does not fit into ttl"},
	{"drift negative", WithDrift(-0.01), "drift -0.01 is not from 0 to below 1"},
	{"drift of everything", WithDrift(1), "drift 1 is not from 0 to below 1"},
	{"drift that is no number", WithDrift(math.NaN()), "drift NaN"},
	{"drift infinite", WithDrift(math.Inf(1)), "drift +Inf"},
	{"drift infinite below", WithDrift(math.Inf(-1)), "drift -Inf"},
	{"drift that leaves too little", WithDrift(0.99), "does not fit into ttl"},
	{"no clock", WithClock(nil), "clock is nil"},
	{"reserved prefix", WithPrefix("app~q:"), `prefix contains "~q:"`},
	{"no function for clients", WithClientOptions(nil), "client options"},
}

func TestBadOptionsAreInvalidAndNameTheRelation(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { require.NoError(t, client.Close()) }()
	check := func(name string, option Option, relation string) {
		_, err := New([]*redis.Client{client}, option)
		require.ErrorIs(t, err, ErrInvalid, name)
		require.ErrorContains(t, err, relation, name)
		_, err = Open([]string{"redis://127.0.0.1:1"}, option)
		require.ErrorIs(t, err, ErrInvalid, name)
		require.ErrorContains(t, err, relation, name)
	}
	for _, tt := range badTerms {
		check(tt.name, tt.option, tt.relation)
	}
	for _, tt := range badSettings {
		check(tt.name, tt.option, tt.relation)
	}
	require.Zero(t, client.PoolStats().Misses, "no connection was asked for")
}

func TestABadOptionOfOneCallIsInvalidBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	for _, tt := range badTerms {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 3)
			with := c.With(tt.option)
			again := with.With(WithTTL(time.Second))
			_, tried := c.TryLock(t.Context(), "k", tt.option)
			_, locked := c.Lock(t.Context(), "k", tt.option)
			_, shown := with.TryLock(t.Context(), "k")
			_, shownToo := with.Lock(t.Context(), "k", WithTTL(time.Second), WithBackoff(1, 1), WithMaxAttempts(1))
			_, shownLater := again.TryLock(t.Context(), "k")
			for _, err := range []error{tried, locked, shown, shownToo, shownLater} {
				require.ErrorIs(t, err, ErrInvalid, tt.name)
				require.ErrorContains(t, err, tt.relation, tt.name)
			}
			require.Zero(t, c.sent(""), tt.name)
		})
	}
}

func TestABadCallIsInvalidBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, WithPrefix("app~"))
		tests := []struct {
			name     string
			locker   *Locker
			key      string
			relation string
		}{
			{"nil Locker", nil, "k", "not made by New or Open"},
			{"zero Locker", &Locker{}, "k", "not made by New or Open"},
			{"With of a nil Locker", (*Locker)(nil).With(WithTTL(time.Second)), "k", "not made by New or Open"},
			{"With of a zero Locker", (&Locker{}).With(WithTTL(time.Second)), "k", "not made by New or Open"},
			{"no key", c.Locker, "", "key is empty"},
			{"key too long", c.Locker, strings.Repeat("k", 64<<10-3), "key of 65537 bytes with its prefix is longer than 65536"},
			{"reserved for fences", c.Locker, "a~f:b", `key contains "~f:"`},
			{"reserved for queues", c.Locker, "~q:", `key contains "~q:"`},
			{"reserved for wakes", c.Locker, "b~w:", `key contains "~w:"`},
			{"reserved across the prefix's end", c.Locker, "f:b", `prefix and key contains "~f:"`},
		}
		for _, tt := range tests {
			_, tried := tt.locker.TryLock(t.Context(), tt.key)
			_, locked := tt.locker.Lock(t.Context(), tt.key)
			for _, err := range []error{tried, locked} {
				require.ErrorIs(t, err, ErrInvalid, tt.name)
				require.ErrorContains(t, err, tt.relation, tt.name)
				require.NotErrorIs(t, err, ErrNotAcquired, tt.name)
			}
		}
		_, tried := c.TryLock(nil, "k") //nolint:staticcheck // a nil context is what is tested
		_, locked := c.Lock(nil, "k")   //nolint:staticcheck // likewise
		for _, err := range []error{tried, locked} {
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, "context is nil")
		}
		require.ErrorIs(t, c.Close(nil), ErrInvalid) //nolint:staticcheck // a nil context is what is tested
		require.ErrorIs(t, (*Locker)(nil).Close(t.Context()), ErrInvalid)
		require.ErrorIs(t, (&Locker{}).Close(t.Context()), ErrInvalid)
		require.Zero(t, c.sent(""))
		require.NotNil(t, c.mustTryLock(t, strings.Repeat("k", 64<<10-4)), "and the Locker is none the worse")
	})
}

func TestBadNodesAreInvalid(t *testing.T) {
	t.Parallel()
	client := func(addr string) *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
	many := func(n int) []*redis.Client {
		all := make([]*redis.Client, n)
		for i := range all {
			all[i] = client(fmt.Sprintf("127.0.0.1:%d", i+1))
		}
		return all
	}
	a := client("a:1")
	tests := []struct {
		name     string
		nodes    []*redis.Client
		relation string
	}{
		{"none", nil, "0 nodes are not from 1 to 64"},
		{"too many", many(65), "65 nodes are not from 1 to 64"},
		{"a nil one", []*redis.Client{a, nil}, "node 1 is nil"},
		{"one twice", []*redis.Client{a, client("b:1"), a}, "nodes 0 and 2 are the same client"},
		{"an address twice", []*redis.Client{client("b:1"), a, client("a:1")}, "nodes 1 and 2 have the same address a:1"},
	}
	for _, tt := range tests {
		_, err := New(tt.nodes)
		require.ErrorIs(t, err, ErrInvalid, tt.name)
		require.ErrorContains(t, err, tt.relation, tt.name)
	}
	for _, n := range []int{1, 2, 64} {
		l, err := New(many(n))
		require.NoError(t, err)
		require.NoError(t, l.Close(t.Context()))
	}
	_, err := New([]*redis.Client{a}, WithClientOptions(func(*redis.Options) {}))
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "client options are for Open")
	_, err = Open(nil)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = Open([]string{"redis://a:1", "redis://a:1/3"})
	require.ErrorContains(t, err, "nodes 0 and 1 have the same address a:1")
}

// Clients of a failover group all say that their address is the same.
func TestFailoverClientsAreToldApartAsClients(t *testing.T) {
	t.Parallel()
	failover := func() *redis.Client {
		c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}})
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
	a, b := failover(), failover()
	_, err := New([]*redis.Client{a, b})
	require.NoError(t, err)
	_, err = New([]*redis.Client{a, b, a})
	require.ErrorContains(t, err, "nodes 0 and 2 are the same client")
}

func TestTheLongestAndTheShortestTermsWork(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		opts []Option
	}{
		{"the longest ttl", []Option{WithTTL(10 * 365 * 24 * time.Hour)}},
		{"the longest ttl and node timeout", []Option{WithTTL(10 * 365 * 24 * time.Hour), WithNodeTimeout(9 * 365 * 24 * time.Hour)}},
		{"the longest ttl and most of it drift", []Option{WithTTL(10 * 365 * 24 * time.Hour), WithDrift(0.999)}},
		{"the shortest ttl that a node timeout fits into", []Option{WithTTL(3 * time.Millisecond), WithNodeTimeout(1), WithDrift(0)}},
		{"no drift", []Option{WithDrift(0)}},
		{"backoff of the longest", []Option{WithBackoff(math.MaxInt64, math.MaxInt64)}},
		{"attempts without number", []Option{WithMaxAttempts(math.MaxInt)}},
		{"hold of the ttl", []Option{WithMaxHold(ttl)}},
		{"hold without end", []Option{WithMaxHold(math.MaxInt64)}},
		{"label of the longest", []Option{WithLabel(strings.Repeat("\x00 ", 128))}},
		{"retention of the ttl", []Option{fencedFor(ttl)}},
		{"retention of the longest", []Option{fencedFor(10 * 365 * 24 * time.Hour)}},
	}
	for _, tt := range tests {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 3, tt.opts...)
			lock := c.mustTryLock(t, "k")
			require.Positive(t, lock.Remaining(), tt.name)
			require.LessOrEqual(t, lock.Remaining(), c.terms.ttl, tt.name)
			require.True(t, lock.Until().After(time.Now()), tt.name)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			_, err := c.Lock(ctx, "k")
			require.ErrorIs(t, err, context.DeadlineExceeded, tt.name)
			_ = lock.Unlock(t.Context())
		})
	}
}

func TestAClockThatIsOldHasRoomForAnyTTL(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, WithTTL(10*365*24*time.Hour), WithClock(aged{clock.NewManual(time.Unix(0, 0))}))
	lock := c.mustTryLock(t, "k")
	require.Equal(t, c.terms.ttl-c.terms.drift, lock.Remaining())
	require.NoError(t, lock.Unlock(t.Context()))
}

// aged is a clock that has run for two centuries.
type aged struct{ *clock.Manual }

func (a aged) Now() time.Duration { return a.Manual.Now() + 2*century }
