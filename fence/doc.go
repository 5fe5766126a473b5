// Package fence is the resource's side of fencing tokens: a guard that turns away whoever holds a lock no longer.
//
// A lease is no proof. A holder that stops past the end of its lock, in a garbage collection, by SIGSTOP, with its virtual
// machine, acts on when it wakes, while another holds the lock. No lock with a timeout can prevent that; the resource can. Every
// acquisition of a fenced lock comes with a number that is higher than all before it, the holder sends it along with every
// write, and the resource refuses a number that is lower than one it has seen.
//
//	tx, err := db.BeginTx(ctx, nil)
//	err = accounts.Row(tx, 7).Admit(ctx, lock.Fence()) // refused: errors.Is(err, fence.ErrStale)
//	// ... the write, in tx ...
//	err = tx.Commit()
//
// This package needs nothing of package redlock: any source of rising numbers will do.
//
// # What is guaranteed
//
// A [Guard] admits a fence that is at least the highest it has admitted, so one holder may write many times, and from then on
// refuses every lower one. Of several callers at once the same holds as if they had come one after the other. What is refused,
// and what failed, leaves the highest fence as it was; after an error whose outcome is not known (a lost reply) it is what it
// was or the caller's own. To ask again with the same fence is always safe: the answer is "admitted", or "stale" where a newer
// holder came in between.
//
// # What is not
//
// Admit alone protects nothing but the number. A holder that stops between Admit and its write can still write late, so the two
// must be one step of the resource:
//
//   - [Memory]: hold the mutex that guards the data across Admit and the write.
//   - [Redis]: [Redis.Run] does both in one script; the data must be on the guard's own server.
//   - [Table]: Admit and the write in one transaction. The guard's row stays locked until it ends.
//
// A guard remembers as long as its memory lasts: the process, the key, the row. A guard that forgets admits a stale fence once
// more. Kept beside the data it protects, it is lost with the data or not at all.
//
// # Errors
//
// [ErrStale], with both numbers in a [*StaleError]: somebody else has the lock; stop, and write nothing. [ErrNoFence]: the
// number is no fence, most likely that of a lock which was taken without fencing; nothing was asked. [ErrNoRow]: the table has
// no such row. [ErrInvalid]: the guard was not made as it must be; nothing was asked. A context that had ended: its error and
// its cause, and nothing was asked. Anything else is the client's or the driver's own error: not admitted, as far as is known.
package fence
