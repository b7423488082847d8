package linear

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Model is the sequential specification of one run. It follows the contract.
type Model struct{ law *contract.Lifecycle }

// NewModel returns the specification for a contract.
func NewModel(law *contract.Lifecycle) *Model { return &Model{law} }

// run is the state of the model: a run at one moment, according to the contract. It is comparable,
// and equal runs have the same future.
type run struct {
	View
	terms   Terms
	settled string // the settled interactions, one on each line
	ballots string // the votes that had a key and settled nothing, in the same form
	// policies describes each open question: see votes.go.
	policies string
	notes    string // the notes on questions, open or settled: the author, the text and the key, likewise
	calls    string // the tool and the argument of each open approval, one on each line
	waits    string // the waits of open questions, one per line
	gone     string // the nodes whose registration has ended, one on each line
	departed string // the departed nodes, and when, likewise
	used     string // the turns' usage, one per line
	forks    string // the forks of this run: ids and requests, one per line
	// inherited is the history of a fork when it began, and begins says how it began: see
	// Forking.Begins.
	inherited, begins string
	// yielded counts the attempts that do not count towards the limit: returned by a shutdown before
	// their engine was called, ended in a hold (J1, J5), or used by a fork to repeat questions (N11).
	// It is counted only for runs with a limit.
	yielded int
}

// The resolutions of interactions, with the names that package interaction uses.
const (
	userReply  = "user_reply"
	autoDecide = "auto_decide_timeout"
	abandoned  = "abandoned"
	superseded = "superseded"
	byDefault  = "default_answer"
)

// Spec returns the model in the form that Decide needs.
func (m *Model) Spec() Spec {
	seed := maphash.MakeSeed()
	return Spec{porcupine.Model{
		Init: func() any { return run{} },
		Step: func(state, input, output any) (bool, any) {
			now := state.(run)     //nolint:forcetypeassert // the model makes no others
			in := input.(Input)    //nolint:forcetypeassert // histories of runs have no others
			out := output.(Output) //nolint:forcetypeassert // likewise
			next, want := m.do(now, in)
			switch {
			case out.Err == NotDeputy && now.mayLackRight(in):
				return true, state
			case in.Kind == Extend && out.Err == RunChanged:
				return now.mayLose(in), state
			}
			// An unknown call returns at the end of time. If it did not happen, the search can
			// put it last, where it changes nothing that anybody saw.
			return out.Unknown || out == want, next
		},
		Hash: func(state any) uint64 {
			return maphash.Comparable(seed, state.(run)) //nolint:forcetypeassert // the model makes no others
		},
		DescribeOperation: func(in, out any) string {
			return describe(in.(Input), out.(Output)) //nolint:forcetypeassert // histories of runs have no others
		},
		DescribeState: func(state any) string {
			return state.(run).describe() //nolint:forcetypeassert // the model makes no others
		},
	}, func(state, in, _ any) string {
		_, want := m.do(state.(run), in.(Input)) //nolint:forcetypeassert // as in Step
		return want.String()
	}}
}

// do is one step of the specification: it returns the run after the call, and the answer.
func (m *Model) do(now run, in Input) (run, Output) {
	switch in.Kind {
	case Leave:
		now.gone += in.Node + "\n"
		return now, Output{}
	case Depart:
		if len(of(now.departed, in.Node)) == 0 {
			now.departed += fmt.Sprintln(in.Node, in.Departed)
		}
		if now.State == "waiting_user" && !now.Slot && now.Owner == in.Node && now.hasSession() { // TR-14
			now.Recovery = "recovered_waiting"
		}
		return now, Output{}
	case Submit:
		return m.submit(now, in.Terms)
	case StartFork:
		return m.startFork(now, in.Source, in.Fork)
	}
	if now.State == "" {
		return now, Output{Err: NotFound}
	}
	switch in.Kind {
	case Reply:
		return m.reply(now, in)
	case ClaimQuestion, ReleaseQuestion:
		return m.claimQuestion(now, in)
	case Reassign:
		return m.reassign(now, in)
	case Forget:
		return m.forget(now, in.Reply.ID)
	case Note:
		return m.note(now, in)
	case Cancel:
		return m.cancel(now)
	case Resume:
		return m.resume(now, in.Resume)
	case Extend:
		return m.extend(now, in.Until)
	case Get:
		return now, Output{Seen: now.View}
	case Fork:
		return m.fork(now, in.Fork)
	case FindForks:
		return now, Output{Forks: now.forksOf()}
	case ReadUsage:
		return now, Output{Used: now.usage()}
	case Claim:
		return m.claim(now, in)
	case Write:
		return m.write(now, in.Change)
	}
	return now, Output{Err: "the model does not know this call"}
}

