package web

import (
	"encoding/json"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// The JSON that the API returns. It never contains a run's session, which gives access to the
// agent's memory like a password, or the node that executes the run.

// Run is a run as the API shows it.
type Run struct {
	ID         string            `json:"id"`
	Version    uint64            `json:"version" doc:"Counts the changes of the run."`
	State      string            `json:"state" enum:"queued,running,waiting_user,succeeded,failed,canceled"`
	Mode       string            `json:"mode" enum:"auto,interactive"`
	Engine     string            `json:"engine"`
	Pool       string            `json:"pool"`
	Key        string            `json:"key,omitempty"`
	Priority   int               `json:"priority,omitempty"`
	Title      string            `json:"title,omitempty" doc:"The submitter's short description of the run."`
	Labels     map[string]string `json:"labels,omitempty"`
	ForkedFrom *ForkPoint        `json:"forked_from,omitempty"`

	Attempt   int        `json:"attempt" doc:"The number of the current or last turn; 0 before the first."`
	LastEvent uint64     `json:"last_event" doc:"The number of the run's last event: a cursor for its events."`
	Questions []Question `json:"questions" nullable:"false" doc:"The open questions."`
	Block     *Block     `json:"block,omitempty" doc:"Why the run cannot continue now; missing if it can."`
	Budget    *RunBudget `json:"budget,omitempty"`
	// Remembered are decisions that also approve later calls.
	Remembered []Memory `json:"remembered,omitempty" nullable:"false" doc:"Decisions that also approve later calls."`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	NotBefore time.Time `json:"not_before,omitzero"`
	QueuedAt  time.Time `json:"queued_at,omitzero"`
	Due       time.Time `json:"due,omitzero" doc:"When the next automatic step of an open question is due."`

	FinishedAt   time.Time       `json:"finished_at,omitzero"`
	Output       json.RawMessage `json:"output,omitempty" doc:"The result, as JSON."`
	FinalText    string          `json:"final_text,omitempty"`
	Error        *Failure        `json:"error,omitempty"`
	Warnings     []string        `json:"warnings,omitempty" nullable:"false"`
	CancelReason string          `json:"cancel_reason,omitempty"`
}

// ForkPoint is the origin of a fork.
type ForkPoint struct {
	RunID    string `json:"run_id"`
	Question int    `json:"question,omitempty" doc:"Missing if the fork continues from the run's end."`
	Asks     int    `json:"asks_again,omitempty" doc:"How many of its first questions the fork asks again."`
}

// Block says why a run cannot continue now.
type Block struct {
	Kind    string    `json:"kind" enum:"retry,sleep,children,held"`
	Until   time.Time `json:"until,omitzero"`
	Code    string    `json:"code,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Choices []string  `json:"choices,omitempty" nullable:"false" doc:"The choices for resume."`
}

// Memory is a decision that also approves later calls of its tool. Without equal and most, it approves any
// arguments.
type Memory struct {
	Question int       `json:"question" doc:"The question that was decided."`
	Tool     string    `json:"tool"`
	Risk     string    `json:"risk,omitempty" doc:"The risk that was acknowledged."`
	Equal    []string  `json:"equal,omitempty" nullable:"false" doc:"JSON pointers to arguments that must be as in the question; empty text: all."`
	Most     []Limit   `json:"most,omitempty" nullable:"false"`
	Actor    string    `json:"actor" doc:"Who decided."`
	Name     string    `json:"name,omitempty" doc:"The name in the host's directory, if it is found in time."`
	Via      string    `json:"via,omitempty"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until"`
}

// Limit is the upper limit of a numeric argument.
type Limit struct {
	Path  string `json:"path" maxLength:"255" doc:"A JSON pointer."`
	Limit string `json:"limit" maxLength:"64" doc:"A decimal number without sign and exponent."`
}

// Budget limits turns and tokens; 0 is unlimited.
type Budget struct {
	Turns  int   `json:"turns,omitempty" minimum:"0"`
	Tokens int64 `json:"tokens,omitempty" minimum:"0"`
}

// RunBudget is a run's budget and its use so far.
type RunBudget struct {
	Limit Budget `json:"limit"`
	Used  Budget `json:"used"`
}

// Failure says why a run failed or was canceled.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Question is a question as the API shows it.
type Question struct {
	ID      int       `json:"id" doc:"The question's number within its run, from 1."`
	Attempt int       `json:"attempt"`
	Kind    string    `json:"kind" enum:"choose_one,confirm,fill_fields,open_text,risk_ack,approval"`
	Prompt  string    `json:"prompt"`
	Context string    `json:"context,omitempty"`
	AskedAt time.Time `json:"asked_at"`

	Options        []Option        `json:"options,omitempty" nullable:"false"`
	Only           bool            `json:"only,omitempty" doc:"Only an option is accepted; yes or no if there is none."`
	RequiredFields []string        `json:"required_fields,omitempty" nullable:"false"`
	UIHints        map[string]any  `json:"ui_hints,omitempty"`
	Schema         json.RawMessage `json:"schema,omitempty" doc:"The JSON Schema of a form, or of edited arguments."`
	AlsoText       bool            `json:"also_text,omitempty" doc:"A form or an approval also takes a text."`
	Subject        *Subject        `json:"subject,omitempty" doc:"The tool call to approve."`
	Digest         string          `json:"digest" doc:"Identifies the content of the question; a reply sends it back as seen."`

	Files     []File `json:"files,omitempty" nullable:"false" doc:"Files and pictures, served under /files/ with their number, from 0."`
	FilesHost string `json:"files_host,omitempty" doc:"The machine that has the files."`

	To          *Audience `json:"to,omitempty" doc:"The audience; missing: everybody."`
	MayReply    bool      `json:"may_reply" doc:"Whether the caller may answer the question now."`
	For         string    `json:"for,omitempty" doc:"The absent person for whom the caller may answer, as a deputy."`
	ForName     string    `json:"for_name,omitempty" doc:"That person's name in the directory."`
	MayReassign bool      `json:"may_reassign" doc:"Whether the caller is in the audience, and so may reassign the question."`
	Need        int       `json:"need,omitempty" doc:"How many people must approve, if several decide."`
	Rejects     int       `json:"rejects,omitempty" doc:"How many people must reject, if several decide."`
	Votes       []Vote    `json:"votes,omitempty" nullable:"false"`
	Claim       *Claim    `json:"claim,omitempty" doc:"Who works on the question; missing without a claim."`
	Notes       []Note    `json:"notes,omitempty" nullable:"false" doc:"People's notes, the oldest first."`

	Steps   []Step         `json:"steps,omitempty" nullable:"false" doc:"Reminders and escalations while the question is open."`
	Then    string         `json:"then,omitempty" enum:"keep_waiting,fail,auto_decide,take_default"`
	EndsAt  time.Time      `json:"ends_at,omitzero" doc:"When the wait ends; missing: never."`
	OwnWait bool           `json:"own_wait,omitempty" doc:"The end belongs to the question and can be moved."`
	Default *DefaultAnswer `json:"default,omitempty" doc:"The answer that counts at the end, for take_default."`
}

// DefaultAnswer is the answer that counts if the question is not answered in time.
type DefaultAnswer struct {
	Text     string          `json:"text,omitempty"`
	Value    json.RawMessage `json:"value,omitempty" doc:"The value of a form."`
	Decision string          `json:"decision,omitempty" enum:"reject" doc:"For an approval: a timeout never approves."`
}

// Option is one choice that a question offers.
type Option struct {
	Label string `json:"label"`
	Value string `json:"value"`
	Yes   bool   `json:"yes,omitempty" doc:"This is the option of a confirm or risk_ack that means yes."`
}

// Subject is the tool call to approve.
type Subject struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Title     string          `json:"title,omitempty"`
	Risk      string          `json:"risk,omitempty"`
	Summary   string          `json:"summary,omitempty" doc:"What distinguishes the call from others of the tool."`
	Changes   []Change        `json:"changes,omitempty" nullable:"false" doc:"What the call does to texts; only the arguments are executed."`
}

