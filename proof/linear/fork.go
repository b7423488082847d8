package linear

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/interaction"
)

// This file is the part of the model that is about forks (J6, N11). A fork concerns two runs: it is
// in the history of its source, which it reads and never changes, and in the new run's history,
// which it creates once per id. Each is judged separately.

// Forking is how a fork is asked for.
type Forking struct {
	ID       string // of the new run
	Question int    // of the source, from which the fork continues; 0 for the end
	Reply    string // replaces the stored answer, if not empty; never used to reply to the source
	Actor    string // the author of the fork
	Terms    Terms  // of the new run: the same as the source's
	// Inherited is the new run's inherited history, in the form of TextOfRecords, and Begins its first
	// turn, in the form of TextOfBeginning. Callers read both from the new run; they are the same for
	// all of their attempts. Learned: a caller has read them.
	Inherited, Begins string
	Learned           bool
}

// digest is what must be equal in two calls with one id.
func (f *Forking) digest() string {
	return fmt.Sprintf("%s, question %d, reply %q by %q", f.Terms.Digest, f.Question, f.Reply, f.Actor)
}

// TextOfRecords describes settled questions, one on each line, as the model remembers them.
func TextOfRecords(records []interaction.Record) (text string) {
	for i := range records {
		r := &records[i]
		s := settled{id: r.Question.ID, resolution: string(r.Resolution), attempt: r.Question.Attempt,
			policy: TextOfPolicy(&r.Question), wait: TextOf(r.Question.Wait)}
		if r.Resolution == interaction.UserReply {
			s.said = said(r.Decision, r.Response, ballot(r.Question.ID, r.Question.Votes))
		}
		text += s.inherited().line()
	}
	return text
}

// inherited is the question as a fork inherits it: without what concerns replies to its own run.
func (s settled) inherited() settled {
	s.key, s.body, s.several, s.by, s.rule = "", "", false, "", ""
	return s
}

// The beginnings of forks, except of a fork that starts over with the prompt.
const (
	withMessage = "message "
	withAnswers = "answers " // and how many
	withAsks    = "asks "    // and the questions with their rule
)

// TextOfBeginning describes a fork's first turn, from the stored form of its specification: a list
// of its inheritance and the specification.
func TextOfBeginning(body []byte) (string, error) {
	var origin struct {
		Message bool
		Answer  *interaction.Answer
		Answers []interaction.Answer
		Asks    []interaction.Question
		Rule    interaction.Rule
	}
	if err := json.Unmarshal(body, &[]any{&origin}); err != nil {
		return "", fmt.Errorf("linear: what a fork inherits: %w", err)
	}
	switch n := len(origin.Asks); {
	case n > 0:
		round := make([]settled, 0, n)
		for i := range origin.Asks {
			q := &origin.Asks[i]
			round = append(round, settled{policy: TextOfPolicy(q), wait: TextOf(q.Wait)})
		}
		return asksAgain(round, textOfRule(n, origin.Rule.Needs(n), origin.Rule.StopOnReject)), nil
	case origin.Message:
		return withMessage + origin.Answer.Text, nil
	case origin.Answer != nil || len(origin.Answers) > 0:
		return fmt.Sprint(withAnswers, max(1, len(origin.Answers))), nil
	}
	return "", nil
}

// textOfRule describes the rule of questions that are asked together; empty for one question.
func textOfRule(asked, needs int, stops bool) string {
	if asked < 2 {
		return ""
	}
	return fmt.Sprintf("%d %t", needs, stops)
}

// asksAgain is the beginning of a fork that asks these questions again.
func asksAgain(round []settled, rule string) string {
	text := withAsks + rule
	for _, s := range round {
		text += fmt.Sprintf("; %s | %s", s.policy, s.wait)
	}
	return text
}

