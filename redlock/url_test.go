package redlock

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestAURLThatIsWrongIsInvalidAndSaysWhichPart(t *testing.T) {
	t.Parallel()
	tests := []struct{ url, part string }{
		{"", badScheme},
		{"localhost:6379", badScheme},
		{"http://localhost", badScheme},
		{"redis:user:secret@host", badScheme},
		{"REDIS//host", badScheme},
		{"redis://:sec ret@host", badURL},
		{"redis://:se%cret@host", badURL},
		{"redis://:secret", badURL},
		{"redis://:sec/ret@host", badURL},
		{"redis://host:port", badURL},
		{"redis://[::1", badURL},
		{"redis://a b", badURL},
		{"redis://host\n", badURL},
		{"redis://:12/34@host:6379", badBehind},
		{"redis://user:12/34@host:6379/0", badBehind},
		{"redis://:12?34@host:6379", badBehind},
		{"redis://:12?client_name=34@host:6379", badBehind},
		{"redis://:12#34@host:6379", badBehind},
		{"redis://host#secret", badBehind},
		{"unix:///secret@run/redis.sock", badBehind},
		{"redis://host/secret", badPath},
		{"redis://host/1/2", badPath},
		{"redis://host/secret?db=1", badPath},
		{"redis://host/0?password=secret", badOption},
		{"redis://host?db=secret", badOption},
		{"redis://host?read_timeout=secret", badOption},
		{"redis://host?pool_fifo=secret", badOption},
		{"unix://", badSocket},
		{"unix://secret/run/redis.sock", badSocket},
		{"unix://:12/34/run/redis.sock", badSocket},
	}
	for _, tt := range tests {
		_, err := Open([]string{"redis://first", tt.url})
		require.ErrorIs(t, err, ErrInvalid, tt.url)
		require.EqualError(t, err, "redlock: invalid argument: url 1: "+tt.part, tt.url)
	}
}

func TestAURLSaysWhereAndHowToConnect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url, network, addr, user, password string
		db                                 int
		tls                                bool
	}{
		{url: "redis://", network: "tcp", addr: "localhost:6379"},
		{url: "redis://host", network: "tcp", addr: "host:6379"},
		{url: "redis://host:1/5", network: "tcp", addr: "host:1", db: 5},
		{url: "redis://[::1]:7/", network: "tcp", addr: "[::1]:7"},
		{url: "rediss://user:s%2Fe%3Fc%23r%40t@host", network: "tcp", addr: "host:6379", user: "user", password: "s/e?c#r@t", tls: true},
		{url: "redis://:a@b@host/0?client_name=a%40b", network: "tcp", addr: "host:6379", password: "a@b"},
		{url: "unix:///run/redis.sock?db=2", network: "unix", addr: "/run/redis.sock", db: 2},
		{url: "unix://user:secret@/run/re%40dis.sock", network: "unix", addr: "/run/re@dis.sock", user: "user", password: "secret"},
	}
	for _, tt := range tests {
		l, err := Open([]string{tt.url})
		require.NoError(t, err, tt.url)
		o := l.core.owned[0].Options()
		require.Equal(t, []any{tt.network, tt.addr, tt.user, tt.password, tt.db, tt.tls},
			[]any{o.Network, o.Addr, o.Username, o.Password, o.DB, o.TLSConfig != nil}, tt.url)
		require.NoError(t, l.Close(t.Context()))
	}
}

