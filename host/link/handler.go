package link

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/lifecycle"
)

// Reason says why a link was rejected. The response has it in the header Interlude-Reason.
type Reason string

// The reasons and their statuses.
const (
	Damaged     Reason = "damaged"      // 400: the address is incomplete, changed or forged
	Invalid     Reason = "invalid"      // 400: the answer is invalid, for example blank
	Risk        Reason = "risk"         // 400: the answer accepts a risk, and the box for it is not checked
	Foreign     Reason = "foreign"      // 403: signed with a key that is not in Config.Keys
	WrongPerson Reason = "wrong_person" // 403: opened by another person, or the person was never allowed to answer
	Reassigned  Reason = "reassigned"   // 403: the question was reassigned after the link was made
	NotAllowed  Reason = "not_allowed"  // 403: refused by Authorize or by the check of the browser's origin
	Gone        Reason = "gone"         // 404: the run was deleted, or never asked this question
	Settled     Reason = "settled"      // 409: already settled, by a person or a timeout; the page says how
	Voted       Reason = "voted"        // 409: the person has already voted
	Claimed     Reason = "claimed"      // 409: another person has claimed the question
	Expired     Reason = "expired"      // 410: the link has expired
	Changed     Reason = "changed"      // 412: the question has changed
	Unavailable Reason = "unavailable"  // 503: the store is unavailable; the same link works later
)

var statuses = map[Reason]int{
	Damaged: 400, Invalid: 400, Risk: 400, Foreign: 403, WrongPerson: 403, Reassigned: 403, NotAllowed: 403, Gone: 404,
	Settled: 409, Voted: 409, Claimed: 409, Expired: 410, Changed: 412, Unavailable: 503,
}

type refusal struct {
	reason   Reason
	question *lifecycle.Question // for Voted and Claimed
	record   *lifecycle.Record   // for Settled
	audience *lifecycle.Audience // the current audience, for Reassigned
}

type visit struct {
	*capability

	key      *Key
	actor    lifecycle.Actor
	client   *lifecycle.Client // acts as the person
	question lifecycle.Question
	record   *lifecycle.Record // how the question was settled; nil while it is open
	page     string            // the host's page for the question; empty: none

	form     *form           // the form to show after a POST that answers nothing
	reviewed json.RawMessage // the edited arguments to review
}

// maxForm limits the body of an answer: the longest text with every byte escaped.
const maxForm = 3*lifecycle.MaxReplyText + 4<<10

// formTimeout limits the reading of an answer.
const formTimeout = 30 * time.Second

// ServeHTTP serves a link; the last part of the path is its token. GET and HEAD return the page
// with the question and change nothing. POST stores the reply in the form. GET with the query "logo"
// returns the host's logo, for any token.
func (l *Links) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, body := reqbody.Limit(w, r, formTimeout)
	post := r.Method == http.MethodPost
	if !post && r.Method != http.MethodGet && r.Method != http.MethodHead {
		body.CloseUnread(w.Header())
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	if !post && len(l.config.Brand.Logo) > 0 && r.URL.Query().Has("logo") {
		body.CloseUnread(w.Header())
		l.writeLogo(w, r)
		return
	}
	var v *visit
	var refused *refusal
	if err := guarded(func() { v, refused = l.visit(w, r) }); err != nil {
		l.config.Logger.Error("link: request", "err", err)
		refused = &refusal{reason: Unavailable}
	}
	body.CloseUnread(w.Header())
	if refused == nil && !post && r.URL.Query().Has("file") {
		l.writeFile(w, r, v)
		return
	}
	l.write(w, r, v, refused, post)
}

func (l *Links) visit(w http.ResponseWriter, r *http.Request) (*visit, *refusal) {
	v, refused := l.open(r, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
	switch {
	case refused != nil:
	case r.Method != http.MethodPost:
		if refused = l.refuse(v); refused == nil {
			v.page = l.fullPage(v.capability)
		}
	case l.origin.Check(r) != nil: // a page of another site submits the form for a signed-in person
		refused = &refusal{reason: NotAllowed}
	default:
		refused = l.accept(w, r, v)
	}
	return v, refused
}

// guarded calls f, which calls the host's functions, in its own goroutine. It returns an error if
// they panic or call runtime.Goexit.
func guarded(f func()) error {
	err := errors.New("link: a function of the host exited its goroutine")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("link: a function of the host panicked: %v\n%s", p, debug.Stack())
			}
		}()
		f()
		err = nil
	}()
	<-done
	return err
}

// open verifies the token and loads its question. It changes nothing.
func (l *Links) open(r *http.Request, token string) (*visit, *refusal) {
	c, key, err := open(l.config.Keys, token)
	switch {
	case errors.Is(err, errForeign):
		return nil, &refusal{reason: Foreign}
	case err != nil:
		return nil, &refusal{reason: Damaged}
	case !l.now().Before(c.until):
		return nil, &refusal{reason: Expired}
	}
	v := &visit{capability: c, key: key, actor: lifecycle.Actor{ID: c.person}}
	if l.config.Person != nil {
		if v.actor, err = l.config.Person(r, c.person); err != nil || !v.actor.Is(c.person) {
			if err != nil && !errors.Is(err, ErrWrongPerson) {
				return nil, l.explain(v, err)
			}
			return nil, &refusal{reason: WrongPerson}
		}
	}
	if v.actor.Via == "" {
		v.actor.Via = "link"
	}
	v.client = l.config.Client.As(v.actor)
	if refused := l.load(r.Context(), v); refused != nil {
		return nil, refused
	}
	if v.question.Digest() != c.seen() || v.question.AskedAt.UnixMicro() != c.asked {
		return nil, &refusal{reason: Changed}
	}
	actor := v.client.WithPrincipals(r.Context(), v.actor)
	if by, ok := v.question.Represents(actor, l.config.Client.Now()); ok { // perhaps as a deputy
		v.actor, v.client = by, l.config.Client.As(by)
	}
	return v, nil
}

