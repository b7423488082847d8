package store

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/plainjson"
	"github.com/interlude-go/interlude/slots"
)

// MaxSeq is the largest number of events of a run.
const MaxSeq = 1<<28 - 1

// A database's text holds no NUL and, like JSON, only UTF-8. Texts that a store cannot keep
// unchanged are rejected here for all stores; otherwise each store would change them differently.

// validName reports whether a text can be an id: UTF-8 without NUL, possibly empty.
func validName(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// validateTexts checks that every store can return the commit's texts and numbers unchanged.
func (c *Commit) validateTexts() error {
	r := &c.Run
	if !validName(r.ID) || !validName(r.Pool) || !validName(r.Owner) {
		return invalid(r, "id, pool and owner are UTF-8 without NUL, not %+.128q, %+.128q and %+.128q", r.ID, r.Pool,
			r.Owner)
	}
	if r.Version > math.MaxInt64 || r.Epoch > math.MaxInt64 || r.Seq > MaxSeq {
		return invalid(r, "version and epoch are at most %d and it has at most %d events; they are %d, %d and %d",
			int64(math.MaxInt64), MaxSeq, r.Version, r.Epoch, r.Seq)
	}
	t := texts{}
	t.run(r)
	for i := range c.Settled {
		t.settled(&c.Settled[i])
	}
	if t.wrong != "" {
		return invalid(r, "%s is not UTF-8, which no store can keep", t.wrong)
	}
	if t.notJSON != "" {
		return invalid(r, "%s is not JSON, or has blanks around it", t.notJSON)
	}
	if !c.plainHints() {
		return invalid(r, "the question's ui_hints are not of the types that encoding/json decodes to, or nest "+
			"deeper than %d", maxHints)
	}
	return nil
}

// plainHints reports whether the questions' hints have types that JSON decodes to.
func (c *Commit) plainHints() bool {
	for i := range c.Run.Open {
		if !plainValues(c.Run.Open[i].UIHints, 0) {
			return false
		}
	}
	for i := range c.Settled {
		if !plainValues(c.Settled[i].Question.UIHints, 0) {
			return false
		}
	}
	return true
}

// texts records a wrong text, and foreign JSON that cannot be stored byte for byte.
type texts struct{ wrong, notJSON string }

func (t *texts) json(name string, raw json.RawMessage) {
	if len(raw) > 0 && !plainjson.Embeddable(raw) {
		t.notJSON = name
	}
}

func (t *texts) text(name, s string) {
	if s != "" && !utf8.ValidString(s) { // most are empty
		t.wrong = name
	}
}

func (t *texts) run(r *Run) {
	t.text("contract", r.Contract)
	t.text("spec_digest", r.SpecDigest)
	t.text("engine", r.Engine)
	if f := r.ForkedFrom; f != nil {
		t.text("the run that it was forked from", f.RunID)
	}
	if f := r.Family; f != nil {
		for _, id := range f.Ancestors {
			t.text("an ancestor", id)
		}
	}
	t.text("mode", string(r.Mode))
	t.text("key", r.Key)
	t.text("title", r.Title)
	t.text("trace", r.Trace)
	for k, v := range r.Labels {
		t.text("a label", k)
		t.text("a label", v)
	}
	t.text("profile", string(r.Profile))
	t.session(r.Session)
	for i := range r.Open {
		t.question(&r.Open[i])
	}
	for i := range r.Answers {
		a := &r.Answers[i]
		t.text("the answer's resolution_mode", string(a.Resolution))
		t.text("the answer's text", a.Text)
		t.text("the answer's actor", a.Actor)
		if auto := a.Auto; auto != nil {
			for _, s := range []string{auto.Source, auto.Reason, string(auto.Policy), auto.Instruction} {
				t.text("the answer's decision", s)
			}
		}
		t.text("the answer's decision", string(a.Decision))
		t.text("the answer's question_digest", a.Digest)
		t.text("the answer's front end", a.Via)
		t.text("the answer's principal", a.For)
		t.text("the answer's ref", a.Ref)
		t.votes(a.Votes)
		t.json("the answer's value", a.Value)
		t.json("the answer's arguments", a.Arguments)
	}
	for i := range r.Remembered {
		t.memory(&r.Remembered[i])
	}
	t.text("on_interrupt", string(r.OnInterrupt))
	t.text("hold", string(r.Hold))
	if b := r.Block; b != nil {
		t.text("the block's code", string(b.Code))
		t.text("the block's reason", b.Reason)
		for _, c := range b.Choices {
			t.text("a choice", string(c))
		}
		for _, id := range b.Children {
			t.text("a child", id)
		}
	}
	t.text("recovery_state", string(r.Recovery))
	t.text("recovery_reason", r.RecoveryReason)
	t.text("final_text", r.FinalText)
	t.json("the output", r.Output)
	if f := r.Error; f != nil {
		t.text("the error's code", string(f.Code))
		t.text("the error's message", f.Message)
	}
	for _, w := range r.Warnings {
		t.text("a warning", string(w))
	}
	t.text("cancel_reason", r.CancelReason)
}

func (t *texts) memory(m *interaction.Memory) {
	for _, s := range []string{m.Tool, m.Risk, m.Actor, m.Via} {
		t.text("a remembered decision", s)
	}
	for _, v := range m.Equal {
		t.text("a remembered decision's bound", v.Path)
		t.text("a remembered decision's bound", v.Digest)
	}
	for _, l := range m.Most {
		t.text("a remembered decision's limit", l.Path)
		t.text("a remembered decision's limit", l.Limit)
	}
	if m.To != nil {
		for _, name := range slices.Concat(m.To.Users, m.To.Groups, m.To.Except) {
			t.text("a name of who could answer", name)
		}
	}
}

func (t *texts) session(s *interaction.SessionHandle) {
	if s != nil {
		t.text("the session's engine", s.Engine)
		t.text("the session's version", s.Version)
	}
}

func (t *texts) question(q *interaction.Question) {
	t.text("the question's kind", string(q.Kind))
	t.text("the question's prompt", q.Prompt)
	for _, o := range q.Options {
		t.text("an option's label", o.Label)
		t.text("an option's value", o.Value)
	}
	for _, f := range q.RequiredFields {
		t.text("a required field", f)
	}
	t.text("the question's context", q.Context)
	t.text("the question's policy", string(q.DefaultPolicy))
	t.text("the question's ref", q.Ref)
	t.json("the question's schema", q.Schema)
	if q.To != nil {
		for _, name := range slices.Concat(q.To.Users, q.To.Groups, q.To.Except) {
			t.text("a name of who may answer", name)
		}
	}
	if w := q.Wait; w != nil && w.Default != nil {
		t.text("the default answer", w.Default.Text)
		t.json("the default answer's value", w.Default.Value)
	}
	if f := q.Files; f != nil {
		t.text("the files' host", f.Host)
		for i := range f.List {
			t.text("a file's name", f.List[i].Name)
			t.text("a file's media type", f.List[i].MediaType)
			t.text("a file's SHA-256", f.List[i].SHA256)
			t.text("a file's path", f.List[i].Path)
		}
	}
	t.votes(q.Votes)
	for i := range q.Notes.All() {
		n := &q.Notes.List[i]
		for _, s := range []string{n.Text, n.Actor, n.Via, n.For, n.Key} {
			t.text("a note", s)
		}
	}
	if q.Claim != nil {
		t.text("a claim", q.Claim.Actor)
		t.text("a claim", q.Claim.Via)
		t.text("a claim", q.Claim.For)
	}
	if s := q.Subject; s != nil {
		t.text("the subject's tool", s.Tool)
		t.text("the subject's title", s.Title)
		t.text("the subject's risk", s.Risk)
		t.text("the subject's summary", s.Summary)
		t.json("the subject's arguments", s.Arguments)
		for i := range s.Changes {
			t.text("a change's path", s.Changes[i].Path)
			t.text("a change's kind", string(s.Changes[i].Kind))
			t.text("a change's text", s.Changes[i].Before)
			t.text("a change's text", s.Changes[i].After)
		}
	}
}

func (t *texts) votes(all []interaction.Vote) {
	for i := range all {
		v := &all[i]
		for _, s := range []string{v.Actor, v.Via, string(v.Decision), v.Text, v.Key, v.Digest, v.Seen, v.For} {
			t.text("a vote", s)
		}
	}
}

func (t *texts) settled(r *interaction.Record) {
	t.question(&r.Question)
	t.text("the settled interaction's resolution_mode", string(r.Resolution))
	t.text("the response", r.Response)
	t.text("the actor", r.Actor)
	t.text("auto_decide_reason", r.AutoDecideReason)
	t.text("the idempotency key", r.Key)
	t.text("the reply's digest", r.Digest)
	t.text("the decision", string(r.Decision))
	t.text("the digest that was seen", r.Seen)
	t.text("the front end", r.Via)
	t.json("the value", r.Value)
	t.session(r.Session)
}

const maxHints = 100

// plainValues reports whether encoding/json can decode JSON to the value.
func plainValues(v any, depth int) bool {
	if depth > maxHints {
		return false
	}
	switch v := v.(type) {
	case nil, bool:
		return true
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		return utf8.ValidString(v)
	case []any:
		for _, e := range v {
			if !plainValues(e, depth+1) {
				return false
			}
		}
		return v != nil
	case map[string]any:
		for k, e := range v {
			if !utf8.ValidString(k) || !plainValues(e, depth+1) {
				return false
			}
		}
		return v != nil || depth == 0
	}
	return false
}

// Validate returns an error that matches ErrInvalid if the node cannot be registered.
func (n Node) Validate() error {
	if n.ID == "" || n.Lease <= 0 || !validName(n.ID) || !validName(n.Identity) {
		return fmt.Errorf("%w: a node needs an id and a lease, and its texts are UTF-8 without NUL; they are "+
			"%+.128q, %s and %+.128q",
			ErrInvalid, n.ID, n.Lease, n.Identity)
	}
	return validateEngines(n.Engines)
}

// MaxEngines is the maximum number of engines of a node.
const MaxEngines = 1000

const maxEngineName = slots.MaxName

func validateEngines(names []string) error {
	if names != nil && (len(names) == 0 || len(names) > MaxEngines) {
		return fmt.Errorf("%w: a node names 1 to %d engines, not %d; nil means any", ErrInvalid, MaxEngines,
			len(names))
	}
	for i, name := range names {
		if !validEngine(name) {
			return fmt.Errorf("%w: an engine's name is 1 to %d of [A-Za-z0-9._/-], beginning with a letter or digit, "+
				"not %+.128q",
				ErrInvalid, maxEngineName, name)
		}
		if i > 0 && name <= names[i-1] {
			return fmt.Errorf("%w: engines are named in byte order, each once; %q comes after %q", ErrInvalid, name,
				names[i-1])
		}
	}
	return nil
}

func validEngine(name string) bool {
	for i := range len(name) {
		c := name[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !plain && (i == 0 || c != '.' && c != '_' && c != '/' && c != '-') {
			return false
		}
	}
	return name != "" && len(name) <= maxEngineName
}

func (n *Node) has(engine string) bool {
	_, found := slices.BinarySearch(n.Engines, engine)
	return found || n.Engines == nil
}
