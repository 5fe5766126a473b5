package quorum_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// seat is what one node has contributed to a round of confirmations.
type seat struct {
	voter  bool
	answer quorum.Confirmation // ConfirmationOpen: none yet
}

// term is one history of a round of confirmations: what the extension was told,
// and what the oracles know of it.
type term struct {
	extension quorum.Extension
	past      extensionPast
	seats     [quorum.MaxNodes]seat
}

func newTerm(n int) term {
	return term{extension: quorum.NewExtension(n), past: newExtensionPast(n)}
}

// n returns the number of nodes.
func (w term) n() int { return int(w.past.nodes) }

// tell returns the history in which an open node turns out to be a voter.
func (w term) tell(node int) term {
	w.extension.SetVoter(node)
	w.seats[node].voter = true
	w.past = w.past.told()
	return w
}

// answer returns the history with the answer of an open node.
func (w term) answer(node int, c quorum.Confirmation) term {
	if !w.extension.Record(node, c) {
		panic("a first answer was not taken")
	}
	w.seats[node].answer = c
	w.past = w.past.with(w.seats[node].voter, c)
	return w
}

// expire returns the history with its time at an end.
func (w term) expire() term {
	w.extension.Expire()
	w.past.expired = true
	return w
}

// next returns the history after every single step there is: each open node told
// a voter, each of its answers, and the end of the time, once.
func (w term) next() []term {
	var all []term
	if !w.past.expired {
		all = append(all, w.expire())
	}
	for node := range w.n() {
		if w.seats[node].answer != quorum.ConfirmationOpen {
			continue
		}
		if !w.seats[node].voter {
			all = append(all, w.tell(node))
		}
		for _, c := range allConfirmations {
			all = append(all, w.answer(node, c))
		}
	}
	return all
}

// proofPast returns what the definition of proven loss looks at.
func (w term) proofPast(maybe uint64) proofPast {
	p := proofPast{nodes: w.past.nodes}
	for node, s := range w.seats[:w.n()] {
		carrier := s.voter || maybe>>node&1 == 1
		switch {
		case s.answer == quorum.ConfirmationOpen && carrier:
			p.openCarriers++
		case s.answer == quorum.ConfirmationOpen:
			p.openOthers++
		case s.answer != quorum.Gone && carrier:
			p.kept++
		}
	}
	return p
}

// sets returns the bit sets of the extension by definition.
func (w term) sets() (voters, confirmations, gone, missing uint64) {
	for node, s := range w.seats[:w.n()] {
		b := uint64(1) << node
		switch s.answer {
		case quorum.ConfirmationOpen:
		case quorum.Confirmed:
			confirmations |= b
		case quorum.Gone:
			gone |= b
		case quorum.Unconfirmed:
			missing |= b
		}
		if s.voter && s.answer != quorum.Gone {
			voters |= b
		}
	}
	return voters, confirmations, gone, missing
}

// agrees returns an error unless the extension says what the oracle says and
// keeps what it was told.
func (w term) agrees(o extensionOracle) error {
	e := w.extension
	if want := o.decide(w.past); e.Verdict() != want {
		return fmt.Errorf("the extension contradicts the definition: %+v: %v, want %v", w, e.Verdict(), want)
	}
	voters, confirmations, gone, missing := w.sets()
	if e.Voters() != voters || e.Confirmations() != confirmations || e.Gone() != gone || e.Missing() != missing {
		return fmt.Errorf("the sets are wrong: %+v: voters %b confirmations %b gone %b missing %b",
			w, e.Voters(), e.Confirmations(), e.Gone(), e.Missing())
	}
	for node, s := range w.seats[:w.n()] {
		if e.Confirmed(node) != (s.answer == quorum.Confirmed) {
			return fmt.Errorf("a confirmation was not kept: %+v node %d", w, node)
		}
	}
	return w.deaf()
}

// deaf returns an error if a node that has answered is heard again.
func (w term) deaf() error {
	for node, s := range w.seats[:w.n()] {
		if s.answer == quorum.ConfirmationOpen {
			continue
		}
		e := w.extension
		e.SetVoter(node)
		for _, c := range allConfirmations {
			if e.Record(node, c) || e != w.extension {
				return fmt.Errorf("an answered node was heard again: %+v node %d %v", w, node, c)
			}
		}
	}
	return nil
}

// proves returns what the extension says of loss, and an error unless the oracle
// says the same and the verdict goes with it.
func (w term) proves(o proofOracle, maybe uint64) (bool, error) {
	proven, want := w.extension.Proof(maybe), o.proven(w.proofPast(maybe))
	if proven != want {
		return proven, fmt.Errorf("the proof contradicts the definition: %+v maybe %b: %v, want %v", w, maybe, proven, want)
	}
	if proven && w.extension.Verdict() != quorum.Lost {
		return proven, fmt.Errorf("loss is proven, and the verdict %v: %+v maybe %b", w.extension.Verdict(), w, maybe)
	}
	return proven, nil
}

// seen is what is known of a history whose continuations have all been tried.
type seen struct {
	histories int    // those that continue it, itself included
	proven    uint32 // the sets of maybe, one bit each, with which it proves loss
}

