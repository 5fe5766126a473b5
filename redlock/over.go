package redlock

import "github.com/quorumlock/go-redlock/internal/seam"

func init() { seam.Over = over }

// over is New for a simulation, on transports where New has clients.
func over(on seam.Nodes, opts ...Option) (*Locker, error) {
	s := defaults()
	if err := s.apply(opts); err != nil {
		return nil, err
	}
	if err := s.checkNames(len(on.Names)); err != nil {
		return nil, err
	}
	l := assemble(on.Names, on.Transports, s)
	l.core.listeners, l.core.chance, l.core.group.Settle = on.Listeners, on.Chance, on.Settle
	return l, nil
}
