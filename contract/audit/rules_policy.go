package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rule about approvals that the host's policy decides.

// policyActor is the prefix of a policy's actors.
const policyActor = "policy:"

// byPolicy reports whether the host's policy has made the decision or change.
func (s *step) byPolicy() bool { return strings.HasPrefix(s.data.Actor, policyActor) }

// underPolicy reports whether the host's policy may still decide the question.
func (q *step) underPolicy() bool { return !q.data.PolicyUntil.IsZero() }

// notePolicy notes that the question was changed or voted on: the policy no longer decides it.
func (q *step) notePolicy(s *step) {
	if s.data.Need > 1 || s.data.Need > 0 && q.several() {
		q.data.Need, q.data.Rejects = s.data.Need, max(q.data.Rejects, 1)
	}
	q.data.PolicyUntil = time.Time{}
}

// byPolicy is IV-49: the host's policy settles a question with an event of the types Decided, or
// leaves it to people with one of the type Changed, if its event Asked says so and nothing has
// changed it since.
type byPolicy struct {
	Asked   string   `json:"asked"`
	Decided []string `json:"decided"`
	Changed string   `json:"changed"`
}

func (r *byPolicy) bind(*contract.Lifecycle) error {
	return errors.Join(allKnown("event type of a question", []string{fcmp.TypeInputRequired}, r.Asked),
		someKnown("event type of a decision", []string{fcmp.TypeReplyAccepted, fcmp.TypeRecorded}, r.Decided...),
		allKnown("event type of a change", []string{fcmp.TypeChanged}, r.Changed))
}

func (r *byPolicy) judge(v *view, s *step) string {
	decides := slices.Contains(r.Decided, s.Type)
	switch {
	case s.Type == r.Asked:
		return judgeUnderPolicy(s)
	case s.Type == r.Changed && s.data.Need > 0 && s.unknown("actor"):
		return s.skip()
	case s.Type == r.Changed && s.byPolicy() != (s.data.Need > 0):
		return fmt.Sprintf("%s by %.100q says that %d people must approve; only the host's policy says this",
			describe(s), s.data.Actor, s.data.Need)
	case s.Type == r.Changed && s.byPolicy() && s.data.Change != "ask" && s.data.Change != "reassign":
		return fmt.Sprintf("%s by %.100q, the host's policy", describe(s), s.data.Actor)
	case !decides && s.Type != r.Changed:
		return ""
	}
	q := v.question(s)
	switch {
	case q != nil && q.underPolicy() && s.unknown("actor"):
		return s.skip()
	case !s.byPolicy():
		return ""
	case v.openUnknown:
		return s.skip()
	case q == nil:
		return "" // namesOpen reports it
	case !q.underPolicy():
		return fmt.Sprintf("%s by %.100q, but the host's policy does not decide question %d, or no longer", describe(s),
			s.data.Actor, s.data.InteractionID)
	case s.votes():
		return fmt.Sprintf("%.100q votes on question %d; a policy decides for all", s.data.Actor, s.data.InteractionID)
	case s.data.Need > 0 && s.data.Need < q.data.Need:
		return fmt.Sprintf("%.100q lets %d people approve question %d, which needs %d", s.data.Actor, s.data.Need,
			s.data.InteractionID, q.data.Need)
	}
	return ""
}

func judgeUnderPolicy(s *step) string {
	switch {
	case !s.underPolicy():
	case s.data.Kind == "":
		return s.skip()
	case s.data.Kind != "approval":
		return fmt.Sprintf("the host's policy decides question %d, which is no approval", s.data.InteractionID)
	case !s.data.PolicyUntil.After(s.TS):
		return fmt.Sprintf("the host's policy decides question %d until %s, which is not later", s.data.InteractionID,
			fcmp.FormatTime(s.data.PolicyUntil))
	}
	return ""
}
