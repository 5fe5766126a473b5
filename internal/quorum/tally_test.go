package quorum_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// walk is one history of a round: what the tally was told, and what the oracle
// knows of it.
type walk struct {
	tally quorum.Tally
	past  roundPast
	votes [quorum.MaxNodes]quorum.Vote
}

func newWalk(n int) walk {
	return walk{tally: quorum.NewTally(n), past: roundPast{nodes: int8(n)}}
}

// vote returns the history with one more vote, and what the tally did wrong.
func (w walk) vote(node int, v quorum.Vote) (walk, error) {
	next := w
	if !next.tally.Record(node, v) {
		return next, fmt.Errorf("a first vote was not taken: %+v node %d %v", w, node, v)
	}
	next.votes[node] = v
	next.past = w.past.with(v)
	return next, next.kept(w)
}

// expire returns the history with its time at an end, and what the tally did wrong.
func (w walk) expire() (walk, error) {
	next := w
	next.tally.Expire()
	next.past.expired = true
	return next, next.kept(w)
}

// kept returns an error if a verdict or class was taken back.
func (w walk) kept(before walk) error {
	if v := before.tally.Verdict(); v != quorum.VerdictOpen && v != w.tally.Verdict() {
		return fmt.Errorf("a verdict changed: %+v: %v, then %+v: %v", before, v, w, w.tally.Verdict())
	}
	if c := before.tally.Class(); c != quorum.ClassOpen && c != w.tally.Class() {
		return fmt.Errorf("a class changed: %+v: %v, then %+v: %v", before, c, w, w.tally.Class())
	}
	return nil
}

// agrees returns an error unless the tally says what the oracle says.
func (w walk) agrees(o roundOracle) error {
	verdict, class := o.decide(w.past)
	if w.tally.Verdict() != verdict || w.tally.Class() != class {
		return fmt.Errorf("the tally contradicts the definition: %+v: %v, %v; want %v, %v",
			w, w.tally.Verdict(), w.tally.Class(), verdict, class)
	}
	var counts [quorum.Unsent + 1]int
	for node := range int(w.past.nodes) {
		if w.tally.Vote(node) != w.votes[node] {
			return fmt.Errorf("a vote was not kept: %+v node %d", w, node)
		}
		counts[w.votes[node]]++
	}
	if counts != [...]int{w.tally.Open(), w.tally.Granted(), w.tally.Refused(), w.tally.Unknown(), w.tally.Unsent()} {
		return fmt.Errorf("the counts are wrong: %+v", w)
	}
	return nil
}

// explorer visits every history of a round and counts them. Two histories that
// led to the same state, of tally and of oracle, have the same continuations:
// those are visited once and counted twice.
type explorer struct {
	oracle  roundOracle
	visited map[walk]int // the histories that continue a state, itself included
}

// explore takes every step there is: each open node next, with each vote, or the
// end of the time, once.
func (e *explorer) explore(w walk) (int, error) {
	if known, ok := e.visited[w]; ok {
		return known, nil
	}
	if err := w.agrees(e.oracle); err != nil {
		return 0, err
	}
	histories := 1
	step := func(next walk, err error) error {
		if err != nil {
			return err
		}
		continued, err := e.explore(next)
		histories += continued
		return err
	}
	if !w.past.expired {
		if err := step(w.expire()); err != nil {
			return 0, err
		}
	}
	for node := range int(w.past.nodes) {
		if w.votes[node] != quorum.VoteOpen {
			continue
		}
		for _, v := range allVotes {
			if err := step(w.vote(node, v)); err != nil {
				return 0, err
			}
		}
	}
	e.visited[w] = histories
	return histories, nil
}

func TestEveryRoundOfUpToFiveNodesIsDecidedAsDefined(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		e := explorer{roundOracle{}, map[walk]int{}}
		visited, err := e.explore(newWalk(n))
		require.NoError(t, err)

		// Every prefix of every order of every vector of votes, with the time
		// ending before each of its votes, after the last, or not at all.
		want, prefixes := 0, 1
		for k := 0; k <= n; k++ {
			want += prefixes * (k + 2)
			prefixes *= (n - k) * len(allVotes)
		}
		require.Equal(t, want, visited, "histories of %d nodes", n)
	}
}

func TestRandomRoundsOfMoreNodesAreDecidedAsDefined(t *testing.T) {
	t.Parallel()
	for _, n := range []int{6, 7, 8, 9, 16, 33, quorum.MaxNodes} {
		o := roundOracle{}
		for seed := range uint64(50) {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			// Votes that lean one way meet the bounds more often than even ones.
			leaning := allVotes[random.IntN(len(allVotes))]
			expireAt := random.IntN(2 * n)
			w, err := newWalk(n), error(nil)
			for i, node := range random.Perm(n) {
				if i == expireAt {
					w, err = w.expire()
					require.NoError(t, errors.Join(err, w.agrees(o)))
				}
				v := leaning
				if random.IntN(2) == 0 {
					v = allVotes[random.IntN(len(allVotes))]
				}
				w, err = w.vote(node, v)
				require.NoError(t, errors.Join(err, w.agrees(o)))
			}
		}
	}
}

func TestFirstVoteOfANodeStands(t *testing.T) {
	t.Parallel()
	for _, first := range allVotes {
		for _, second := range allVotes {
			tally := quorum.NewTally(3)
			require.True(t, tally.Record(1, first))
			before := tally
			require.False(t, tally.Record(1, second))
			require.Equal(t, before, tally, "%v, then %v", first, second)
		}
	}
}

func TestTwoNodesWithOneDownLackAQuorumAndAreNotTaken(t *testing.T) {
	t.Parallel()
	tally := quorum.NewTally(2)
	tally.Record(0, quorum.Granted)
	require.Equal(t, quorum.VerdictOpen, tally.Verdict())
	tally.Record(1, quorum.Unsent)
	require.Equal(t, quorum.Lost, tally.Verdict())
	require.Equal(t, quorum.NoQuorum, tally.Class())
}

func TestMajorityThatCameTooLateIsTooSlow(t *testing.T) {
	t.Parallel()
	tally := quorum.NewTally(5)
	tally.Record(0, quorum.Granted)
	tally.Record(1, quorum.Granted)
	tally.Expire()
	require.Equal(t, quorum.Lost, tally.Verdict())
	require.Equal(t, quorum.ClassOpen, tally.Class(), "the third node decides why")
	tally.Record(2, quorum.Granted)
	require.Equal(t, quorum.Lost, tally.Verdict())
	require.Equal(t, quorum.TooSlow, tally.Class())
}

func TestExpiryDoesNotTakeBackAWonRound(t *testing.T) {
	t.Parallel()
	tally := quorum.NewTally(5)
	for node := range tally.Quorum() {
		tally.Record(node, quorum.Granted)
	}
	tally.Expire()
	tally.Expire()
	require.Equal(t, quorum.Won, tally.Verdict())
	require.Equal(t, quorum.ClassOpen, tally.Class())
}

func TestUnknownVotesNeverMakeALockTaken(t *testing.T) {
	t.Parallel()
	for n := 1; n <= quorum.MaxNodes; n++ {
		tally := quorum.NewTally(n)
		for node := range n {
			tally.Record(node, quorum.Unknown)
		}
		require.Equal(t, quorum.Lost, tally.Verdict(), "nodes %d", n)
		require.Equal(t, quorum.NoQuorum, tally.Class(), "nodes %d", n)
	}
}