func (m *Model) submit(now run, terms Terms) (run, Output) {
	switch {
	case now.State == "":
		begin := m.law.Submission
		now.View = View{State: begin.To, Version: 1, Seq: uint64(len(begin.Emits)), Recovery: "none",
			Limit: terms.Budget}
		now.terms = terms
	case now.terms.Digest != terms.Digest:
		return now, Output{Err: OtherSpec}
	}
	return now, Output{Seen: now.View}
}

// reply is a person's reply (C4, C5, C8).
func (m *Model) reply(now run, in Input) (run, Output) {
	r := in.Reply
	if known, ok := now.byKey(r.Key); ok {
		if known.body != bodyOf(r, known.several) {
			return now, Output{Err: KeyConflict}
		}
		if known.withholdsReceipt(r.Actor.ID) {
			return now, Output{Err: SettledAs(known.resolution, now.State)}
		}
		return now, Output{Replayed: true}
	}
	asked := now.policy(r.ID)
	if !slices.Contains(now.open(), r.ID) {
		return now, now.notOpen(r.ID)
	}
	if refused := now.mayNotAnswer(in); refused != "" {
		return now, Output{Err: refused}
	}
	if asked.several() && !now.decides(r) {
		return m.vote(now, r)
	}
	votes := ""
	if asked.several() {
		now.Voted++
		votes = now.castOn(r.ID, r)
	}
	now.Remembered = now.remember(r)
	next, event, code := m.accept(now, settled{id: r.ID, resolution: userReply, key: r.Key,
		body: bodyOf(r, asked.several()), several: asked.several(), by: r.Actor.ID,
		said: said(r.Decision, r.Text, votes)}, r.Decision)
	if code != "" {
		return now, against("%s: %s", event, code)
	}
	return next, Output{}
}

// accept settles an open question by an answer with this decision. The code is empty if the contract
// allows the event.
func (m *Model) accept(now run, s settled, d interaction.Decision) (next run, event, code string) {
	met := now.Siblings == "" || now.Replies+1 >= now.Needs || now.Stops && d == interaction.Reject
	event = "interaction.reply.accepted"
	if !met {
		event = "interaction.recorded"
	}
	verdict := m.law.Next(now.State, event, contract.Facts{"pending_matches": true, "rule_met": met})
	if verdict.Transition == nil {
		return now, event, verdict.Code
	}
	next = now.settle(s)
	if !met {
		next.Replies++
		return next.enter(verdict.Transition, now.Owner), event, ""
	}
	next.Seq += uint64(len(next.open())) // an event for each that is closed without an answer
	next = next.settleAll(superseded)
	if now.Asked == 0 {
		next.Answer = answer(s.id, userReply, s.said)
	}
	return next.enter(verdict.Transition, "").holdSpent(), event, ""
}

func (m *Model) cancel(now run) (run, Output) {
	verdict := m.law.Next(now.State, "run.canceled", nil)
	if verdict.Transition == nil {
		return now, Output{Err: Ended(now.State)}
	}
	next := now.settleAll(abandoned)
	next.Code = verdict.Transition.Error
	return next.enter(verdict.Transition, ""), Output{}
}

// resume applies an operator's decision about a held run (J1, J5). It refuses a decision whose
// version is not the run's present version.
func (m *Model) resume(now run, r lifecycle.Resume) (run, Output) {
	switch {
	case m.law.Terminal(now.State):
		return now, Output{Err: Ended(now.State)}
	case r.Version != 0 && r.Version != now.Version:
		return now, Output{Err: RunChanged}
	case now.Held == "":
		return now, Output{Err: NotHeld}
	case !now.allowsResume(r):
		return now, Output{Err: NotOffered}
	}
	event := "run.unblocked"
	if r.Choice == lifecycle.ChoiceEnd {
		event = "run.given_up"
	}
	verdict := m.law.Next(now.State, event, now.facts())
	if verdict.Transition == nil {
		return now, against("%s: %s", event, verdict.Code)
	}
	next, code := now, now.Held
	next.Held = ""
	if event == "run.unblocked" {
		if r.Choice == lifecycle.ChoiceRaise {
			next.Limit = raised(now.Limit, r.Budget)
		}
		return next.enter(verdict.Transition, now.Owner).holdSpent(), Output{}
	}
	next = next.settleAll(abandoned)
	next.Code = code
	return next.enter(verdict.Transition, ""), Output{}
}

