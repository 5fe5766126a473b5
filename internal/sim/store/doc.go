// Package store is what one Redis server keeps, in memory and on a time that its caller gives: for tests in bubbles, and for
// simulations, that must run the very scripts the library sends.
//
// A [Store] knows the commands of a lock and no others. It runs Lua, and answers as a server of version 7 does with RESP2, down
// to what becomes of a number on its way. Where it cannot do as a server does it refuses: see [Store.Do].
//
// # Time
//
// A store takes no reading of any clock. Each command is run at the time that [Store.Do] is given; the node's own clock shows
// that time and its offset. As on a server a key carries the moment of its end by the node's clock: a clock that is put forward
// while keys live ends them early, and one that is put back gives them a longer life. A server counts in milliseconds, and may
// keep a key for a part of one longer; a store does not.
package store