// askingAgain is the evidence of the turn in which a fork asks again; nil for a fork that does not.
func askingAgain(begins string) *Evidence {
	text, asks := strings.CutPrefix(begins, withAsks)
	if !asks {
		return nil
	}
	rule, questions, _ := strings.Cut(text, "; ")
	e := &Evidence{Facts: contract.Facts{"process_ok": true, "question_asked": true}, Profile: "resumable"}
	_, _ = fmt.Sscan(rule, &e.Needs, &e.Stops) // absent for one question
	for q := range strings.SplitSeq(questions, "; ") {
		policy, wait, _ := strings.Cut(q, " | ")
		e.Policies, e.Waits, e.Asked = append(e.Policies, policy), append(e.Waits, wait), e.Asked+1
	}
	return e
}

// asksNow reports whether the next turn of a fork asks questions of its source again.
func (now run) asksNow() bool {
	return now.Interactions == 0 && strings.HasPrefix(now.begins, withAsks)
}

// hasSession reports whether the run has a session, possibly the one inherited by a fork that
// repeats questions.
func (now run) hasSession() bool { return now.Session || strings.HasPrefix(now.begins, withAsks) }

// mustAskAgain reports whether a fork by this author does not inherit the answer (N11).
func (s settled) mustAskAgain(author string) bool {
	p, to := policyOf(s.policy)
	return s.resolution != superseded && (p.approval || p.several() || !admits(to, author))
}

// startFork makes the new run, unless there is one.
func (m *Model) startFork(now run, source string, f *Forking) (run, Output) {
	terms := f.Terms
	terms.Digest = f.digest()
	if now.State != "" {
		return m.submit(now, terms)
	}
	next, _ := m.submit(now, terms)
	next.inherited, next.begins = f.Inherited, f.Begins
	history := parse(f.Inherited)
	if text, ok := strings.CutPrefix(f.Begins, withMessage); ok {
		next.Answer = answer(0, userReply, text)
	}
	if n := beginsWith(f.Begins); n > 0 && n <= len(history) {
		last := history[len(history)-1]
		history = history[:len(history)-n]
		if next.Inherits = n > 1; !next.Inherits {
			next.Answer = answer(last.id, last.resolution, strings.ReplaceAll(last.said, ";", "\n"))
		}
	}
	asks := 0
	if e := askingAgain(f.Begins); e != nil {
		asks = e.Asked
	}
	next.From = textOfPoint(source, f.Question, asks, slices.ContainsFunc(history, func(s settled) bool {
		return s.mustAskAgain(f.Actor)
	}))
	return next, Output{Seen: next.View}
}

// beginsWith is how many answers a fork begins with.
func beginsWith(begins string) (n int) {
	text, _ := strings.CutPrefix(begins, withAnswers)
	n, _ = strconv.Atoi(text) // any other beginning is no number
	return n
}

// fork reads the source. It notes the new run, which is found from it, and changes nothing else.
func (m *Model) fork(now run, f *Forking) (run, Output) {
	lines, begins, refused := m.inherit(now, f)
	line := f.ID + " " + f.digest() + "\n"
	known := strings.Contains("\n"+now.forks, "\n"+f.ID+" ")
	same := strings.Contains("\n"+now.forks, "\n"+line)
	switch {
	case refused != "":
		return now, Output{Err: refused}
	case known && !same:
		return now, Output{Err: OtherSpec}
	case !known:
		all := append(slices.Collect(strings.Lines(now.forks)), line)
		slices.Sort(all)
		now.forks = strings.Join(all, "")
	}
	return now, Output{Inherited: lines, Begins: begins}
}

// forksOf are the ids of the forks that are found from the run.
func (now run) forksOf() (ids string) {
	for line := range strings.Lines(now.forks) {
		ids += strings.Fields(line)[0] + " "
	}
	return ids
}