// enter applies the implications of a transition, whichever call fires it. It counts the required
// events; the writer reports the optional ones.
func (now run) enter(t *contract.Transition, node string) run {
	next := now
	next.State = t.To
	next.Version++
	for _, e := range t.Emits {
		if e.Count == "one" || e.Count == "some" {
			next.Seq++
		}
	}
	switch t.Slot {
	case "acquire":
		next.Slot = true
	case "release":
		next.Slot = false
	}
	switch t.To {
	case "queued":
		if !next.Slot {
			next.Owner = ""
		}
	case "waiting_user":
		next.Owner = node
	case "running":
		next.Owner = node
		next.Attempt++
		if next.Limit != (store.Budget{}) {
			next.Used.Turns++
		}
	default:
		next.Owner, next.Answer, next.Held, next.Remembered = "", "", "", ""
		next.Asked, next.Needs, next.Replies, next.Stops, next.Inherits = 0, 0, 0, false, false
	}
	return next
}

// settled is a settled interaction, or a vote.
type settled struct {
	id                    int
	resolution, key, body string
	several               bool   // several people decided it
	by                    string // the author of the reply
	// The rest is for forks: the turn that asked and its rule, the policy with the last audience
	// (TextOfPolicy), the question's own wait (TextOf), and the words of a person.
	attempt                  int
	rule, policy, wait, said string
}

func (s settled) line() string {
	return strings.Join([]string{strconv.Itoa(s.id), s.resolution, s.key, s.body, strconv.FormatBool(s.several),
		s.by, strconv.Itoa(s.attempt), s.rule, s.policy, s.wait, strings.ReplaceAll(s.said, "\n", ";"),
	}, fieldSeparator) + "\n"
}

// withholdsReceipt reports whether the receipt of the reply is not returned to the person: if the
// question had an audience, it belongs to the author and to the host (C5).
func (s settled) withholdsReceipt(person string) bool {
	_, to := policyOf(s.policy)
	return to != anybody && person != "" && person != s.by
}

const fieldSeparator = "\x1f"

// open returns the numbers of the open questions.
func (now run) open() (all []int) {
	if now.Pending != 0 {
		all = append(all, now.Pending)
	}
	for _, field := range strings.Fields(now.Siblings) {
		n, _ := strconv.Atoi(field) // settle and follow wrote numbers
		all = append(all, n)
	}
	return all
}

// settleAll closes all open questions.
func (now run) settleAll(resolution string) run {
	for _, id := range now.open() {
		now = now.settle(settled{id: id, resolution: resolution})
	}
	return now
}

// settle closes an open question.
func (now run) settle(s settled) run {
	s.attempt, s.rule = now.Attempt, textOfRule(now.Asked, now.Needs, now.Stops)
	s.policy, s.wait = now.textOfPolicy(s.id), now.textOfWait(s.id)
	now.Claims, now.Votes = without(now.Claims, s.id), without(now.Votes, s.id)
	now.To, now.policies = without(now.To, s.id), without(now.policies, s.id)
	now.Hidden, now.calls = without(now.Hidden, s.id), without(now.calls, s.id)
	now.Notes = without(now.Notes, s.id)
	open := slices.DeleteFunc(now.open(), func(n int) bool { return n == s.id })
	now = now.dropWait(s.id)
	now.settled += s.line()
	if now.Pending, now.Siblings = 0, ""; len(open) == 0 {
		now.Deadline = 0
		return now
	}
	now.Pending = open[0]
	now.Siblings = strings.Trim(fmt.Sprint(open[1:]), "[]")
	return now
}

func find(lines string, match func(settled) bool) (settled, bool) {
	for line := range strings.Lines(lines) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), fieldSeparator)
		id, _ := strconv.Atoi(f[0])      // line wrote a number
		attempt, _ := strconv.Atoi(f[6]) // likewise
		if s := (settled{id, f[1], f[2], f[3], f[4] == "true", f[5], attempt, f[7], f[8], f[9], f[10]}); match(s) {
			return s, true
		}
	}
	return settled{}, false
}

func (now run) byKey(key string) (settled, bool) {
	return find(now.settled+now.ballots, func(s settled) bool { return key != "" && s.key == key })
}

func (now run) byID(id int) (settled, bool) {
	return find(now.settled, func(s settled) bool { return s.id == id })
}

// resolution is how the interaction was settled.
func (now run) resolution(id int) string {
	known, _ := now.byID(id)
	return known.resolution
}

// left reports whether the node's registration has ended.
func (now run) left(node string) bool {
	return node != "" && strings.Contains("\n"+now.gone, "\n"+node+"\n")
}

// missesDeparture reports whether the commit was made from a view of the parked run in which the
// node that parked it was still there.
func (now run) missesDeparture(c *Change) bool {
	if now.State != "waiting_user" || now.Slot || !c.After.HasSession() {
		return false
	}
	for _, line := range of(now.departed, now.Owner) {
		departed, _ := strconv.ParseInt(strings.Fields(line)[1], 10, 64) // do wrote a number
		return now.Owner != "" && (c.After.RecoveredAt.IsZero() || c.After.RecoveredAt.UnixMicro() < departed)
	}
	return false
}
