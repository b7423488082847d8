package linear

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file is the part of the model that is about who is asked and who has claimed a question
// (K5). The claims of a history last longer than the history.

// Boss is the person whom questions are escalated to.
const Boss = "boss"

// Person is the actor of that name, with the groups that they belong to in each history. An empty
// name is the host itself.
func Person(name string) interaction.Actor {
	a := interaction.Actor{ID: name}
	if group := groupOf(name); group != "" {
		a.Groups = []string{group}
	}
	return a
}

func groupOf(name string) string {
	if name == "bob" {
		return "crew"
	}
	return ""
}

// anybody is the text of no audience: everybody is asked.
const anybody = "-"

// TextOfAudience says who is asked, such that equal texts mean equal audiences: everybody, users,
// groups and who is excepted.
func TextOfAudience(to *interaction.Audience) string {
	if to == nil {
		return anybody
	}
	everybody := ""
	if to.Everybody {
		everybody = "*"
	}
	return strings.Join([]string{everybody, strings.Join(to.Users, ","), strings.Join(to.Groups, ","),
		strings.Join(to.Except, ",")}, "/")
}

// The fields of an audience's text.
const (
	everybody = iota
	users
	groups
	except
)

// names are those in a field of an audience's text.
func names(to string, field int) []string {
	if to == anybody {
		return nil
	}
	return strings.FieldsFunc(strings.Split(to, "/")[field], func(r rune) bool { return r == ',' })
}

// admits reports whether the person is asked.
func admits(to, person string) bool {
	switch {
	case to == anybody:
		return true
	case person == "" || slices.Contains(names(to, except), person):
		return false
	case len(names(to, everybody)) > 0 || slices.Contains(names(to, users), person):
		return true
	}
	return slices.Contains(names(to, groups), groupOf(person))
}

// Right says when a deputy had the right to act for the absent person. A client reads the directory
// before it commits, so both outcomes are correct if the right ends during the call.
type Right string

// The rights of a deputy.
const (
	Throughout Right = ""        // from the call to its return
	Without    Right = "without" // at no moment of the call
	PartOfIt   Right = "changed" // at some moments only
)

// mayLackRight reports whether the call may be refused because the right has begun or ended
// meanwhile. A repeated reply or vote needs none.
func (now run) mayLackRight(in Input) bool {
	r := in.Reply
	if r.Actor.For == "" || in.Right != PartOfIt || !slices.Contains(now.open(), r.ID) {
		return false
	}
	_, known := now.byKey(r.Key)
	return in.Kind != Reply || !known && now.votedBy(r) == ""
}

// lacksRight reports whether the call is by a deputy without a right.
func (in Input) lacksRight() bool { return in.Reply.Actor.For != "" && in.Right == Without }

// admitsDeputy reports whether the author of the reply is asked: for themselves or as the deputy of an
// absent person, who must be asked, too.
func (now run) admitsDeputy(r interaction.Reply) bool {
	to, person, absent := now.to(r.ID), r.Actor.ID, r.Actor.For
	if absent == "" {
		return admits(to, person)
	}
	return to == anybody || !slices.Contains(names(to, except), person) && admits(to, absent)
}

// putTo returns the audience after a reassignment: excepted users stay excepted.
func putTo(to, before string) string {
	excepted := names(before, except)
	if len(excepted) == 0 {
		return to
	}
	if to == anybody {
		to = "*///"
	}
	fields, all := strings.Split(to, "/"), names(to, except)
	for _, name := range excepted {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	fields[except] = strings.Join(all, ",")
	return strings.Join(fields, "/")
}

// audiencesOf lists the audiences of a record's open questions, except open ones.
func audiencesOf(r *store.Run) (text string) {
	for _, q := range r.Open {
		if q.To != nil {
			text += fmt.Sprintf("%d %s\n", q.ID, TextOfAudience(q.To))
		}
	}
	return text
}

// to is who is asked the open question.
func (now run) to(question int) string {
	lines := of(now.To, question)
	if len(lines) == 0 {
		return anybody
	}
	return strings.Fields(lines[0])[1]
}

// put has these people asked the open question.
func (now run) put(question int, to string) run {
	now.To = without(now.To, question)
	if to != anybody {
		now.To = with(now.To, question, to)
	}
	return now
}

// claimsOf lists the claims of the open questions of a record, as "QUESTION PERSON", with the person
// for whom a deputy has claimed.
func claimsOf(r *store.Run) (text string) {
	for _, q := range r.Open {
		if q.Claim != nil {
			text += strings.TrimSpace(fmt.Sprint(q.ID, " ", q.Claim.Actor, " ", q.Claim.For)) + "\n"
		}
	}
	return text
}

// of are the lines about a question, or about a node.
func of[T int | string](lines string, what T) (all []string) {
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, fmt.Sprint(what)+" ") {
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

// claimedBy returns the other claimant of the question, or empty: the claimant's deputy and the person
// for whom a deputy has claimed are not excluded.
func (now run) claimedBy(question int, a interaction.Actor) string {
	claims := of(now.Claims, question)
	if len(claims) == 0 {
		return ""
	}
	claim := strings.Fields(claims[0])[1:]
	if slices.Contains(claim, a.ID) || claim[0] == a.For {
		return ""
	}
	return claim[0]
}

// notOpen is why a call about a question that is not open is refused.
func (now run) notOpen(question int) Output {
	if known, ok := now.byID(question); ok {
		return Output{Err: SettledAs(known.resolution, now.State)}
	}
	return Output{Err: NotWaiting(now.State, now.Pending, now.Interactions)}
}

// claimQuestion has a person claim an open question, or give it back.
func (m *Model) claimQuestion(now run, in Input) (run, Output) {
	question, actor := in.Reply.ID, in.Reply.Actor
	if !slices.Contains(now.open(), question) {
		return now, now.notOpen(question)
	}
	claims, by := in.Kind == ClaimQuestion, now.claimedBy(question, actor)
	switch {
	case in.lacksRight():
		return now, Output{Err: NotDeputy}
	case claims && !now.admitsDeputy(in.Reply):
		return now, Output{Err: NotAsked(now.to(question))}
	case claims && now.policy(question).several():
		return now, Output{Err: BySeveral}
	case by != "":
		return now, Output{Err: Claimed(by)}
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
	if claims {
		next.Claims = with(next.Claims, question, strings.Fields(actor.ID+" "+actor.For)...)
	}
	return next.shown(question).enter(verdict.Transition, now.Owner), Output{}
}

// reassign has a person, or the host itself, put an open question to others.
func (m *Model) reassign(now run, in Input) (run, Output) {
	question, person := in.Reply.ID, in.Reply.Actor.ID
	if !slices.Contains(now.open(), question) {
		return now, now.notOpen(question)
	}
	before := now.to(question)
	after := putTo(in.To, before)
	by := now.claimedBy(question, in.Reply.Actor)
	switch {
	case in.lacksRight():
		return now, Output{Err: NotDeputy}
	case person != "" && !now.admitsDeputy(in.Reply):
		return now, Output{Err: NotAsked(before)}
	case person != "" && by != "":
		return now, Output{Err: Claimed(by)}
	case in.From != before:
		return now, Output{Err: Reassigned(before)}
	case !now.enough(question, after):
		return now, Output{Err: TooFew}
	}
	verdict := m.law.Next(now.State, "interaction.changed", contract.Facts{"pending_matches": true})
	if verdict.Transition == nil {
		return now, against("reassign: %s", verdict.Code)
	}
	next := now.put(question, after)
	next.Claims = without(now.Claims, question)
	return next.shown(question).enter(verdict.Transition, now.Owner), Output{}
}