// Change is the change of one text.
type Change struct {
	Path    string `json:"path"`
	Kind    string `json:"kind" enum:"create,edit,delete"`
	Before  string `json:"before,omitempty" doc:"Missing for a text that is empty or created."`
	After   string `json:"after,omitempty" doc:"Missing for a text that is empty or deleted."`
	Removed int    `json:"removed" doc:"Lines between the equal beginnings and ends of the two texts, before."`
	Added   int    `json:"added" doc:"These lines, after."`
}

// File describes a file of a question. Its size and digest are checked when it is served.
type File struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Size      int64  `json:"size" doc:"In bytes."`
	SHA256    string `json:"sha256"`
}

// Audience says who may answer.
type Audience struct {
	Everybody bool     `json:"everybody,omitempty"`
	Users     []string `json:"users,omitempty" nullable:"false" maxItems:"100"`
	Groups    []string `json:"groups,omitempty" nullable:"false" maxItems:"100"`
	Except    []string `json:"except,omitempty" nullable:"false" maxItems:"100"`
}

// Vote is one person's decision where several decide.
type Vote struct {
	Actor    string    `json:"actor"`
	Name     string    `json:"name,omitempty" doc:"The name in the host's directory, if it is found in time."`
	Via      string    `json:"via,omitempty"`
	Decision string    `json:"decision" enum:"approve,reject"`
	Text     string    `json:"text,omitempty"`
	VotedAt  time.Time `json:"voted_at"`
	For      string    `json:"for,omitempty" doc:"The person for whom a deputy has voted."`
	ForName  string    `json:"for_name,omitempty" doc:"That person's name in the directory."`
	Mine     bool      `json:"mine,omitempty" doc:"By the caller, under any spelling of the name."`
}

