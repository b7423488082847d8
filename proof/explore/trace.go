package explore

import (
	"fmt"
	"slices"
	"strings"
)

// Counterexample is a shortest sequence of steps that breaks a promise.
type Counterexample struct {
	Scenario Scenario
	// Steps are the actions, each with the state that it led to.
	Steps []Step
	// Broken is the id and the text of the broken promise.
	Broken string
}

// Step is one step of a counter-example.
type Step struct{ Action, State string }

// String returns the counter-example as text, with one line for each step.
func (c *Counterexample) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "a run that is %s\n", c.Scenario)
	for i, s := range c.Steps {
		fmt.Fprintf(&b, "%3d. %s\n     %s\n", i+1, s.Action, s.State)
	}
	fmt.Fprintf(&b, "   ⇒ %s\n", c.Broken)
	return b.String()
}

// trace returns the steps from the start to a state, and one more if last is given.
func (s *search) trace(at uint32, last *Action, next *State, broken string) *Counterexample {
	c := &Counterexample{Scenario: s.scenario, Broken: broken}
	if last != nil {
		c.Steps = append(c.Steps, Step{last.text(s.model), s.text(next)})
	}
	for ; at != 0; at = s.parents[at] {
		c.Steps = append(c.Steps, Step{s.actions[at].text(s.model), s.text(s.seen.at(at))})
	}
	slices.Reverse(c.Steps)
	return c
}

// text describes a state. It leaves out fields with their usual values.
func (s *search) text(st *State) string {
	r := &st.Run
	words := []string{r.State.String()}
	add := func(is bool, format string, args ...any) {
		if is {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(r.Attempt > 0, "turn %d", r.Attempt)
	add(r.Epoch > 0, "epoch %d", r.Epoch)
	add(r.Slot, "slot held")
	add(r.Owner != 0 && r.Owner != former, "owner node %d", r.Owner)
	add(r.Owner == former, "owner gone")
	add(r.Pending != 0, "asks question %d", r.Pending)
	add(r.Deadline != 0, "deadline of question %d", r.Deadline)
	add(st.Due, "which has passed")
	add(r.Fired != 0, "whose step was carried out")
	add(r.Voted != 0, "on which %s has voted", userNames[r.Voted])
	add(r.Claim != 0 && !st.ClaimOver, "claimed by %s", userNames[r.Claim])
	add(r.To != 0, "put to %s alone", userNames[r.To])
	add(r.Answer != 0, "has the answer to question %d", r.Answer)
	for i, how := range r.Settled {
		add(how != unsettled, "question %d %s", i+1, how)
	}
	add(!s.bare && st.Log.State != r.State, "but the events say %s", st.Log.State)
	add(st.Rival, "another run has the slot")
	for i := range s.bounds.Nodes {
		n := &st.Nodes[i]
		add(!n.Up, "node %d is down", i+1)
		add(n.Up && !n.Registered, "node %d has not noticed that its lease expired", i+1)
		add(n.Lapsed, "node %d's lease has run out", i+1)
		add(n.Phase != idle, "node %d %s epoch %d", i+1, phaseNames[n.Phase], n.Epoch)
	}
	return strings.Join(words, ", ")
}

var phaseNames = [...]string{"is idle in", "waits for its claim of", "executes",
	"waits for the acknowledgement of", "is to send the outcome once more of"}
