package linear

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/store"
)

// This file is the part of the model that is about who has claimed a question (K5). The claims of a
// history last longer than the history.

// claimsOf lists the claims of the open questions of a record, as "QUESTION PERSON".
func claimsOf(r *store.Run) (text string) {
	for _, q := range r.OpenQuestions() {
		if q.Claim != nil {
			text += fmt.Sprintf("%d %s\n", q.ID, q.Claim.Actor)
		}
	}
	return text
}

// of are the lines about a question.
func of(lines string, question int) (all []string) {
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, fmt.Sprint(question, " ")) {
			all = append(all, line)
		}
	}
	return all
}

// without are the lines that are not about a question.
func without(lines string, question int) (others string) {
	for line := range strings.Lines(lines) {
		if !strings.HasPrefix(line, fmt.Sprint(question, " ")) {
			others += line
		}
	}
	return others
}

// with adds a line about a question, after those about it and about lower ones.
func with(lines string, question int, words ...string) string {
	all := slices.Collect(strings.Lines(lines))
	at := 0
	for i, line := range all {
		var n int
		if _, err := fmt.Sscan(line, &n); err == nil && n <= question {
			at = i + 1
		}
	}
	line := fmt.Sprint(question, " ", strings.Join(words, " "), "\n")
	return strings.Join(slices.Insert(all, at, line), "")
}

// isClaimed reports whether somebody else has claimed the question.
func (now run) isClaimed(question int, person string) bool {
	claims := of(now.Claims, question)
	return len(claims) > 0 && claims[0] != fmt.Sprintf("%d %s\n", question, person)
}

// isEscalated reports whether the question was put to the boss.
func (now run) isEscalated(question int) bool {
	return slices.ContainsFunc(now.ownWaits(), func(w wait) bool { return w.id == question && w.escalated() })
}

// claimQuestion has a person claim an open question, or give it back.
func (m *Model) claimQuestion(now run, in Input) (run, Output) {
	question, person := in.Reply.ID, in.Reply.Actor.ID
	if !slices.Contains(now.open(), question) {
		if known, ok := now.byID(question); ok {
			return now, Output{Err: SettledAs(known.resolution, now.State)}
		}
		return now, Output{Err: NotWaiting(now.State, now.Pending, now.Interactions)}
	}
	switch {
	case in.Kind == ClaimQuestion && now.isEscalated(question) && person != Boss:
		return now, Output{Err: NotAsked}
	case now.isClaimed(question, person):
		return now, Output{Err: Claimed}
	}
	if in.Kind == ReleaseQuestion && len(of(now.Claims, question)) == 0 {
		return now, Output{}
	}
	verdict := m.law.Next(now.State, "interaction.changed", contract.Facts{"pending_matches": true})
	if verdict.Transition == nil {
		return now, against("%s: %s", in.Kind, verdict.Code)
	}
	next := now
	next.Claims = without(now.Claims, question)
	if in.Kind == ClaimQuestion {
		next.Claims = with(next.Claims, question, person)
	}
	return next.enter(verdict.Transition, now.Owner), Output{}
}
