package linear

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/interaction"
)

// This file is the part of the model that is about forks (J6). A fork concerns two runs: it stands
// in the history of its source, which it reads and never changes, and in that of the new run, which
// it makes once for each id. Each is judged by itself.

// Forking is how a fork is asked for.
type Forking struct {
	ID       string // of the new run
	Question int    // of the source, with which the fork goes on; 0 for the end
	Reply    string // in place of the stored answer, if it is not empty; nobody replies so to the source
	Actor    string // who gives it
	Terms    Terms  // of the new run: those of its source
	// Inherited is the history with which the new run goes on, as TextOfRecords describes it.
	// Whoever asked for the fork reads it from the new run; it is the same for all of their tries.
	Inherited string
	// Of is how the source was forked, if it is a fork itself: the new run goes on with what that
	// has inherited, too.
	Of *Forking
}

// digest is what must be equal in two calls with one id.
func (f *Forking) digest() string {
	return fmt.Sprintf("%s, question %d, reply %q by %q", f.Terms.Digest, f.Question, f.Reply, f.Actor)
}

// TextOfRecords describes settled questions, one on each line: the number, the turn that asked, how
// it was settled, and what a person has said.
func TextOfRecords(records []interaction.Record) (text string) {
	for i := range records {
		r, words := &records[i], ""
		if r.Resolution == interaction.UserReply {
			words = said(r.Decision, r.Response, ballot(r.Question.ID, r.Question.Votes))
		}
		text += inherited(r.Question.ID, r.Question.Attempt, string(r.Resolution), words)
	}
	return text
}

func inherited(id, attempt int, resolution, words string) string {
	return fmt.Sprintf("%d %d %s %s\n", id, attempt, resolution, strings.ReplaceAll(words, "\n", ";"))
}

// first is what the new run begins with: the answer to a question that was asked alone, or those to
// several.
func (f *Forking) first() (given string, several bool) {
	before := ""
	if f.Of != nil {
		before = f.Of.Inherited
	}
	own := strings.TrimPrefix(f.Inherited, before)
	switch {
	case f.Question == 0 && f.Reply != "" && !strings.Contains(own, " "+userReply+" "+f.Reply+"\n"):
		return answer(0, userReply, f.Reply), false // the run ended without an open question
	case own == "" && f.Of != nil: // it ended in the turn that it began with
		return f.Of.first()
	}
	lines := slices.Collect(strings.Lines(own))
	if len(lines) == 0 {
		return "", false
	}
	last := strings.SplitN(strings.TrimSuffix(lines[len(lines)-1], "\n"), " ", 4)
	if len(lines) > 1 && strings.Fields(lines[len(lines)-2])[1] == last[1] {
		return "", true
	}
	id, _ := strconv.Atoi(last[0]) // inherited wrote a number
	return answer(id, last[2], strings.ReplaceAll(last[3], ";", "\n")), false
}

// startFork makes the new run, unless there is one.
func (m *Model) startFork(now run, source string, f *Forking) (run, Output) {
	terms := f.Terms
	terms.Digest = f.digest()
	if now.State != "" {
		return m.submit(now, terms)
	}
	next, _ := m.submit(now, terms)
	next.From = fmt.Sprint(source, " ", f.Question)
	next.Answer, next.Inherits = f.first()
	next.inherited, next.answered = f.Inherited, next.Answer != "" || next.Inherits
	return next, Output{Seen: next.View}
}

// fork reads the source. It notes the new run, which is found from it, and changes nothing else.
func (m *Model) fork(now run, f *Forking) (run, Output) {
	lines, ok := m.inherit(now, f)
	line := f.ID + " " + f.digest() + "\n"
	known := strings.Contains("\n"+now.forks, "\n"+f.ID+" ")
	same := strings.Contains("\n"+now.forks, "\n"+line)
	switch {
	case !ok:
		return now, Output{Err: CannotFork}
	case known && !same:
		return now, Output{Err: OtherSpec}
	case !known:
		all := append(slices.Collect(strings.Lines(now.forks)), line)
		slices.Sort(all)
		now.forks = strings.Join(all, "")
	}
	return now, Output{Inherited: lines}
}

// forksOf are the ids of the forks that are found from the run.
func (now run) forksOf() (ids string) {
	for line := range strings.Lines(now.forks) {
		ids += strings.Fields(line)[0] + " "
	}
	return ids
}

// inherit is the history with which a fork goes on, if there can be one.
func (m *Model) inherit(now run, f *Forking) (_ string, ok bool) {
	all, lines := now.allSettled(), now.inherited
	if f.Question > 0 {
		return now.inheritUntil(all, f.Question, f)
	}
	if !m.law.Terminal(now.State) {
		return "", false
	}
	for _, s := range all {
		if s.attempt == all[len(all)-1].attempt && s.resolution == abandoned {
			return now.inheritUntil(all, s.id, f)
		}
	}
	for _, s := range all {
		lines += inherited(s.id, s.attempt, s.resolution, s.said)
	}
	switch {
	case f.Reply == "" && now.State == "succeeded":
		return "", false
	case f.Reply == "" && len(all) == 0 && !now.answered:
		return lines, true
	}
	// a fork that began with an answer has a session that is its source's until it has one of its
	// own
	return lines, now.Profile != "sticky_process" && (now.Session || now.answered)
}

// inheritUntil is inherit for a settled question, and those that were asked together with it.
func (now run) inheritUntil(all []settled, question int, f *Forking) (lines string, ok bool) {
	i := slices.IndexFunc(all, func(s settled) bool { return s.id == question })
	if i < 0 || now.Pending != 0 && all[i].attempt == now.Attempt || now.Profile == "sticky_process" {
		return "", false
	}
	lines = now.inherited
	for _, s := range all {
		if s.attempt > all[i].attempt {
			break
		}
		if s.id == question && f.Reply != "" {
			if s.approval || !admits(s.to, f.Actor) {
				return "", false
			}
			s.resolution, s.said = userReply, f.Reply
		}
		if s.id == question && s.resolution == abandoned {
			return "", false
		}
		lines += inherited(s.id, s.attempt, s.resolution, s.said)
	}
	return lines, true
}

// allSettled are the settled questions in the order of their numbers.
func (now run) allSettled() (all []settled) {
	_, _ = find(now.settled, func(s settled) bool {
		all = append(all, s)
		return false
	})
	slices.SortFunc(all, func(a, b settled) int { return cmp.Compare(a.id, b.id) })
	return all
}
