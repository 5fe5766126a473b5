package store

import (
	"slices"
	"strconv"
	"time"
)

// Lists are never changed in place: a clone of the store shares them.

// list returns the list under the key, which is empty where there is none.
func (s *Store) list(key string) (entry, error) {
	e, ok := s.entry(key)
	if ok && !e.list {
		return entry{}, errWrongType
	}
	e.list = true
	return e, nil
}

// keepList puts the list back under its key, or takes the key away where it is empty.
func (s *Store) keepList(key string, e entry) {
	if len(e.items) == 0 {
		delete(s.keys, key)
		return
	}
	s.keys[key] = e
}

func (s *Store) rpush(args []string) (any, error) {
	e, err := s.list(args[1])
	if err != nil {
		return nil, err
	}
	e.items = slices.Concat(e.items, args[2:])
	s.keepList(args[1], e)
	return int64(len(e.items)), nil
}

func (s *Store) lpush(args []string) (any, error) {
	e, err := s.list(args[1])
	if err != nil {
		return nil, err
	}
	front := slices.Clone(args[2:])
	slices.Reverse(front) // one after the other, each to the head
	e.items = slices.Concat(front, e.items)
	s.keepList(args[1], e)
	return int64(len(e.items)), nil
}

func (s *Store) lpop(args []string) (any, error) {
	e, err := s.list(args[1])
	if err != nil || len(e.items) == 0 {
		return nil, err
	}
	head := e.items[0]
	e.items = e.items[1:]
	s.keepList(args[1], e)
	return head, nil
}

func (s *Store) llen(args []string) (any, error) {
	e, err := s.list(args[1])
	if err != nil {
		return nil, err
	}
	return int64(len(e.items)), nil
}

// lrem removes as many as it is told that are equal, from the tail where the number is negative, and all with 0.
func (s *Store) lrem(args []string) (any, error) {
	count, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return nil, errNumber
	}
	e, err := s.list(args[1])
	if err != nil {
		return nil, err
	}
	items := slices.Clone(e.items)
	if count < 0 {
		slices.Reverse(items)
	}
	most, removed := max(count, -count), int64(0)
	items = slices.DeleteFunc(items, func(item string) bool {
		gone := item == args[3] && (count == 0 || removed != most)
		if gone {
			removed++
		}
		return gone
	})
	if count < 0 {
		slices.Reverse(items)
	}
	e.items = items
	s.keepList(args[1], e)
	return removed, nil
}

func (s *Store) lrange(args []string) (any, error) {
	from, err := strconv.ParseInt(args[2], 10, 64)
	to, err2 := strconv.ParseInt(args[3], 10, 64)
	if err != nil || err2 != nil {
		return nil, errNumber
	}
	e, err := s.list(args[1])
	if err != nil {
		return nil, err
	}
	n := int64(len(e.items))
	if from < 0 {
		from = max(from+n, 0)
	}
	if to < 0 {
		to += n
	}
	to = min(to, n-1)
	out := []any{}
	for ; from <= to; from++ {
		out = append(out, e.items[from])
	}
	return out, nil
}

// subscriber is one that hears what is published on a channel.
type subscriber struct{ hear func(payload string) }

// Subscribe has hear called with all that is published on the channel from now on, in its order, until cancel is called or the
// server restarts ([Store.Forget], [Store.ForgetScripts]). hear is called while the command runs that publishes: it must not block,
// nor call the store. After cancel it is not called any more.
func (s *Store) Subscribe(channel string, hear func(payload string)) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := &subscriber{hear}
	s.channels[channel] = append(s.channels[channel], who)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		rest := slices.DeleteFunc(s.channels[channel], func(o *subscriber) bool { return o == who })
		if s.channels[channel] = rest; len(rest) == 0 {
			delete(s.channels, channel)
		}
	}
}

// Subscribers is how many hear what is published, on all channels together.
func (s *Store) Subscribers() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.channels {
		n += len(all)
	}
	return n
}

func (s *Store) publish(args []string) (any, error) {
	all := s.channels[args[1]]
	for _, who := range all {
		who.hear(args[2])
	}
	return int64(len(all)), nil
}

// List returns what a list holds at a time; nil where there is none.
func (s *Store) List(now time.Time, key string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.keys[key]
	if e.over(now.Add(s.offset)) {
		return nil
	}
	return slices.Clone(e.items)
}

// Lists returns the keys of all lists that are there at a time, sorted.
func (s *Store) Lists(now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for key, e := range s.keys {
		if e.list && !e.over(now.Add(s.offset)) {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}
