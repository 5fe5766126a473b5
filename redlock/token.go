package redlock

import "crypto/rand"

// newToken returns a token that no other attempt has: more than 128 bits of crypto/rand, which never fails.
func newToken() string { return rand.Text() }