// Note is a person's note on a question, in plain text.
type Note struct {
	Text    string    `json:"text"`
	Actor   string    `json:"actor,omitempty"`
	Name    string    `json:"name,omitempty" doc:"The name in the host's directory, if it is found in time."`
	Via     string    `json:"via,omitempty"`
	NotedAt time.Time `json:"noted_at"`
	For     string    `json:"for,omitempty" doc:"The person for whom a deputy wrote."`
	ForName string    `json:"for_name,omitempty" doc:"That person's name in the directory."`
	Mine    bool      `json:"mine,omitempty" doc:"By the caller, under any spelling of the name."`
}

// Claim reserves a question for a person until a time.
type Claim struct {
	Actor   string    `json:"actor"`
	Name    string    `json:"name,omitempty" doc:"The name in the host's directory, if it is found in time."`
	Via     string    `json:"via,omitempty"`
	Until   time.Time `json:"until"`
	For     string    `json:"for,omitempty" doc:"The person for whom a deputy has claimed."`
	ForName string    `json:"for_name,omitempty" doc:"That person's name in the directory."`
	Mine    bool      `json:"mine,omitempty" doc:"By the caller, under any spelling of the name."`
}

// Step is a reminder or an escalation of an open question.
type Step struct {
	Do   string    `json:"do" enum:"remind,escalate"`
	At   time.Time `json:"at"`
	Done bool      `json:"done,omitempty"`
}

// Settlement is how a question was settled, and by whom.
type Settlement struct {
	Resolution string    `json:"resolution"`
	State      string    `json:"state,omitempty" doc:"The state of the run."`
	Actor      string    `json:"actor,omitempty"`
	Name       string    `json:"name,omitempty" doc:"The name in the host's directory, if it is found in time."`
	Via        string    `json:"via,omitempty"`
	At         time.Time `json:"at,omitzero"`
}

// Record is one entry of a run's history. An open question has no resolution.
type Record struct {
	Question   Question        `json:"question"`
	Resolution string          `json:"resolution,omitempty"`
	Text       string          `json:"text,omitempty" doc:"The text that the agent received."`
	Value      json.RawMessage `json:"value,omitempty"`
	Decision   string          `json:"decision,omitempty"`
	Actor      string          `json:"actor,omitempty"`
	Name       string          `json:"name,omitempty" doc:"The name in the host's directory, if it is found in time."`
	For        string          `json:"for,omitempty" doc:"The person for whom the actor, a deputy, has answered."`
	ForName    string          `json:"for_name,omitempty" doc:"That person's name in the directory."`
	Mine       bool            `json:"mine,omitempty" doc:"By the caller, under any spelling of the name."`
	Via        string          `json:"via,omitempty"`
	SettledAt  time.Time       `json:"settled_at,omitzero"`
	AutoReason string          `json:"auto_reason,omitempty" doc:"Why the question was decided without a person."`
}

