package linear_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/linear"
)

// This file has the hosts of a world with rules: their policy, the time for which they remember
// decisions, and the directory of deputies (N9, N10).

const (
	hides     = 20 * time.Second // Config.PolicyTimeout
	remembers = 24 * time.Hour   // longer than a history
)

// says is what the policy of both nodes answers to the question.
func (w *world) says(run string, q *interaction.Question) linear.Says {
	rng := dice(w.seed, fmt.Sprint(run, " policy ", q.Prompt))
	rule := interaction.Ruling{Rule: fmt.Sprint("rule", rng.IntN(2)), Version: "1"}
	switch n := rng.IntN(20); {
	case n < 2:
		return linear.Says{Never: true}
	case n < 4:
		rule.Decision = interaction.Approve
	case n < 5:
		rule.Decision, rule.Reason = interaction.Reject, "too much"
	case n < 7:
		rule.Decision, rule.Rule = interaction.Approve, "few"
		return linear.Says{Ruling: rule, Limit: 1}
	case n < 8:
		rule.To = &interaction.Audience{Users: []string{"ada", linear.Boss}}
	case n < 9:
		rule.Need = 2
	case n < 10:
		return linear.Says{Fails: true}
	default:
		return linear.Says{} // people or a remembered decision
	}
	return linear.Says{Ruling: rule}
}

// policy is the policy of both nodes.
func (w *world) policy(ctx context.Context, p interaction.Proposal) (interaction.Ruling, error) {
	says := w.says(p.RunID, &p.Question)
	rng := dice(w.seed, fmt.Sprint(p.RunID, " pause ", p.Question.Prompt))
	w.clock.ponder(ctx, time.Duration(rng.IntN(600))*time.Millisecond)
	switch {
	case says.Never:
		<-ctx.Done()
		return interaction.Ruling{}, ctx.Err()
	case says.Fails:
		return interaction.Ruling{}, errors.New("the policy fails")
	case says.Limit > 0:
		n, err := p.Rulings(ctx, says.Ruling.Rule)
		if err != nil {
			return interaction.Ruling{}, err
		}
		if n >= says.Limit {
			return interaction.Ruling{}, nil
		}
	}
	return says.Ruling, nil
}

// absent is the person for whom each person is a deputy, during every other term.
var absent = map[string]string{"ada": linear.Boss, "bob": "ada", linear.Boss: "bob"}

// term is how long the right of a deputy lasts, and how long a deputy then has none.
const term = 4 * time.Second

// deputies is the directory of a world.
type deputies struct{}

// Principals implements lifecycle.Directory.
func (deputies) Principals(_ context.Context, id string, at time.Time) ([]interaction.Principal, error) {
	whom := linear.Person(absent[id])
	from := noon.Add(at.Sub(noon).Truncate(2 * term))
	return []interaction.Principal{{ID: whom.ID, Groups: whom.Groups, From: from, Until: from.Add(term)}}, nil
}

// right returns the right of every deputy between two times.
func right(from, until time.Time) linear.Right {
	first, last := from.Sub(noon)/term, until.Sub(noon)/term
	switch {
	case first != last:
		return linear.PartOfIt
	case first%2 == 0:
		return linear.Throughout
	}
	return linear.Without
}

// remember extends some approvals to later calls.
func (p *person) remember(r *interaction.Reply) {
	if !p.rules || r.Decision != interaction.Approve || p.rng.IntN(3) == 0 {
		return
	}
	r.Remember = &interaction.Remember{Until: p.clock.Now().Add(remembers / 2)}
	switch p.rng.IntN(3) {
	case 0:
		r.Remember.Any = true
	case 1:
		r.Remember.Equal = []string{"/n"}
	default:
		r.Remember.Most = []interaction.Limit{{Path: "/n", Limit: "2"}}
	}
}

// forget ends a remembered decision that the person has seen, or any.
func (p *person) forget(ctx context.Context) {
	id := 1 + p.rng.IntN(max(p.last.Interactions, 1))
	if all := p.last.Remembered; len(all) > 0 {
		id = all[p.rng.IntN(len(all))].ID
	}
	p.ask(linear.Input{Kind: linear.Forget, Reply: interaction.Reply{ID: id}}, func() linear.Output {
		return linear.Answer(p.client().Forget(ctx, p.spec.ID, id))
	})
}

// note writes a note on a question that the person has seen.
func (p *person) note(ctx context.Context) {
	r := interaction.Reply{ID: 1 + p.rng.IntN(p.last.Interactions), Text: []string{"a", "b"}[p.rng.IntN(2)],
		Key: []string{"", "n1", "n2"}[p.rng.IntN(3)], Actor: p.actor()}
	if open := p.last.Open; len(open) > 0 && p.rng.IntN(4) > 0 {
		r.ID = open[p.rng.IntN(len(open))].ID
	}
	if p.rng.IntN(8) == 0 {
		r.Actor = linear.Person("")
	}
	p.ask(linear.Input{Kind: linear.Note, Reply: r}, func() linear.Output {
		receipt, err := p.client().As(r.Actor).Note(ctx, p.spec.ID, r.ID, interaction.Note{Text: r.Text, Key: r.Key})
		out := linear.Answer(err)
		out.Replayed, out.Note = receipt.Replayed, receipt.Number
		return out
	})
}

// askAsDeputy records a call for an absent person, with the deputy's right during the call.
func (p *person) askAsDeputy(in linear.Input, do func() linear.Output) {
	asked, from := p.log.Now(), p.clock.Now().Truncate(time.Microsecond)
	out := do()
	in.Right = right(from, p.clock.Now().Add(time.Millisecond))
	p.log.Learned(p.i, asked, in, out)
}

var _ lifecycle.Directory = deputies{}
