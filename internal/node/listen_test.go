package node

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

const (
	subscribed = "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n"
	published  = "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n"
)

// listener is what a Listener told.
type listener struct {
	mu   sync.Mutex // protects what follows
	told []string
	at   []time.Time // of subscriptions that stood
	errs []error
}

func (l *listener) say(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, what)
}

func (l *listener) up(stands bool) {
	l.say(map[bool]string{true: "up", false: "down"}[stands])
	if stands {
		l.at = append(l.at, time.Now())
	}
}

func (l *listener) hear(payload string) { l.say(payload) }

func (l *listener) failed(err error) {
	l.say("failed")
	l.errs = append(l.errs, err)
}

func (l *listener) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.told, " ")
}

// listeningFor runs a Listener over a server that answers subscriptions in turn with these bytes, for so long.
func listeningFor(t *testing.T, d time.Duration, raws ...string) *listener {
	t.Helper()
	l := &listener{}
	overRedis(t, replying(raws...), nil, func(t *testing.T, r *rig, client *redis.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			NewListener(client, r.clock).Listen(ctx, "ch", l.up, l.hear, l.failed)
		}()
		time.Sleep(d)
		synctest.Wait()
		cancel()
		<-over
	})
	return l
}

func TestAListenerHearsWhatIsPublishedUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	l := listeningFor(t, time.Hour, subscribed+published+published)
	require.Equal(t, "up hi hi down", l.all(), "its end is no failure")
}

func TestAListenerSubscribesAgainAfterWhateverFailure(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"the end of the connection":      hangUp,
		"an error":                       "-ERR no\r\n",
		"noise":                          "\x00\xfenoise\r\n" + hangUp,
		"a reply that is none":           ":1\r\n",
		"an array of another kind":       "*3\r\n$5\r\nwhat?\r\n$2\r\nch\r\n:1\r\n",
		"half of a message":              "*3\r\n$7\r\nmessage\r\n" + hangUp,
		"a length of the client's death": "*3\r\n" + hugeLength,
		"an array of that length":        "*9223372036854775800\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listeningFor(t, time.Second, subscribed+raw, subscribed+published)
			require.Equal(t, "up down failed up hi down", l.all())
			require.Error(t, l.errs[0])
			require.Equal(t, minRetry, l.at[1].Sub(l.at[0]))
		})
	}
}

// A node that refuses subscriptions is asked ever more seldom.
func TestAListenerThatIsRefusedAsksSeldom(t *testing.T) {
	t.Parallel()
	const noPerm = "-NOPERM this user has no permissions to access one of the channels used as arguments\r\n"
	l := listeningFor(t, time.Hour, noPerm)
	require.NotContains(t, l.all(), "up")
	require.ErrorContains(t, l.errs[0], "NOPERM")
	require.Less(t, len(l.errs), int(time.Hour/maxRetry)+10)
	require.Greater(t, len(l.errs), int(time.Hour/maxRetry)-10)
}

// One that stood is worth trying again soon, however often it failed before.
func TestAListenerThatStoodStartsAnew(t *testing.T) {
	t.Parallel()
	refused := []string{"-ERR no\r\n", "-ERR no\r\n", "-ERR no\r\n", "-ERR no\r\n", "-ERR no\r\n", "-ERR no\r\n", "-ERR no\r\n"}
	l := listeningFor(t, time.Minute, append(refused, subscribed+hangUp, subscribed)...)
	require.Len(t, l.at, 2)
	require.Equal(t, minRetry, l.at[1].Sub(l.at[0]))
}
