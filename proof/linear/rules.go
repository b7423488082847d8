package linear

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file is the part of the model about hosts' policies, remembered decisions (N9), and notes, which
// leave an approval hidden (N7). If hosts
// have a policy, each new approval is hidden until the policy decides, or until a person or a step of
// its wait changes the question.

// Says is the answer of the hosts' policy to one question.
type Says struct {
	Ruling interaction.Ruling
	Limit  int  // the rule decides at most this many questions of a run; 0: any number
	Fails  bool // the policy fails: people decide
	Never  bool // the policy does not return in time: nothing is stored
}

// Ruled is the part of a node's commit that decides an approval without people.
type Ruled struct {
	Question int
	By       string // the policy's rule, or a remembered decision
	Decision interaction.Decision
	Text     string
	Says     Says
}

// ruledBy returns the decision of a commit by a policy or a remembered decision, without Says, and its
// question; nil for other commits.
func ruledBy(c *store.Commit) (*Ruled, *interaction.Question) {
	own := func(actor string) bool { return interaction.IsPolicy(actor) || interaction.MemoryOf(actor) > 0 }
	for i := range c.Settled {
		if r := &c.Settled[i]; own(r.Actor) {
			return &Ruled{Question: r.Question.ID, By: r.Actor, Decision: r.Decision, Text: r.Response}, &r.Question
		}
	}
	for i := range c.Events {
		var changed fcmp.Changed
		e, err := fcmp.Decode(c.Events[i].Body)
		if err != nil || e.Type != fcmp.TypeChanged || e.Decode(&changed) != nil || !own(changed.Actor) {
			continue
		}
		return &Ruled{Question: changed.InteractionID, By: changed.Actor}, c.Run.OpenQuestion(changed.InteractionID)
	}
	return nil, nil
}

// hiddenOf lists the hidden questions of a record, each with the end of its hiding time in microseconds.
func hiddenOf(r *store.Run) (text string) {
	for i := range r.Open {
		if q := &r.Open[i]; q.HiddenFor > 0 {
			text += fmt.Sprintf("%d %d\n", q.ID, q.HiddenUntil().UnixMicro())
		}
	}
	return text
}

// memoriesOf lists the remembered decisions of a record: the question, the tool, the covered
// arguments and the audience.
func memoriesOf(r *store.Run) (text string) {
	for i := range r.Remembered {
		m := &r.Remembered[i]
		covers := "any"
		switch {
		case len(m.Equal) > 0:
			covers = "equal:" + m.Equal[0].Digest
		case len(m.Most) > 0:
			covers = "most:" + m.Most[0].Limit
		}
		text += fmt.Sprintf("%d %s %s %s\n", m.ID, m.Tool, covers, TextOfAudience(m.To))
	}
	return text
}

// call returns the tool of an approval and its argument n.
func call(s *interaction.Subject) (tool, n string) {
	var arguments struct {
		N json.Number `json:"n"`
	}
	_ = json.Unmarshal(s.Arguments, &arguments) // without the argument, n is empty
	return s.Tool, arguments.N.String()
}

// textOfBound describes which later calls a reply covers; empty if none.
func textOfBound(m *interaction.Remember) string {
	switch {
	case m == nil:
		return ""
	case len(m.Equal) > 0:
		return "equal"
	case len(m.Most) > 0:
		return "most:" + m.Most[0].Limit
	}
	return "any"
}

// remember returns the remembered decisions after the reply to an open question.
func (now run) remember(r interaction.Reply) (lines string) {
	covers := textOfBound(r.Remember)
	if covers == "" {
		return now.Remembered
	}
	f := strings.Fields(of(now.calls, r.ID)[0])
	if covers == "equal" {
		covers += ":" + digest(f[2])
	}
	return with(now.Remembered, r.ID, f[1], covers, now.to(r.ID))
}

