package linear

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/store"
)

// describe returns one call and its answer as text.
func describe(in Input, out Output) string {
	text := string(in.Kind) + " " + in.Run
	switch in.Kind {
	case Reply:
		text += fmt.Sprintf(" to %d %q key %q by %s", in.Reply.ID, said(in.Reply.Decision, in.Reply.Text, ""),
			in.Reply.Key, in.Reply.Actor.ID)
		if covers := textOfBound(in.Reply.Remember); covers != "" {
			text += " covering " + covers
		}
	case Forget:
		text += fmt.Sprint(" ", in.Reply.ID)
	case Note:
		text += fmt.Sprintf(" on %d %q key %q by %s", in.Reply.ID, in.Reply.Text, in.Reply.Key, in.Reply.Actor.ID)
	case ClaimQuestion, ReleaseQuestion:
		text += fmt.Sprintf(" %d by %s", in.Reply.ID, in.Reply.Actor.ID)
	case Reassign:
		text += fmt.Sprintf(" %d by %s from %s to %s", in.Reply.ID, in.Reply.Actor.ID, in.From, in.To)
	case Resume:
		text += fmt.Sprintf(" to %s v%d", in.Resume.Choice, in.Resume.Version)
		if b := in.Resume.Budget; b != (store.Budget{}) {
			text += fmt.Sprintf(" to %d turns and %d tokens", b.Turns, b.Tokens)
		}
	case Extend:
		text += fmt.Sprintf(" %d until %d", in.Until.Question, in.Until.At)
	case Claim:
		text += " by " + in.Node
		if in.After != nil {
			text += " as " + ViewOf(in.After).String()
		}
	case Leave, Depart:
		text += " of " + in.Node
	case Write:
		text += " " + in.Change.String()
	case Fork, StartFork:
		text += fmt.Sprintf(" as %s at %s", in.Fork.ID, in.Fork.digest())
	case Submit, Cancel, Get, ReadUsage, FindForks:
	}
	if in.Reply.Actor.For != "" {
		text += fmt.Sprintf(" for %s %s", in.Reply.Actor.For, in.Right)
	}
	return text + " -> " + out.String()
}

// String returns an answer as text.
func (out Output) String() string {
	switch {
	case out.Unknown:
		return "?"
	case out.Err != "":
		return out.Err
	case out.Replayed:
		return fmt.Sprint("the receipt again ", out.Note)
	case out.Note > 0:
		return fmt.Sprint("note ", out.Note)
	case out.Inherited != "" || out.Begins != "":
		return fmt.Sprintf("with %s%q", readable(out.Inherited), out.Begins)
	case out.Forks != "":
		return out.Forks
	case out.Used != "":
		return strings.ReplaceAll(out.Used, "\n", "; ")
	case out.Seen != View{}:
		return out.Seen.String()
	}
	return "ok"
}

// String returns a commit as text.
func (c *Change) String() string {
	event := c.Event
	if event == "" {
		event = "report"
	}
	text := fmt.Sprintf("%s on v%d", event, c.Expect)
	if c.Fence != nil {
		text += fmt.Sprintf(" by %s e%d", c.Fence.Node, c.Fence.Epoch)
	}
	if c.Evidence != nil {
		var facts []string
		for name, holds := range c.Evidence.Facts {
			if holds {
				facts = append(facts, name)
			}
		}
		slices.Sort(facts)
		text += fmt.Sprintf(" having seen %v", facts)
	}
	if c.Usage != nil {
		text += " having used " + TextOfUsage(c.Usage)
	}
	if r := c.Ruled; r != nil {
		text += fmt.Sprintf(" as %s, whose policy says %+v", r.By, r.Says)
	}
	return text + " to " + ViewOf(&c.After).String()
}

// readable is a text of lines and fields on one line.
func readable(lines string) string {
	return strings.NewReplacer(fieldSeparator, " ", "\n", "; ").Replace(lines)
}

func (now run) describe() string {
	text := now.String()
	if now.settled != "" {
		text += "; settled " + readable(now.settled)
	}
	if now.gone != "" {
		text += "; gone " + strings.ReplaceAll(strings.TrimSpace(now.gone), "\n", ", ")
	}
	if now.departed != "" {
		text += "; departed " + strings.ReplaceAll(strings.TrimSpace(now.departed), "\n", ", ")
	}
	return text
}
