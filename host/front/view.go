package front

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Caller makes the calls of one person or program. It is safe for concurrent use and holds no state.
type Caller struct {
	client *lifecycle.Client
	actor  lifecycle.Actor
}

// For returns the caller for an actor, whom the host has identified. Actor.Via should name the
// protocol.
func For(client *lifecycle.Client, actor lifecycle.Actor) *Caller {
	return &Caller{client: client.As(actor), actor: actor}
}

// Actor returns the caller's identity.
func (c *Caller) Actor() lifecycle.Actor { return c.actor }

// Client returns the client that acts as the caller.
func (c *Caller) Client() *lifecycle.Client { return c.client }

// View is a run as one caller sees it at one moment.
type View struct {
	Run lifecycle.Run
	// Asks are the open questions that the caller may answer now, in the order of their numbers. A
	// protocol asks for these only.
	Asks []lifecycle.Question
	// Absent names, by number of a question in Asks, the person for whom the caller answers as a
	// deputy.
	Absent map[int]string
	// Others are the open questions that the caller may not answer now: asked of others, claimed by
	// another person, voted on by the caller, or hidden while the host's policy decides.
	Others []lifecycle.Question
	// Recheck is the earliest time at which a claim on a question in Others ends, or a hidden
	// question becomes visible. No event reports either. Zero: none.
	Recheck time.Time
}

// Load reads the run.
func (c *Caller) Load(ctx context.Context, run string) (View, error) {
	r, err := c.client.Get(ctx, run)
	if err != nil {
		return View{}, err
	}
	actor := c.actor
	if len(r.Open) > 0 {
		actor = c.client.WithPrincipals(ctx, actor)
	}
	return c.viewOf(r, actor), nil
}

func (c *Caller) viewOf(r lifecycle.Run, actor lifecycle.Actor) View {
	v := View{Run: r}
	now := c.client.Now()
	for _, q := range r.Open {
		hidden := q.Hidden(now)
		by, may := represents(&q, actor, now)
		if !hidden && may && !q.Claim.Excludes(by, now) {
			v.Asks = append(v.Asks, q)
			if by.For != "" {
				if v.Absent == nil {
					v.Absent = make(map[int]string)
				}
				v.Absent[q.ID] = by.For
			}
			continue
		}
		v.Others = append(v.Others, q)
		if !may {
			continue
		}
		again := q.HiddenUntil()
		if !hidden {
			again = q.Claim.Until
		}
		if v.Recheck.IsZero() || again.Before(v.Recheck) {
			v.Recheck = again
		}
	}
	return v
}

// represents returns the actor as the one who may answer the open question, perhaps as a deputy. An
// actor whom the host has identified as a deputy (Actor.For) stays one.
func represents(q *lifecycle.Question, actor lifecycle.Actor, now time.Time) (by lifecycle.Actor, ok bool) {
	if actor.For != "" {
		return actor, q.To.Admits(actor) && q.VoteOf(actor) == nil
	}
	return q.Represents(actor, now)
}

// Ended reports whether the run has ended.
func (v *View) Ended() bool { return v.Run.State.Terminal() }

// Settled reports whether it is the caller's turn: the run has ended, or waits for an answer that
// the caller may give. Otherwise the run works, or waits for others.
func (v *View) Settled() bool { return v.Ended() || len(v.Asks) > 0 }

// maxStatus limits the text of Status, in bytes.
const maxStatus = 500

// Status describes the current activity of the run for people, in one line.
func (v *View) Status() string {
	text := v.status()
	if len(text) > maxStatus {
		text = text[:interaction.Break(text, maxStatus)] + " …"
	}
	return text
}

func (v *View) status() string {
	r := &v.Run
	switch {
	case v.Ended():
		return string(r.State)
	case len(v.Asks) == 1:
		return "waits for your answer"
	case len(v.Asks) > 1:
		return fmt.Sprintf("waits for your answers to %d questions", len(v.Asks))
	case r.Block != nil:
		return blocked(r.Block)
	case len(v.Others) > 0:
		return v.waitsForOthers()
	case r.State == lifecycle.StateQueued && r.Attempt == 0:
		return "waits to be started"
	}
	return "is working"
}

func (v *View) waitsForOthers() string {
	q := &v.Others[0]
	if !v.Recheck.IsZero() && q.HiddenFor > 0 {
		return "waits for the host's policy"
	}
	text := "waits for " + interaction.Visible(q.To.String())
	if q.DecidedBySeveral() {
		text = fmt.Sprintf("waits for more votes (%d of %d) of %s", q.Count(lifecycle.Approve), max(int(q.Need), 1),
			interaction.Visible(q.To.String()))
	}
	if !v.Recheck.IsZero() && q.Claim != nil {
		text = fmt.Sprintf("%s works on the question until %s", interaction.Visible(q.Claim.Actor),
			v.Recheck.UTC().Format(time.RFC3339))
	}
	if _, end := v.Run.EndOf(q); !end.IsZero() {
		text += ", at most until " + end.UTC().Format(time.RFC3339)
	}
	return text
}

// blocked describes why a run cannot continue now.
func blocked(b *lifecycle.Block) string {
	text := map[store.BlockKind]string{store.BlockRetry: "retries after a failure",
		store.BlockSleep: "sleeps", store.BlockChildren: "waits for the runs that it has started",
		store.BlockHeld: "is held until an operator decides"}[b.Kind]
	if text == "" {
		text = "cannot continue now"
	}
	if !b.Until.IsZero() {
		text += ", next attempt at " + b.Until.UTC().Format(time.RFC3339)
	}
	if b.Kind == store.BlockHeld && b.Reason != "" {
		text += ": " + interaction.VisibleProse(strings.ToValidUTF8(b.Reason, "�"))
	}
	return text
}
