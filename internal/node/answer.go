package node

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// readAnswer reads an answered question by its shape.
func (o *op) readAnswer() error {
	v, err := o.Result()
	switch {
	case err == redis.Nil: //nolint:errorlint // no script of ours answers with the bare nil reply
		return ErrShape
	case err != nil:
		return err
	case o.ask.question == askInspect:
		return o.ask.reply.readHolding(v)
	case o.ask.question == askQueue:
		o.ask.reply.Queue, _ = v.([]any)
		return nil
	case o.ask.question == askLook:
		return o.ask.reply.readLife(v)
	}
	code, list := v, []any(nil)
	if o.ask.question == askExtend {
		if list, _ = v.([]any); len(list) == 0 {
			return ErrShape
		}
		code = list[0]
	}
	return o.ask.reply.readCode(code, list)
}

func (r *Reply) readCode(code any, list []any) error {
	switch {
	case code == int64(1) && list == nil:
		r.Confirmation = quorum.Confirmed
	case code == int64(1) && len(list) == 2:
		left, ok := list[1].(int64)
		if !ok || left < 0 {
			return ErrShape
		}
		r.Confirmation, r.Short = quorum.Confirmed, Life(left)
	case len(list) < 2 && (code == int64(0) || code == int64(-1)):
		r.Confirmation, r.Foreign = quorum.Gone, code == int64(-1)
	default:
		return ErrShape
	}
	return nil
}

// Life is a life in milliseconds as a node tells it, -1 for one without an end and -2 for nothing there, cut to the longest that a
// lock may have: a key of somebody else's may have centuries, which no Duration holds, and must not come out as a moment.
func Life(millis int64) time.Duration {
	return time.Duration(min(max(millis, -2), quorum.MaxTTL.Milliseconds())) * time.Millisecond
}

func (r *Reply) readLife(v any) error {
	life, ok := v.(int64)
	if !ok || life < -2 {
		return ErrShape
	}
	r.Confirmation, r.Free = quorum.Confirmed, life == -2
	return nil
}

func (r *Reply) readHolding(v any) error {
	list, _ := v.([]any)
	if len(list) != 4 {
		return ErrShape
	}
	life, ok := list[1].(int64)
	if !ok {
		return ErrShape
	}
	token, isText := list[0].(string)
	if !isText && list[0] != nil {
		return ErrShape
	}
	counter, _ := list[2].(string)
	waits, _ := list[3].(int64)
	fence, err := strconv.ParseInt(counter, 10, 64)
	if err != nil {
		fence = 0 // what is no number is no fence
	}
	r.Confirmation = quorum.Confirmed
	r.Holding = Holding{Token: token, Life: Life(life), Fence: fence, Waits: int(waits)}
	return nil
}
