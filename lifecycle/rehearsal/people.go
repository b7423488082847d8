package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Person is one of the people who answer in a play (Case.People).
type Person struct {
	// Actor is the person: an ID, and the groups that audiences name.
	Actor lifecycle.Actor
	// Reply answers a question that the person may answer, as Case.Reply does. The play sets ID,
	// Key and Actor, and Seen unless Reply has set it.
	Reply func(q lifecycle.Question) lifecycle.Reply
	// Claim, if positive, is how long the person claims each question before replying, unless
	// several people decide it. The reply comes at the next look, an hour later; a shorter claim
	// has ended by then. If the host crashes right after the claim, it comes when the next host
	// serves.
	Claim time.Duration
}

// Says returns the Reply of a person who answers every question with this text.
func Says(text string) func(lifecycle.Question) lifecycle.Reply {
	return func(lifecycle.Question) lifecycle.Reply { return lifecycle.Reply{Text: text} }
}

// Approves is the Reply of a person who approves every call, and answers nothing else.
func Approves(q lifecycle.Question) lifecycle.Reply {
	return decides(q, lifecycle.Reply{Decision: lifecycle.Approve})
}

// Rejects is the Reply of a person who rejects every call for this reason, and answers nothing
// else.
func Rejects(reason string) func(lifecycle.Question) lifecycle.Reply {
	return func(q lifecycle.Question) lifecycle.Reply {
		return decides(q, lifecycle.Reply{Decision: lifecycle.Reject, Text: reason})
	}
}

// Edits is the Reply of a person who approves every call with these arguments instead, encoded as
// JSON, and answers nothing else. Arguments that JSON cannot hold panic.
func Edits(arguments any) func(lifecycle.Question) lifecycle.Reply {
	body, err := json.Marshal(arguments)
	if err != nil {
		panic(fmt.Errorf("rehearsal: edited arguments: %w", err))
	}
	return func(q lifecycle.Question) lifecycle.Reply {
		return decides(q, lifecycle.Reply{Decision: lifecycle.Edit, Value: body})
	}
}

// After is the Reply of a person who waits until a question has been open for so long.
func After(wait time.Duration, reply func(lifecycle.Question) lifecycle.Reply,
) func(lifecycle.Question) lifecycle.Reply {
	return func(q lifecycle.Question) lifecycle.Reply {
		if time.Since(q.AskedAt) < wait {
			return lifecycle.Reply{}
		}
		return reply(q)
	}
}

func decides(q lifecycle.Question, r lifecycle.Reply) lifecycle.Reply {
	if q.Subject == nil {
		return lifecycle.Reply{}
	}
	return r
}

// actsOn has the person claim the question or reply to it. It returns false if the host crashed.
func (p *play) actsOn(person *Person, run string, number int) bool {
	p.Helper()
	client := p.host.As(person.Actor)
	stored, err := client.Get(p.Context(), run)
	if err != nil {
		return p.accepts("look at question", number, err)
	}
	q := stored.OpenQuestion(number)
	now := time.Now()
	if q == nil || !q.To.Admits(person.Actor) || q.VoteOf(person.Actor) != nil || q.Claim.Excludes(person.Actor, now) {
		return true
	}
	claimed := q.Claim.Lasts(now) && person.Actor.Is(q.Claim.Actor)
	if person.Claim > 0 && !claimed && !q.DecidedBySeveral() && now.Sub(q.AskedAt) < nextScan {
		err := client.Claim(p.Context(), run, number, now.Add(person.Claim))
		return p.accepts("claim of question", number, err)
	}
	r := person.Reply(*q)
	if isNone(r) {
		return true
	}
	r.ID, r.Key, r.Actor = number, replyKey(number, person.Actor.ID), person.Actor
	if r.Seen == "" {
		r.Seen = q.Digest()
	}
	_, err = client.Reply(p.Context(), run, r)
	return p.accepts("reply to question", number, err)
}

func isNone(r lifecycle.Reply) bool { return r.Text == "" && r.Value == nil && r.Decision == "" }

// accepts reports an error of what a person did, unless another person or the run's end came first.
// It returns false if the host crashed.
func (p *play) accepts(what string, number int, err error) bool {
	p.Helper()
	switch {
	case err == nil, errors.Is(err, lifecycle.ErrSettled), errors.Is(err, lifecycle.ErrTerminal):
		return true
	case errors.Is(err, errCrashed):
		return false
	}
	p.Errorf("%s %d: %v", what, number, err)
	return true
}
