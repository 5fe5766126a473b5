package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// belonging is what somebody else put under a key on one node, between two moments.
type belonging struct {
	value    string
	list     bool          // it is no string but a list with the value
	life     time.Duration // 0: without an end
	from, to time.Time
}

// others let the key of ours run out on some nodes, put something of theirs there, or take theirs away.
func (m *meddler) others(ctx context.Context, random *rand.Rand) error {
	for _, i := range m.nodes {
		look, key := m.tr.looks[i], m.tr.prefix+m.key
		theirs := m.theirs[i] != nil
		var err error
		switch what := random.IntN(10); {
		case what < 2 && theirs:
			delete(m.theirs, i)
			err = look.Del(ctx, key).Err()
		case what < 2:
			err = look.Del(ctx, key).Err()
		case what == 2 && !theirs:
			m.theirs[i], err = takeOver(ctx, look, key, random)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeOver puts something else in the place of what is there: a token, one that is like ours, or what is no lock at all.
func takeOver(ctx context.Context, look *redis.Client, key string, random *rand.Rand) (*belonging, error) {
	b := &belonging{value: fmt.Sprint(foreignToken, random.Uint64())}
	if random.IntN(3) == 0 {
		had, err := look.Get(ctx, key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		if had != "" {
			b.value = []string{had + "x", had[1:], had + " ", had + " somebody else"}[random.IntN(4)]
		}
	}
	switch random.IntN(4) {
	case 0:
	case 1:
		b.life = time.Duration(20+random.IntN(500)) * time.Millisecond
	default:
		b.life = time.Minute + time.Duration(random.IntN(60_000))*time.Millisecond
	}
	b.list = random.IntN(10) == 0
	return b, b.put(ctx, look, key)
}

// put puts it in the place of what is there.
func (b *belonging) put(ctx context.Context, look *redis.Client, key string) error {
	b.from = time.Now()
	_, err := look.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, key)
		if b.list {
			p.RPush(ctx, key, b.value)
			if b.life > 0 {
				p.PExpire(ctx, key, b.life)
			}
		} else {
			p.Set(ctx, key, b.value, b.life)
		}
		return nil
	})
	b.to = time.Now()
	return err
}

// seeScript reads in one step what kind of thing is under a key, what it says, and how long it lives.
var seeScript = redis.NewScript(`
local kind = redis.call('TYPE', KEYS[1]).ok
local value = ''
if kind == 'string' then value = redis.call('GET', KEYS[1]) end
if kind == 'list' then value = table.concat(redis.call('LRANGE', KEYS[1], 0, -1), ',') end
return {kind, value, redis.call('PTTL', KEYS[1])}`)

// check holds that everything of the others is as they left it.
func (m *meddler) check(ctx context.Context) error {
	for i, b := range m.theirs {
		sent := time.Now()
		found, err := seeScript.Run(ctx, m.tr.looks[i], []string{m.tr.prefix + m.key}).Slice()
		if err != nil {
			return err
		}
		least, most := b.life-time.Since(b.from), b.life-sent.Sub(b.to)
		kind, value, left := found[0].(string), found[1].(string), time.Duration(found[2].(int64))*time.Millisecond
		intact := value == b.value && (kind == "list") == b.list
		const rounding = 2 * time.Millisecond
		switch {
		case !intact && b.life > 0 && least <= rounding:
			delete(m.theirs, i) // it ran out
		case !intact:
			return fmt.Errorf("node %d had %+v, and now %v", i, b, found)
		case b.life == 0 && left >= 0, b.life > 0 && (left < least-rounding || left > most+rounding):
			return fmt.Errorf("node %d had %+v, which should live for %v to %v yet, and now %v", i, b, least, most, found)
		}
	}
	return nil
}
