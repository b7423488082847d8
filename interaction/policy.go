package interaction

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	// PolicyActor is the prefix of the actors of policies: "policy:small-refunds@7". No other actor
	// can have it.
	PolicyActor = "policy:"
	// PolicyVia is the Actor.Via of a policy.
	PolicyVia = "policy"
	// MaxRule limits the bytes of a Ruling's Rule, and of its Version.
	MaxRule = 100
)

// Policy decides about an approval before people see it: it approves or rejects the call, or leaves
// the question to people. An error, a panic and an invalid Ruling leave it to people, too.
//
// It is called outside any transaction, at least once for each question while a node runs, and
// possibly by several nodes at the same time; one ruling is stored. So it must be safe for
// concurrent use and have no effects. ctx ends when the question becomes visible to people.
type Policy func(ctx context.Context, p Proposal) (Ruling, error)

// Proposal is an approval that a Policy decides about, with the data of its run.
type Proposal struct {
	// Question has the tool call in Subject, and its time in AskedAt.
	Question Question
	RunID    string
	Engine   string
	Title    string
	Pool     string
	Key      string
	// Submitter is the Spec.Submitter.
	Submitter string
	Labels    map[string]string
	// Rulings returns how often the rule, in any version, has approved or rejected questions of
	// this run. It reads the run's history. A ruling that has used it is stored only while the number
	// holds: if the run has changed, the Policy is called again.
	Rulings func(ctx context.Context, rule string) (int, error)
}

// Ruling is a Policy's decision. The zero Ruling leaves the question to the people in its audience.
type Ruling struct {
	// Decision is Approve or Reject, which settles the question, even if it needs several people.
	// Empty: people decide.
	Decision Decision
	// Rule and Version name the rule in history and events. Both are required, except for a ruling
	// that only leaves the question to people. Each has at most MaxRule bytes: letters, digits and
	// "._-", and no "@".
	Rule    string
	Version string
	// Reason is the reply's text: why a call was rejected. It has at most MaxVoteText bytes.
	Reason string
	// To replaces the audience if people decide; nil: as asked. Users in Except stay excluded.
	To *Audience
	// Need is the least number of people who must approve if people decide; it never lowers the
	// question's own. At most MaxNeed.
	Need int
}

// HiddenUntil returns the time until which lists and notices leave the question out; zero if it is
// not hidden. The question itself can be read and answered at any time.
func (q *Question) HiddenUntil() time.Time {
	if q.HiddenFor == 0 {
		return time.Time{}
	}
	return q.AskedAt.Add(time.Duration(q.HiddenFor) * time.Second)
}

// Hidden reports whether lists leave the question out at that time. A zero time hides nothing.
func (q *Question) Hidden(now time.Time) bool {
	return !now.IsZero() && now.Before(q.HiddenUntil())
}

// IsPolicy reports whether the actor is a policy.
func IsPolicy(actor string) bool { return strings.HasPrefix(actor, PolicyActor) }

// RuleOf returns the rule and version in the name of a policy's actor; empty for other actors.
func RuleOf(actor string) (rule, version string) {
	name, ok := strings.CutPrefix(actor, PolicyActor)
	if !ok {
		return "", ""
	}
	rule, version, _ = strings.Cut(name, "@")
	return rule, version
}

// Actor returns the actor of the ruling.
func (r *Ruling) Actor() Actor {
	name := "default"
	if r.Rule != "" {
		name = r.Rule + "@" + r.Version
	}
	return Actor{ID: PolicyActor + name, Via: PolicyVia}
}

// Reply returns the reply to the question. It has no key, which a person's reply could use up first.
func (r *Ruling) Reply(question int) Reply {
	return Reply{ID: question, Text: r.Reason, Decision: r.Decision}
}

// Validate returns an error if the ruling is invalid for every question, as the end of a sentence.
func (r *Ruling) Validate() error {
	decides := r.Decision != ""
	switch {
	case decides && r.Decision != Approve && r.Decision != Reject:
		return fmt.Errorf("the decision %.40q; %q, %q or none are allowed", r.Decision, Approve, Reject)
	case decides && (r.To != nil || r.Need != 0):
		return fmt.Errorf("the decision %q, and asks people", r.Decision)
	case ValidateVotes(r.Need, 0) != nil:
		return ValidateVotes(r.Need, 0)
	case len(r.Reason) > MaxVoteText:
		return fmt.Errorf("a reason of %d bytes; at most %d are allowed", len(r.Reason), MaxVoteText)
	}
	if r.Rule == "" && r.Version == "" && !decides && r.To == nil && r.Need == 0 {
		return nil
	}
	for _, name := range []string{r.Rule, r.Version} {
		if !ruleName(name) {
			return fmt.Errorf("the rule %.40q in version %.40q; each is 1 to %d letters, digits or \"._-\"", r.Rule,
				r.Version, MaxRule)
		}
	}
	return r.To.Validate()
}

func ruleName(name string) bool {
	return name != "" && len(name) <= MaxRule && strings.IndexFunc(name, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("._-", c)
	}) < 0
}
