package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// RecallTime is the time for which an approval is hidden from people if a remembered decision covers
// it.
const RecallTime = 5 * time.Second

// memoryOf returns the reply's remembered decision, or nil.
func memoryOf(run *store.Run, q *interaction.Question, reply *interaction.Reply, a *interaction.Answer,
) (*interaction.Memory, error) {
	if reply.Remember == nil {
		return nil, nil //nolint:nilnil // most replies
	}
	if !reply.Remember.Until.After(a.AcceptedAt) {
		return nil, &interaction.FieldError{Field: "Remember.Until", Value: reply.Remember.Until.String(),
			Want: "a time after now"}
	}
	live := 0
	for i := range run.Remembered {
		if run.Remembered[i].Lasts(a.AcceptedAt) {
			live++
		}
	}
	if live >= interaction.MaxMemories {
		return nil, &interaction.FieldError{Field: "Remember", Value: "set",
			Want: fmt.Sprintf("none, since the run remembers %d decisions", live)}
	}
	return interaction.NewMemory(reply.Remember, q, a)
}

// changeMemory adds a decision. It drops ended decisions, and decisions about a tool that the host's
// policy refuses.
func changeMemory(next *store.Run, s *settlement, now time.Time) {
	var kept []interaction.Memory
	for _, m := range next.Remembered {
		if m.Tool != s.refused && (s.remembers == nil || m.Lasts(now)) {
			kept = append(kept, m)
		}
	}
	if s.remembers != nil {
		kept = append(kept, *s.remembers)
	}
	slices.SortFunc(kept, func(a, b interaction.Memory) int { return a.ID - b.ID })
	next.Remembered = kept
}