// OpenQuestion is a question of an inbox, with facts about its run.
type OpenQuestion struct {
	RunID    string            `json:"run_id"`
	Title    string            `json:"title,omitempty" doc:"The run's title."`
	Labels   map[string]string `json:"labels,omitempty"`
	Pool     string            `json:"pool"`
	Key      string            `json:"key,omitempty"`
	Due      time.Time         `json:"due,omitzero"`
	Notes    int               `json:"notes,omitempty" doc:"The number of the question's notes. GET /runs/{id} and the question have their texts."`
	Question Question          `json:"question"`
}

func texts[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, text := range all {
		out[i] = string(text)
	}
	return out
}

func showRun(r *lifecycle.Run, actor lifecycle.Actor, now time.Time) Run {
	v := Run{ID: r.ID, Version: r.Version, State: string(r.State), Mode: string(r.Mode), Engine: r.Engine, Pool: r.Pool,
		Key: r.Key, Priority: r.Priority, Title: r.Title, Labels: r.Labels, Attempt: r.Attempt, LastEvent: r.Seq,
		Questions: showQuestions(r, actor, now), CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		NotBefore: r.NotBefore, QueuedAt: r.QueuedAt, Due: r.Deadline, FinishedAt: r.FinishedAt, Output: r.Output,
		FinalText: r.FinalText, Warnings: texts(r.Warnings), CancelReason: r.CancelReason}
	if r.ForkedFrom != nil {
		v.ForkedFrom = &ForkPoint{r.ForkedFrom.RunID, r.ForkedFrom.Question, r.ForkedFrom.AsksAgain}
	}
	if b := r.Block; b != nil {
		v.Block = &Block{string(b.Kind), b.Until, string(b.Code), b.Reason, texts(b.Choices)}
	}
	if b := r.Budget; b != nil {
		v.Budget = &RunBudget{Budget(b.Limit), Budget(b.Used)}
	}
	if r.Error != nil {
		v.Error = &Failure{string(r.Error.Code), r.Error.Message}
	}
	for i := range r.Remembered {
		if m := &r.Remembered[i]; m.Lasts(now) {
			v.Remembered = append(v.Remembered, showMemory(m))
		}
	}
	return v
}

func showMemory(m *lifecycle.Memory) Memory {
	v := Memory{Question: m.ID, Tool: m.Tool, Risk: m.Risk, Actor: m.Actor, Via: m.Via, At: m.At, Until: m.Until}
	for i := range m.Equal {
		v.Equal = append(v.Equal, m.Equal[i].Path)
	}
	for _, l := range m.Most {
		v.Most = append(v.Most, Limit(l))
	}
	return v
}

func showQuestions(r *lifecycle.Run, actor lifecycle.Actor, now time.Time) []Question {
	all := r.Open
	out := make([]Question, len(all))
	for i := range all {
		out[i] = showQuestion(&all[i], actor, now)
		then, at := r.EndOf(&all[i])
		out[i].Then, out[i].EndsAt = string(then), at
	}
	return out
}