func TestOpenGivesItsClientsTheSettingsOfALock(t *testing.T) {
	t.Parallel()
	l, err := Open([]string{"redis://host?max_retries=9&read_timeout=9s&dial_timeout=9s&write_timeout=9s&min_idle_conns=999999999999&max_active_conns=999999999999&max_idle_conns=999999999999"},
		WithNodeTimeout(70*time.Millisecond))
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close(t.Context())) }()
	o := l.core.owned[0].Options()
	require.Zero(t, o.MaxRetries, "none")
	require.Equal(t, 1, o.DialerRetries)
	require.True(t, o.ContextTimeoutEnabled)
	require.True(t, o.DisableIdentity)
	require.Zero(t, o.MinIdleConns)
	for _, d := range []time.Duration{o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout} {
		require.Equal(t, 70*time.Millisecond, d)
	}

	changed, err := Open([]string{"redis://host"}, WithClientOptions(func(o *redis.Options) { o.ClientName = "a" }),
		WithClientOptions(func(o *redis.Options) { o.ClientName += "b"; o.DialTimeout = time.Minute }))
	require.NoError(t, err)
	require.Equal(t, "ab", changed.core.owned[0].Options().ClientName, "in their order")
	require.Equal(t, time.Minute, changed.core.owned[0].Options().DialTimeout, "after ours")
	require.NoError(t, changed.Close(t.Context()))
}

// dialled counts the connections that are asked for.
func dialled(n *int) Option {
	return WithClientOptions(func(o *redis.Options) {
		o.Dialer = func(context.Context, string, string) (net.Conn, error) {
			*n++
			return nil, errRefused
		}
	})
}

func TestOpenSendsNothing(t *testing.T) {
	t.Parallel()
	n := 0
	l, err := Open([]string{"redis://a?min_idle_conns=5", "redis://b"}, dialled(&n))
	require.NoError(t, err)
	require.NoError(t, l.Close(t.Context()))
	_, err = Open([]string{"redis://a", "redis://b", "redis://a"}, dialled(&n))
	require.ErrorIs(t, err, ErrInvalid)
	require.Zero(t, n)
}

func TestCloseClosesTheClientsThatOpenMadeAndNoOthers(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	l, err := Open([]string{"redis://" + server.Addr()})
	require.NoError(t, err)
	lock, err := l.TryLock(t.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, lock.Unlock(t.Context()))
	require.NoError(t, l.Close(t.Context()))
	require.ErrorIs(t, l.core.owned[0].Ping(t.Context()).Err(), redis.ErrClosed)
	require.NoError(t, l.Close(t.Context()), "and so again")

	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	l, err = New([]*redis.Client{client})
	require.NoError(t, err)
	require.NoError(t, l.Close(t.Context()))
	require.NoError(t, client.Ping(t.Context()).Err())
}

// FuzzURL holds that an error about a URL is one of a few sentences, whatever the URL is, and that a password which is not
// encoded as it must be is never taken for something that may be told.
func FuzzURL(f *testing.F) {
	f.Add("redis", "user", "secret", "/0")
	f.Add("rediss", "", "s%2Fecret", "?db=1")
	f.Add("unix", "/x", "secret", "/run/redis.sock")
	for _, mark := range []string{"/", "?", "#", "@", ":", "%", "[", " ", "\x00", "\\", "?a=", "%2", "é"} {
		f.Add("redis", "user", "12"+mark+"34", "")
		f.Add("redis", "us"+mark+"er", "1234", "/5")
		f.Add("unix", "", "12"+mark+"34", "/run/redis.sock")
	}
	sentences := make(map[string]bool)
	for _, part := range []string{badURL, badScheme, badBehind, badOption, badPath, badSocket} {
		sentences["redlock: invalid argument: url 0: "+part] = true
	}
	f.Fuzz(func(t *testing.T, scheme, user, password, tail string) {
		for _, raw := range []string{
			fmt.Sprintf("%s://%s:%s@127.0.0.1:6379%s", scheme, user, password, tail),
			fmt.Sprintf("%s://%s:%s@%s", scheme, user, password, tail),
			fmt.Sprintf("%s:%s%s", scheme, password, tail),
		} {
			l, err := Open([]string{raw})
			if err != nil {
				require.True(t, sentences[err.Error()], "%q", err)
				continue
			}
			told := l.core.names[0]
			require.NoError(t, l.Close(t.Context()))
			if strings.Contains(raw, "://"+user+":"+password+"@") {
				require.False(t, strings.ContainsAny(user+password, "/?#"), "%q is taken for %q", raw, told)
			}
		}
	})
}
