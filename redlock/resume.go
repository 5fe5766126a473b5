package redlock

import "context"

const maxToken = 4096 // bytes: more than any token and label of ours or of a peer

// Resume takes over a lock that was given up with [Lock.Detach], elsewhere mostly, whose token that returned. On each node it puts
// a token of its own in the place of the one given, for a full TTL; so of several that resume the same token at once one has the
// lock at most (none, where they split the nodes between them; then it may be tried again), and nothing the giver still sends has
// an effect. It makes one attempt and returns within the node timeout (of a fenced lock twice that), or when ctx ends.
//
// The key and the options must be those of the giver. A fenced lock gets a new fence, larger than the giver's. Without the giver's
// [WithKeys] only this key is taken over, and the others run out; without [WithFencing] Fence is 0. ErrLost: a majority of the nodes
// did not carry the token: the lock ran out, or somebody else resumed it, or tried to at the same moment. ErrNoQuorum, ErrTooSlow, and the error of
// ctx: it was not had, and is being put back as it was; Resume may be called again.
func (l *Locker) Resume(ctx context.Context, key, token string, opts ...LockOption) (*Lock, error) {
	c, err := l.call(ctx, "resume", key, opts)
	if err != nil {
		return nil, err
	}
	if token == "" || len(token) > maxToken {
		return nil, invalid("token of %d bytes is not from 1 to %d", len(token), maxToken)
	}
	c.from = token
	lock, r, err := c.attempt(ctx, 1, true, nil)
	if err != nil {
		return nil, c.explain(ctx, r, err)
	}
	return lock, nil
}