// inherit returns a fork's history and its beginning, or the reason why there can be no fork.
func (m *Model) inherit(now run, f *Forking) (lines, begins, refused string) {
	all, sticky := now.allSettled(), now.Profile == "sticky_process"
	if f.Question > 0 {
		return now.inheritUntil(all, f.Question, f)
	}
	if !m.law.Terminal(now.State) {
		return "", "", CannotFork
	}
	first := len(all)
	for first > 0 && all[first-1].attempt == all[len(all)-1].attempt {
		first--
	}
	for _, s := range all[first:] {
		if s.resolution == abandoned {
			return now.inheritUntil(all, s.id, f)
		}
	}
	switch {
	case f.Reply != "":
		lines, begins = now.inherited+inheritedLines(all), withMessage+f.Reply
	case now.State == "succeeded":
		return "", "", CannotFork
	case len(all) > 0:
		lines, begins = goOnWith(now.inherited+inheritedLines(all[:first]), all[first:], f)
	case beginsWith(now.begins) > 0: // it ended in the turn that it began with
		history := parse(now.inherited)
		first := len(history) - beginsWith(now.begins)
		lines, begins = goOnWith(inheritedLines(history[:first]), history[first:], f)
	default:
		lines, begins = now.inherited, now.begins
	}
	// A fork that begins with an answer has its source's session until it has its own.
	if begins != "" && (sticky || !now.Session && now.begins == "") {
		return "", "", CannotFork
	}
	return lines, begins, ""
}

// inheritUntil is inherit for a settled question, and its siblings.
func (now run) inheritUntil(all []settled, question int, f *Forking) (lines, begins, refused string) {
	i := slices.IndexFunc(all, func(s settled) bool { return s.id == question })
	if i < 0 || now.Pending != 0 && all[i].attempt == now.Attempt || now.Profile == "sticky_process" {
		return "", "", CannotFork
	}
	first, end := i, i
	for ; first > 0 && all[first-1].attempt == all[i].attempt; first-- {
	}
	for ; end < len(all) && all[end].attempt == all[i].attempt; end++ {
	}
	before, round := now.inherited+inheritedLines(all[:first]), all[first:end]
	if f.Reply == "" {
		lines, begins = goOnWith(before, round, f)
		if all[i].resolution == abandoned && !strings.HasPrefix(begins, withAsks) {
			return "", "", CannotFork
		}
		return lines, begins, ""
	}
	switch p, to := policyOf(all[i].policy); {
	case p.several():
		return "", "", CannotFork
	case !admits(to, f.Actor):
		return "", "", NotAsked(to)
	case p.approval:
		return "", "", CannotFork
	}
	for k := range round {
		if first+k == i {
			round[k].resolution, round[k].said = userReply, f.Reply
		} else if round[k].mustAskAgain(f.Actor) {
			return "", "", CannotFork
		}
	}
	return before + inheritedLines(round), fmt.Sprint(withAnswers, len(round)), ""
}

// goOnWith lets a fork continue with the answers to these questions, or repeat them if it does not
// inherit an answer. The rule is the questions' own, or the one that follows from the outcome: the
// source forgets the rule at some time between the fork's read and its commit.
func goOnWith(before string, round []settled, f *Forking) (lines, begins string) {
	if !slices.ContainsFunc(round, func(s settled) bool { return s.mustAskAgain(f.Actor) }) {
		return before + inheritedLines(round), fmt.Sprint(withAnswers, len(round))
	}
	if asks := asksAgain(round, round[0].rule); round[0].rule != "" && f.Begins == asks {
		return before, asks
	}
	return before, asksAgain(round, ruleOfOutcome(round))
}

// ruleOfOutcome is the rule that follows from how questions were settled that were asked together.
func ruleOfOutcome(round []settled) string {
	replies, stopped, open := 0, false, false
	for _, s := range round {
		p, _ := policyOf(s.policy)
		stopped = stopped || strings.HasPrefix(s.said, string(interaction.Reject)) ||
			p.approval && s.resolution == byDefault
		open = open || s.resolution == superseded
		if s.resolution == userReply {
			replies++
		}
	}
	if !open || stopped || replies == 0 {
		replies = len(round)
	}
	return textOfRule(len(round), replies, open && stopped)
}

func inheritedLines(all []settled) (lines string) {
	for _, s := range all {
		lines += s.inherited().line()
	}
	return lines
}

// parse reads settled questions, one on each line.
func parse(lines string) (all []settled) {
	_, _ = find(lines, func(s settled) bool {
		all = append(all, s)
		return false
	})
	return all
}

// allSettled are the run's own settled questions in the order of their numbers.
func (now run) allSettled() []settled {
	all := parse(now.settled)
	slices.SortFunc(all, func(a, b settled) int { return cmp.Compare(a.id, b.id) })
	return all
}