// showQuestion returns the question as the actor sees it at this time, assuming that it is open. It
// shows the end of the question's own wait; callers that know the run replace it by the end under
// the run's policy.
func showQuestion(q *lifecycle.Question, actor lifecycle.Actor, now time.Time) Question {
	by, may := q.Represents(actor, now)
	free := !q.Claim.Excludes(by, now)
	v := Question{ID: q.ID, Attempt: q.Attempt, Kind: string(q.Kind), Prompt: q.Prompt, Context: q.Context,
		AskedAt: q.AskedAt, RequiredFields: q.RequiredFields, UIHints: q.UIHints, Schema: q.Schema,
		AlsoText: q.AlsoText, Only: q.Only, Digest: q.Digest(), To: showAudience(q.To), Need: int(q.Need),
		Rejects:  int(q.Rejects),
		EndsAt:   q.EndsAt,
		MayReply: may && free, For: by.For,
		MayReassign: (may || q.To.Admits(actor)) && free}
	yes := q.YesOption()
	for i, o := range q.Options {
		v.Options = append(v.Options, Option{o.Label, o.Value, i == yes})
	}
	if q.Subject != nil {
		v.Subject = &Subject{q.Subject.Tool, q.Subject.Arguments, q.Subject.Title, q.Subject.Risk,
			q.Subject.Summary, showChanges(q.Subject.Changes)}
	}
	for _, f := range q.Files.All() {
		v.Files, v.FilesHost = append(v.Files, File{f.Name, f.MediaType, f.Size, f.SHA256}), q.Files.Host
	}
	for i := range q.Votes {
		v.Votes = append(v.Votes, showVote(&q.Votes[i], actor))
	}
	if q.Claim.Lasts(now) {
		v.Claim = showClaim(q.Claim, actor)
	}
	for i := range q.Notes.All() {
		n := &q.Notes.List[i]
		v.Notes = append(v.Notes, Note{Text: n.Text, Actor: n.Actor, Via: n.Via, NotedAt: n.NotedAt, For: n.For,
			Mine: actor.Is(n.Actor)})
	}
	if w := q.Wait; w != nil {
		v.Then, v.OwnWait = string(w.Then), w.End > 0
		if d := w.Default; d != nil {
			v.Default = &DefaultAnswer{d.Text, d.Value, string(d.Decision)}
		}
		for i, s := range w.Steps {
			v.Steps = append(v.Steps, Step{string(s.Do), q.AskedAt.Add(s.After), i < int(q.Fired)})
		}
	}
	return v
}

func showChanges(all []lifecycle.Change) []Change {
	var out []Change
	for i := range all {
		c := &all[i]
		removed, added := c.Lines()
		out = append(out, Change{c.Path, string(c.Kind), c.Before, c.After, removed, added})
	}
	return out
}

func showInbox(all []lifecycle.InboxQuestion, actor lifecycle.Actor, now time.Time) []OpenQuestion {
	out := make([]OpenQuestion, len(all))
	for i := range all {
		o := &all[i]
		notes := len(o.Question.Notes.All())
		out[i] = OpenQuestion{o.RunID, o.Title, o.Labels, o.Pool, o.Key, o.Due, notes,
			showQuestion(&o.Question, actor, now)}
		out[i].Question.Notes = nil // a page could have many long ones
		out[i].Question.Then, out[i].Question.EndsAt = string(o.Then), o.EndsAt
	}
	return out
}

func showVote(v *lifecycle.Vote, actor lifecycle.Actor) Vote {
	return Vote{Actor: v.Actor, Via: v.Via, Decision: string(v.Decision), Text: v.Text, VotedAt: v.VotedAt, For: v.For,
		Mine: actor.Is(v.Actor)}
}

func showClaim(c *lifecycle.Claim, actor lifecycle.Actor) *Claim {
	return &Claim{Actor: c.Actor, Via: c.Via, Until: c.Until, For: c.For, Mine: actor.Is(c.Actor)}
}

func showAudience(a *lifecycle.Audience) *Audience {
	if a == nil {
		return nil
	}
	return &Audience{a.Everybody, a.Users, a.Groups, a.Except}
}

func (a *Audience) audience() *lifecycle.Audience {
	if a == nil {
		return nil
	}
	return &lifecycle.Audience{Everybody: a.Everybody, Users: a.Users, Groups: a.Groups, Except: a.Except}
}

func showRecord(r *lifecycle.Record, actor lifecycle.Actor, now time.Time) Record {
	v := Record{Question: showQuestion(&r.Question, actor, now), Resolution: string(r.Resolution), Text: r.Response,
		Value: r.Value, Decision: string(r.Decision), Actor: r.Actor, For: r.For(), Via: r.Via, SettledAt: r.ResolvedAt,
		AutoReason: r.AutoDecideReason, Mine: r.Actor != "" && actor.Is(r.Actor)}
	if r.Resolution != "" {
		v.Question.MayReply, v.Question.For, v.Question.Claim = false, "", nil
	}
	return v
}