// coversItself reports whether the reply's bound covers the call that it approves.
func (now run) coversItself(r interaction.Reply) bool {
	n := strings.Fields(of(now.calls, r.ID)[0])[2]
	return textOfBound(r.Remember) == "equal" || covers(textOfBound(r.Remember), n)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// memoryFor returns the oldest remembered decision that covers the open question; 0: none does.
func (now run) memoryFor(question int) int {
	calls := of(now.calls, question)
	if len(calls) == 0 || now.policy(question).several() || len(of(now.Claims, question)) > 0 {
		return 0
	}
	asked := strings.Fields(calls[0])
	for line := range strings.Lines(now.Remembered) {
		f := strings.Fields(line)
		if f[1] != asked[1] || f[3] != now.to(question) || !covers(f[2], asked[2]) {
			continue
		}
		id, _ := strconv.Atoi(f[0]) // with wrote a number
		return id
	}
	return 0
}

// covers reports whether the bound of a remembered decision covers a call with the argument n.
func covers(bound, n string) bool {
	if want, ok := strings.CutPrefix(bound, "equal:"); ok {
		return want == digest(n)
	}
	if most, ok := strings.CutPrefix(bound, "most:"); ok {
		limit, _ := strconv.Atoi(most) // the people of a history name whole numbers
		have, _ := strconv.Atoi(n)     // likewise its agents
		return have <= limit
	}
	return true
}

// forget ends a remembered decision, in any state of the run.
func (m *Model) forget(now run, question int) (run, Output) {
	if len(of(now.Remembered, question)) == 0 {
		return now, Output{Err: NotFound}
	}
	now.Remembered = without(now.Remembered, question)
	now.Version++
	now.Seq++
	return now, Output{}
}

// note adds a person's note to an open question. A repeated note gets its receipt again.
func (m *Model) note(now run, in Input) (run, Output) {
	r := in.Reply
	line := []string{r.Actor.ID + "/" + r.Actor.For, r.Text, r.Key}
	notes := of(now.notes, r.ID)
	known, conflict := 0, false
	for i, earlier := range notes {
		if f := strings.Fields(earlier)[1:]; r.Key != "" && len(f) == len(line) && f[2] == r.Key {
			known, conflict = i+1, !slices.Equal(f, line)
		}
	}
	open := slices.Contains(now.open(), r.ID)
	switch {
	case open && in.lacksRight():
		return now, Output{Err: NotDeputy}
	case known > 0 && !conflict:
		return now, Output{Replayed: true, Note: known}
	case open && r.Actor.ID != "" && !now.admitsDeputy(r):
		return now, Output{Err: NotAsked(now.to(r.ID))}
	case conflict:
		return now, Output{Err: KeyConflict}
	case !open:
		return now, now.notOpen(r.ID)
	}
	verdict := m.law.Next(now.State, "interaction.noted", contract.Facts{"pending_matches": true})
	if verdict.Transition == nil {
		return now, against("note: %s", verdict.Code)
	}
	next := now
	next.notes = with(now.notes, r.ID, line...)
	next.Notes = with(without(now.Notes, r.ID), r.ID, strconv.Itoa(len(notes)+1))
	return next.enter(verdict.Transition, now.Owner), Output{Note: len(notes) + 1}
}

// notesOf lists how many notes the open questions of a record have.
func notesOf(r *store.Run) (text string) {
	for i := range r.Open {
		if n := len(r.Open[i].Notes.All()); n > 0 {
			text += fmt.Sprintf("%d %d\n", r.Open[i].ID, n)
		}
	}
	return text
}

// forgetTool ends the remembered decisions about a tool, because the policy has refused a call.
func (now run) forgetTool(tool string) run {
	kept := ""
	for line := range strings.Lines(now.Remembered) {
		if strings.Fields(line)[1] != tool {
			kept += line
		}
	}
	now.Remembered = kept
	return now
}

// shown is the run after a change of the question, which shows it to people.
func (now run) shown(question int) run {
	now.Hidden = without(now.Hidden, question)
	return now
}

// rulings is how many questions the rule has decided.
func (now run) rulings(rule string) (n int) {
	find(now.settled, func(s settled) bool {
		if name, _ := interaction.RuleOf(s.by); name == rule {
			n++
		}
		return false
	})
	return n
}

// ruling returns the required decision about the hidden question and its actor: a rule of the policy,
// or, if the policy leaves the question to people, a remembered decision. Without either, people
// decide.
func (now run) ruling(question int, s *Says) (by string, r interaction.Ruling) {
	people := (&interaction.Ruling{}).Actor().ID
	r = s.Ruling
	switch {
	case s.Fails:
		return people, interaction.Ruling{}
	case s.Limit > 0 && now.rulings(r.Rule) >= s.Limit:
		r = interaction.Ruling{}
	}
	if r == (interaction.Ruling{}) {
		if id := now.memoryFor(question); id > 0 {
			return interaction.MemoryActor + strconv.Itoa(id), interaction.Ruling{Decision: interaction.Approve}
		}
		return people, r
	}
	if r.Decision == "" && !now.raise(question, r.Need).enough(question, now.ruledTo(question, &r)) {
		return people, interaction.Ruling{} // too few people could decide
	}
	return r.Actor().ID, r
}

// ruledTo is the audience after the ruling.
func (now run) ruledTo(question int, r *interaction.Ruling) string {
	if r.To == nil {
		return now.to(question)
	}
	return putTo(TextOfAudience(r.To), now.to(question))
}

// raise returns the run after the question's number of approvals was raised to need.
func (now run) raise(question, need int) run {
	f := strings.Fields(of(now.policies, question)[0])
	if p := now.policy(question); need > 1 && need > p.need {
		now.policies = with(without(now.policies, question), question, f[1], strconv.Itoa(need), f[3])
	}
	return now
}

// ruled applies a node's commit that decides a hidden approval or leaves it to people.
func (m *Model) ruled(now run, c *Change) (next run, wrong string) {
	id, is := c.Ruled.Question, c.Ruled
	hidden := of(now.Hidden, id)
	switch {
	case len(hidden) == 0:
		return now, fmt.Sprintf("%s decides question %d, which is not hidden", is.By, id)
	case is.Says.Never:
		return now, fmt.Sprintf("%s decides question %d, and the policy has not returned", is.By, id)
	}
	by, want := now.ruling(id, &is.Says)
	if is.By != by || is.Decision != want.Decision || is.Text != want.Reason {
		return now, fmt.Sprintf("%s decides question %d: %q %q, want %s: %q %q", is.By, id, is.Decision, is.Text, by,
			want.Decision, want.Reason)
	}
	until, _ := strconv.ParseInt(strings.Fields(hidden[0])[1], 10, 64) // startPolicies wrote a number
	if interaction.MemoryOf(by) > 0 && c.After.UpdatedAt.UnixMicro() >= until {
		return now, fmt.Sprintf("%s decides question %d after people see it", by, id)
	}
	if want.Decision == "" {
		verdict := m.law.Next(now.State, c.Event, contract.Facts{"pending_matches": true})
		if c.Event != "interaction.changed" || verdict.Transition == nil {
			return now, fmt.Sprintf("%s in %s: %s", c.Event, now.State, verdict.Code)
		}
		to := now.ruledTo(id, &want)
		return now.raise(id, want.Need).put(id, to).shown(id).enter(verdict.Transition, now.Owner), ""
	}
	if want.Decision == interaction.Reject {
		tool := strings.Fields(of(now.calls, id)[0])[1]
		now = now.forgetTool(tool)
	}
	next, event, code := m.accept(now, settled{id: id, resolution: userReply, by: by,
		said: said(want.Decision, want.Reason, "")}, want.Decision)
	if code != "" || event != c.Event {
		return now, fmt.Sprintf("%s in %s, want %s: %s", c.Event, now.State, event, code)
	}
	return next, ""
}
