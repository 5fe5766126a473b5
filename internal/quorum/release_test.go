package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorumlock/go-redlock/internal/quorum"
)

// place is all that one node can contribute to a release: a voter or not, and
// its answer, if it gave one.
type place struct {
	voter   bool
	answer  quorum.Answer // AnswerOpen: none yet
	mayHold bool
}

// allPlaces returns every place there is: 2 open ones and 20 answered ones.
func allPlaces() []place {
	var places []place
	for _, voter := range [...]bool{false, true} {
		places = append(places, place{voter: voter})
		for _, a := range allAnswers {
			places = append(places, place{voter, a, false}, place{voter, a, true})
		}
	}
	return places
}

// state is a release and what the oracle looks at.
type state struct {
	release quorum.Release
	past    releasePast
}

func newState(n int) state {
	return state{quorum.NewRelease(n), releasePast{nodes: int8(n)}}
}

// put returns the state in which an open node has its place.
func (s state) put(node int, p place) state {
	if p.voter {
		s.release.SetVoter(node)
		s.past.openVoters++
	} else {
		s.past.openOthers++
	}
	if p.answer != quorum.AnswerOpen {
		s.release.Record(node, p.answer, p.mayHold)
		s.past = s.past.with(p.voter, p.voter, p.answer, p.mayHold)
	}
	return s
}

// putAll returns the state in which each node has its place.
func putAll(nodes []place) state {
	s := newState(len(nodes))
	for node, p := range nodes {
		s = s.put(node, p)
	}
	return s
}

// agrees returns an error unless the release says what the oracle says.
func (s state) agrees(o releaseOracle) error {
	outcome, final := o.decide(s.past), s.past.final()
	held := int(s.past.held + s.past.openVoters + s.past.openOthers)
	r := s.release
	if r.Outcome() != outcome || r.Final() != final || r.Held() != held {
		return fmt.Errorf("the release contradicts the definition: %+v: %v, finally %v, held by %d; want %v, %v, %d",
			s, r.Outcome(), r.Final(), r.Held(), outcome, final, held)
	}
	return nil
}

// each visits every assignment of places to n nodes.
func each(places []place, n int, visit func([]place, state)) {
	nodes := make([]place, n)
	var fill func(node int, s state)
	fill = func(node int, s state) {
		if node == n {
			visit(nodes, s)
			return
		}
		for _, p := range places {
			nodes[node] = p
			fill(node+1, s.put(node, p))
		}
	}
	fill(0, newState(n))
}

// What a release says depends on what was recorded and not on the order, so
// every prefix of every order of every set of answers is one of these
// assignments: TestOrderOfAnswersDoesNotMatter shows that.
func TestEveryReleaseOfUpToFourNodesIsDecidedAsDefined(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 4; n++ {
		o := releaseOracle{}
		each(allPlaces(), n, func(_ []place, s state) {
			if err := s.agrees(o); err != nil {
				require.NoError(t, err)
			}
		})
	}
}

// Five nodes have 22^5 assignments. Tried here is every one up to a renaming of
// the nodes, 65,780 of them, each under a random renaming.
func TestEveryReleaseOfFiveNodesIsDecidedAsDefined(t *testing.T) {
	t.Parallel()
	const n = 5
	o, places, random := releaseOracle{}, allPlaces(), rand.New(rand.NewPCG(1, n))
	nodes, visited := make([]place, n), 0
	var fill func(node, from int)
	fill = func(node, from int) {
		if node == n {
			renamed := make([]place, n)
			for i, j := range random.Perm(n) {
				renamed[i] = nodes[j]
			}
			if err := putAll(renamed).agrees(o); err != nil {
				require.NoError(t, err)
			}
			visited++
			return
		}
		for i := from; i < len(places); i++ {
			nodes[node] = places[i]
			fill(node+1, i)
		}
	}
	fill(0, 0)
	require.Equal(t, 65_780, visited)
}

func TestRandomReleasesOfMoreNodesAreDecidedAsDefined(t *testing.T) {
	t.Parallel()
	for _, n := range []int{6, 7, 8, 9} {
		o, places, random := releaseOracle{}, allPlaces(), rand.New(rand.NewPCG(1, uint64(n)))
		for range 2_000 {
			// Mostly voters whose key is gone: an even mix is nearly always lost.
			nodes := make([]place, n)
			for i := range nodes {
				nodes[i] = place{voter: true, answer: quorum.Deleted}
				if random.IntN(3) == 0 {
					nodes[i] = places[random.IntN(len(places))]
				}
			}
			require.NoError(t, putAll(nodes).agrees(o))
		}
	}
}

func TestOrderOfAnswersDoesNotMatter(t *testing.T) {
	t.Parallel()
	orders := [][]int{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	each(allPlaces(), 3, func(nodes []place, inOrder state) {
		for _, order := range orders {
			s := newState(3)
			for _, node := range order {
				s = s.put(node, nodes[node])
			}
			if s != inOrder {
				require.Fail(t, "the order changed the release", "%+v in order %v", nodes, order)
			}
		}
	})
}

// That an outcome never changes follows from agreeing with the oracle, whose set
// of ends only shrinks. Shown here without it: from every assignment every single
// step that is left, an answer, or an open node that turns out to be a voter.
func TestOutcomeOnceSaidNeverChanges(t *testing.T) {
	t.Parallel()
	places := allPlaces()
	each(places, 3, func(nodes []place, s state) {
		said := s.release.Outcome()
		if said == quorum.OutcomeOpen {
			return
		}
		for node := range nodes {
			if nodes[node].answer != quorum.AnswerOpen {
				continue
			}
			for _, p := range places {
				if next := s.put(node, p).release; next.Outcome() != said {
					require.Fail(t, "an outcome changed", "%+v: %v; node %d %+v: %v", nodes, said, node, p, next.Outcome())
				}
			}
		}
	})
}

func TestFirstAnswerOfANodeStands(t *testing.T) {
	t.Parallel()
	places := allPlaces()
	each(places, 2, func(nodes []place, s state) {
		if nodes[0].answer == quorum.AnswerOpen {
			return
		}
		for _, p := range places {
			r := s.release
			if p.voter {
				r.SetVoter(0)
			}
			if p.answer != quorum.AnswerOpen && r.Record(0, p.answer, p.mayHold) || r != s.release {
				require.Fail(t, "an answered node was heard again", "%+v, then %+v", nodes, p)
			}
		}
	})
}
