package acp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/interaction"
)

// settlement is what an answer makes of the permission that was asked for.
type settlement struct {
	choice *choice // nil: nothing was decided
	text   string  // what the agent is told, unless the decision goes straight into its request
}

// settle reads the answer to the permission that the last turn asked for, nil when it asked for none. A decision is kept for when the agent
// proposes the same again; once, however often the turn is repeated.
func (t *turn) settle() *settlement {
	q := t.state.Asked
	if q == nil || len(t.in.Answers) == 0 {
		return nil
	}
	a := t.in.Answers[len(t.in.Answers)-1]
	if q.SettledBy != 0 && q.SettledBy != a.ID {
		return nil // it was settled by an answer before this one
	}
	fresh := q.SettledBy == 0
	q.SettledBy = a.ID
	option := q.choice(a)
	if option != nil && fresh && q.Digest != "" {
		t.state.Grants = slices.DeleteFunc(t.state.Grants, func(g grant) bool { return g.Digest == q.Digest })
		t.state.Grants = append(t.state.Grants, grant{q.Digest, *option})
	}
	return &settlement{option, q.told(option, a.Text)}
}

// told is what the agent is told of the answer.
func (q *asked) told(option *choice, text string) string {
	switch {
	case option == nil:
		return fmt.Sprintf("You asked for a permission: %s\nIt was not given. The answer was:\n%s", q.Title, text)
	case option.allows():
		return fmt.Sprintf("You asked for a permission: %s\nThe person decided: %s. Go on. To do it, propose exactly the same again: the decision will be applied to it.", q.Title, option.Name)
	}
	return fmt.Sprintf("You asked for a permission: %s\nThe person decided: %s. Do not do it; go on without it, or say why you cannot.", q.Title, option.Name)
}

// choice finds the option that an answer means: by value, by label, by its number, or by yes and no where there is one way to allow and one
// to reject. What means none, or more than one, decides nothing; an automatic decision never does.
func (q *asked) choice(a interaction.Answer) *choice {
	if a.Auto != nil || a.Resolution == interaction.AutoDecideTimeout {
		return nil
	}
	text := strings.TrimSpace(a.Text)
	for _, means := range []func(i int, o choice) bool{
		func(_ int, o choice) bool { return o.ID == text },
		func(_ int, o choice) bool { return strings.EqualFold(o.ID, text) || strings.EqualFold(o.Name, text) },
		func(i int, _ choice) bool { return strconv.Itoa(i+1) == text },
		func(_ int, o choice) bool { return twoWays(q.Options) && yesOrNo(o, text) },
	} {
		var found []int
		for i, o := range q.Options {
			if means(i, o) {
				found = append(found, i)
			}
		}
		if len(found) == 1 {
			return &q.Options[found[0]]
		}
		if len(found) > 1 {
			return nil
		}
	}
	return nil
}

func yesOrNo(o choice, text string) bool {
	switch strings.ToLower(text) {
	case "yes", "y":
		return o.allows()
	case "no", "n":
		return o.rejects()
	}
	return false
}