func (l *Links) load(ctx context.Context, v *visit) *refusal {
	record, err := v.client.Question(ctx, v.run, v.capability.question)
	if err != nil {
		return l.explain(v, err)
	}
	v.question = record.Question
	if record.Resolution != "" {
		v.record = &record
	}
	return nil
}

// refuse returns why the person cannot answer now, or nil.
func (l *Links) refuse(v *visit) *refusal {
	q := &v.question
	switch {
	case v.record != nil:
		return &refusal{reason: Settled, record: v.record}
	case !q.To.Admits(v.actor):
		return v.notAsked()
	case q.DecidedBySeveral() && q.VoteOf(v.actor) != nil:
		return &refusal{reason: Voted, question: q}
	case q.Claim.Excludes(v.actor, l.config.Client.Now()):
		return &refusal{reason: Claimed, question: q}
	}
	return nil
}

// notAsked distinguishes a reassigned question from a question that the person could never answer.
func (v *visit) notAsked() *refusal {
	if audienceOf(v.question.To) == v.audience {
		return &refusal{reason: WrongPerson}
	}
	return &refusal{reason: Reassigned, audience: v.question.To}
}

func (l *Links) accept(w http.ResponseWriter, r *http.Request, v *visit) *refusal {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &refusal{reason: Invalid}
	}
	reply := lifecycle.Reply{ID: v.capability.question, Text: strings.TrimSpace(r.PostForm.Get("text")),
		Decision: lifecycle.Decision(r.PostForm.Get("decision")), Key: v.replyKey(v.key), Seen: v.seen(),
		AcceptRisk: r.PostForm.Get("risk") != ""}
	if r.PostForm.Has("step") || reply.Decision == lifecycle.Edit {
		refused := cmp.Or(l.refuse(v), fill(r, v, &reply))
		if refused != nil || v.form != nil {
			v.page = l.fullPage(v.capability)
			return refused
		}
	}
	if option := r.PostForm.Get("option"); option != "" {
		offered := choices(&v.question, &english)
		n, err := strconv.Atoi(option)
		if err != nil || n < 0 || n >= len(offered) {
			return &refusal{reason: Invalid}
		}
		reply.Text = offered[n].Value
		if len(v.question.Options) == 0 { // the label is ours, and names the risk
			reply.AcceptRisk = true
		}
	}
	if reply.AcceptsRisk(v.question) && !reply.AcceptRisk {
		return &refusal{reason: Risk}
	}
	_, err := v.client.Reply(r.Context(), v.run, reply)
	if err == nil {
		return nil
	}
	return l.explain(v, l.reload(r.Context(), v, err))
}

// reload reads the question again after a refused answer, for the page. It returns err, or its own
// error.
func (l *Links) reload(ctx context.Context, v *visit, err error) error {
	if !errors.Is(err, lifecycle.ErrSettled) && !errors.Is(err, lifecycle.ErrKeyConflict) &&
		!errors.Is(err, lifecycle.ErrClaimed) && !errors.Is(err, lifecycle.ErrVoted) &&
		!errors.Is(err, lifecycle.ErrNotAsked) {
		return err
	}
	if l.load(ctx, v) != nil {
		return errors.New("link: the answer was refused, and the question cannot be read now")
	}
	return err
}

func (l *Links) explain(v *visit, err error) *refusal {
	switch {
	case errors.Is(err, lifecycle.ErrSettled), errors.Is(err, lifecycle.ErrKeyConflict) && v.record != nil:
		return &refusal{reason: Settled, record: v.record}
	case errors.Is(err, lifecycle.ErrVoted), errors.Is(err, lifecycle.ErrKeyConflict):
		return &refusal{reason: Voted, question: &v.question}
	case errors.Is(err, lifecycle.ErrClaimed):
		return &refusal{reason: Claimed, question: &v.question}
	case errors.Is(err, lifecycle.ErrNotAsked):
		return v.notAsked()
	case errors.Is(err, lifecycle.ErrQuestionChanged):
		return &refusal{reason: Changed}
	case errors.Is(err, lifecycle.ErrNotAllowed):
		return &refusal{reason: NotAllowed}
	case errors.Is(err, lifecycle.ErrNotFound), errors.Is(err, lifecycle.ErrNotWaiting):
		return &refusal{reason: Gone}
	case errors.Is(err, lifecycle.ErrInvalidArgument), errors.Is(err, lifecycle.ErrInvalidReply):
		return &refusal{reason: Invalid}
	}
	l.config.Logger.Error("link: answer or question unavailable", "run", v.run, "err", err)
	return &refusal{reason: Unavailable}
}

// choices returns the options as offered. Without options of the question, only the labels depend on
// the language.
func choices(q *lifecycle.Question, w *words) []lifecycle.Option {
	switch {
	case len(q.Options) > 0:
		return q.Options
	case q.Kind == lifecycle.Confirm:
		return []lifecycle.Option{{Label: w.Yes, Value: "yes"}, {Label: w.No, Value: "no"}}
	case q.Kind == lifecycle.RiskAck:
		return []lifecycle.Option{{Label: w.AcceptRisk, Value: "yes"}, {Label: w.No, Value: "no"}}
	}
	return nil
}