// surveyor visits every history of a round and counts them, each state once, as
// explorer does.
type surveyor struct {
	verdicts extensionOracle
	proofs   proofOracle
	visited  map[term]seen
}

func newSurveyor() surveyor {
	return surveyor{extensionOracle{}, proofOracle{}, map[term]seen{}}
}

func (s surveyor) explore(w term) (seen, error) {
	if known, ok := s.visited[w]; ok {
		return known, nil
	}
	if err := w.agrees(s.verdicts); err != nil {
		return seen{}, err
	}
	here := seen{histories: 1}
	for maybe := range uint64(1) << w.n() {
		proven, err := w.proves(s.proofs, maybe)
		if err != nil {
			return seen{}, err
		}
		if proven {
			here.proven |= 1 << maybe
		}
	}
	for _, next := range w.next() {
		after, err := s.explore(next)
		if err != nil {
			return seen{}, err
		}
		said := w.extension.Verdict()
		if said != quorum.VerdictOpen && said != next.extension.Verdict() || here.proven&^after.proven != 0 {
			return seen{}, fmt.Errorf("a verdict or proof changed: %+v, then %+v", w, next)
		}
		here.histories += after.histories
	}
	s.visited[w] = here
	return here, nil
}

// prefixes returns the number of histories of n nodes, each of which may be told
// a voter, then answer, with the time ending at every moment or not at all.
func prefixes(n int) int {
	// What one node alone can do, by the number of its steps: nothing; be told, or
	// answer; both.
	alone := []int{1, 1 + len(allConfirmations), len(allConfirmations)}
	byLength := []int{1}
	for range n {
		next := make([]int, len(byLength)+2)
		for l, histories := range byLength {
			places := 1 // of the node's steps among all
			for steps, ways := range alone {
				next[l+steps] += histories * places * ways
				places = places * (l + steps + 1) / (steps + 1)
			}
		}
		byLength = next
	}
	all := 0
	for l, histories := range byLength {
		all += histories * (l + 2) // the time ends in one of l + 1 places, or not
	}
	return all
}

func TestEveryExtensionOfUpToFiveNodesIsDecidedAsDefined(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2+4*3+3*4, prefixes(1))
	for n := 1; n <= 5; n++ {
		all, err := newSurveyor().explore(newTerm(n))
		require.NoError(t, err)
		require.Equal(t, prefixes(n), all.histories, "histories of %d nodes", n)
	}
}

func TestRandomExtensionsOfMoreNodesAreDecidedAsDefined(t *testing.T) {
	t.Parallel()
	for _, n := range []int{6, 7, 8, 9, 16, 33, quorum.MaxNodes} {
		verdicts, proofs := extensionOracle{}, proofOracle{}
		for seed := range uint64(50) {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			// Answers that lean one way meet the bounds more often than even ones.
			leaning := allConfirmations[random.IntN(len(allConfirmations))]
			maybe := random.Uint64() & random.Uint64()
			expireAt := random.IntN(2 * n)
			w := newTerm(n)
			check := func() {
				_, err := w.proves(proofs, maybe)
				require.NoError(t, errors.Join(err, w.agrees(verdicts)))
			}
			for i, node := range random.Perm(n) {
				if i == expireAt {
					w = w.expire()
					check()
				}
				if random.IntN(8) > 0 {
					w = w.tell(node)
					check()
				}
				c := leaning
				if random.IntN(2) == 0 {
					c = allConfirmations[random.IntN(len(allConfirmations))]
				}
				w = w.answer(node, c)
				check()
			}
		}
	}
}

// Which nodes maybe holds may change between two questions: some find out that
// they are no voters, and the acquisition may yet wait for others.
func TestProofStaysWhileMaybeGainsNoNodeThatWasCountedOut(t *testing.T) {
	t.Parallel()
	const n = 3
	// later returns every history that continues one, itself included.
	visited := map[term][]term{}
	var later func(w term) []term
	later = func(w term) []term {
		if all, ok := visited[w]; ok {
			return all
		}
		distinct := map[term]bool{w: true}
		for _, next := range w.next() {
			for _, l := range later(next) {
				distinct[l] = true
			}
		}
		all := make([]term, 0, len(distinct))
		for l := range distinct {
			all = append(all, l)
		}
		visited[w] = all
		return all
	}
	gains, counterexamples := 0, 0
	for _, first := range later(newTerm(n)) {
		for maybe := range uint64(1) << n {
			if !first.extension.Proof(maybe) {
				continue
			}
			voters, confirmations, _, missing := first.sets()
			countedOut := (confirmations | missing) &^ (voters | maybe)
			for _, l := range later(first) {
				for then := range uint64(1) << n {
					switch stays := l.extension.Proof(then); {
					case then&countedOut != 0:
						if !stays {
							counterexamples++
						}
					case !stays:
						require.Fail(t, "a proof was taken back", "%+v maybe %b, then %+v maybe %b", first, maybe, l, then)
					case then&^maybe != 0:
						gains++
					}
				}
			}
		}
	}
	require.NotZero(t, gains, "maybe grew, and the proof stayed")
	require.NotZero(t, counterexamples, "the condition is needed")
}
