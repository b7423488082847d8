package linear

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// View is the observable state of a run in a history: everything that a caller may rely on, except
// texts, and times that the writer may choose.
type View struct {
	State                 string
	Version, Epoch, Seq   uint64
	Attempt               int
	Slot                  bool
	Owner                 string
	Interactions, Pending int
	Siblings              string // the open questions after the pending one, separated by spaces
	// For several questions of one turn: their number, the required answers, and the replies while the
	// run waits; 0 for a single question.
	Asked, Needs, Replies int
	Stops                 bool   // whether a rejection stops it
	Waits                 string // the questions' waits
	Deadline              int64  // microseconds; 0 for none
	AutoDecisions         int
	Profile               string
	Session               bool
	Answer                string // an answer that was accepted and not yet executed to the end
	Code                  string // the error code of a run that failed or was canceled
	Recovery              string
	Claims                string // of the open questions, one on each line; see people.go
	To                    string // who is asked them, likewise
	Votes                 string // on them, likewise; see votes.go
	Voted                 int    // how many votes were given in all
	Hidden                string // the hidden questions, and until when, likewise; see rules.go
	Remembered            string // the remembered decisions, likewise
	Notes                 string // the number of notes on each open question, likewise
	From                  string // the run that it was forked from, and how: see textOfPoint
	Inherits              bool   // it continues with the answers to several questions of that
	// run
	Limit, Used store.Budget // of a run with a budget
	Held        string       // the code for which the run is held; empty if it is not
}

// ViewOf returns the view of a record.
func ViewOf(r *store.Run) View {
	v := View{
		State: string(r.State), Version: r.Version, Epoch: r.Epoch, Seq: r.Seq, Attempt: r.Attempt, Slot: r.Slot,
		Owner:        r.Owner,
		Interactions: r.Interactions, AutoDecisions: r.AutoDecisions, Profile: string(r.Profile),
		Session:  r.Session != nil,
		Deadline: micros(r.Deadline), Recovery: string(r.Recovery),
	}
	if len(r.Open) > 0 {
		v.Pending = r.Open[0].ID
	}
	v.Siblings, v.Waits = numbers(r.Open), waitsOf(r)
	v.Claims, v.To, v.Votes, v.Voted = claimsOf(r), audiencesOf(r), votesOf(r), r.Votes
	v.Hidden, v.Remembered, v.Notes = hiddenOf(r), memoriesOf(r), notesOf(r)
	if t := r.Together; t != nil {
		v.Asked, v.Needs, v.Replies, v.Stops = t.Asked, t.Rule.Needs(t.Asked), t.Replies, t.Rule.StopOnReject
		v.Inherits = t.Inherited
	}
	if len(r.Answers) > 0 {
		a := r.Answers[0]
		v.Answer = answer(a.ID, string(a.Resolution), said(a.Decision, a.Text, ballot(a.ID, a.Votes)))
	}
	if f := r.ForkedFrom; f != nil {
		v.From = textOfPoint(f.RunID, f.Question, f.AsksAgain, f.Withholds)
	}
	if r.Budget != nil {
		v.Limit, v.Used = r.Budget.Limit, r.Budget.Used
	}
	if r.Held() {
		v.Held = string(r.Block.Code)
	}
	if r.Error != nil {
		v.Code = string(r.Error.Code)
	}
	return v
}

// textOfPoint describes the point from which a run was forked, how many questions it asks again, and
// whether its history has answers that it does not inherit.
func textOfPoint(source string, question, asks int, withholds bool) string {
	text := fmt.Sprint(source, " ", question)
	if asks > 0 {
		text += fmt.Sprint(" asks ", asks)
	}
	if withholds {
		text += " withholds"
	}
	return text
}

// numbers returns the numbers of all questions but the first.
func numbers(open []interaction.Question) (text string) {
	for i, q := range open {
		switch i {
		case 0:
		case 1:
			text = strconv.Itoa(q.ID)
		default:
			text += " " + strconv.Itoa(q.ID)
		}
	}
	return text
}

// answer names an accepted answer. An automatic one has no text here, since the library chooses its
// text.
func answer(id int, resolution, text string) string {
	if resolution != userReply {
		text = ""
	}
	return fmt.Sprintf("%d %s %s", id, resolution, text)
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// differs names the fields in which two views differ, and returns "" if they are equal.
func differs(want, got View) (text string) {
	if want == got {
		return ""
	}
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range w.NumField() {
		if a, b := w.Field(i).Interface(), g.Field(i).Interface(); a != b {
			text += fmt.Sprintf("%s is %v, want %v; ", w.Type().Field(i).Name, b, a)
		}
	}
	return text
}

// String shows the fields that are set.
func (v View) String() string {
	if v.State == "" {
		return "no run"
	}
	text := fmt.Sprintf("%s v%d a%d e%d #%d", v.State, v.Version, v.Attempt, v.Epoch, v.Seq)
	if v.Slot {
		text += " slot"
	}
	if v.Owner != "" {
		text += " of " + v.Owner
	}
	if v.Pending != 0 {
		text += fmt.Sprintf(" asks %d", v.Pending)
	}
	if v.Asked != 0 {
		text += fmt.Sprintf(" %s with %d of %d replies to %d", v.Siblings, v.Replies, v.Needs, v.Asked)
	}
	if v.Waits != "" {
		text += " waits " + v.Waits
	}
	if v.Answer != "" {
		text += fmt.Sprintf(" answered %q", v.Answer)
	}
	if v.Claims != "" {
		text += fmt.Sprintf(" claimed %q", v.Claims)
	}
	if v.To != "" {
		text += fmt.Sprintf(" to %q", v.To)
	}
	if v.Votes != "" {
		text += fmt.Sprintf(" votes %q", v.Votes)
	}
	if v.Hidden != "" {
		text += fmt.Sprintf(" hidden %q", v.Hidden)
	}
	if v.Remembered != "" {
		text += fmt.Sprintf(" remembers %q", v.Remembered)
	}
	if v.Notes != "" {
		text += fmt.Sprintf(" noted %q", v.Notes)
	}
	if v.Session {
		text += " with a session"
	}
	if v.Recovery != "none" {
		text += " " + v.Recovery
	}
	if v.From != "" {
		text += " forked from " + v.From
	}
	if v.Limit != (store.Budget{}) {
		text += fmt.Sprintf(" used %d tokens of %d in %d turns of %d", v.Used.Tokens, v.Limit.Tokens, v.Used.Turns,
			v.Limit.Turns)
	}
	if v.Held != "" {
		text += " held for " + v.Held
	}
	if v.Code != "" {
		text += " " + v.Code
	}
	return text
}
