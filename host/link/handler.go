package link

import (
	"context"
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

// Reason is why a link does nothing (any more). The page's header Interlude-Reason has it.
type Reason string

// The reasons, each with its status.
const (
	Damaged     Reason = "damaged"      // 400: the address was cut or changed on its way, or is forged
	Invalid     Reason = "invalid"      // 400: the answer cannot be accepted, for instance because it is blank
	Foreign     Reason = "foreign"      // 403: signed with a key that is not, or no longer, one of Config.Keys
	WrongPerson Reason = "wrong_person" // 403: somebody else opened the link, or it never was the person's to answer
	Reassigned  Reason = "reassigned"   // 403: the question was put to others since the link was made
	NotAllowed  Reason = "not_allowed"  // 403: Authorize or the browser's origin check refuses it
	Gone        Reason = "gone"         // 404: the run was deleted, or has asked no such question
	Settled     Reason = "settled"      // 409: somebody, or the time, was first; the page says who
	Voted       Reason = "voted"        // 409: the person has voted
	Claimed     Reason = "claimed"      // 409: somebody else works on the question for now
	Expired     Reason = "expired"      // 410: the link's time is over
	Changed     Reason = "changed"      // 412: the question is another one by now
	Unavailable Reason = "unavailable"  // 503: the store does not answer; the same link works later
)

var statuses = map[Reason]int{
	Damaged: 400, Invalid: 400, Foreign: 403, WrongPerson: 403, Reassigned: 403, NotAllowed: 403, Gone: 404,
	Settled: 409, Voted: 409, Claimed: 409, Expired: 410, Changed: 412, Unavailable: 503,
}

// refusal is why a request shows no question and accepts no answer.
type refusal struct {
	reason   Reason
	question *lifecycle.Question // what Voted and Claimed speak of
	record   *lifecycle.Record   // how a Settled question was settled
	audience *lifecycle.Audience // whom a Reassigned question is for
}

// visit is one request for a page.
type visit struct {
	*claims

	key      *Key
	actor    lifecycle.Actor
	client   *lifecycle.Client // the person's
	question lifecycle.Question
	record   *lifecycle.Record // how the question was settled; nil while it is open
	page     string            // the host's own page for the question; empty: there is none
}

// maxForm bounds the body of an answer: a text of the greatest length, each byte of it escaped.
const maxForm = 3*lifecycle.MaxReplyText + 4<<10

// formTimeout limits the time in which an answer arrives.
const formTimeout = 30 * time.Second

// ServeHTTP serves a link; the last part of the path is its token. GET and HEAD return the page
// with the question and change nothing. POST replies to the question with what the form says.
func (l *Links) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, body := reqbody.Limit(w, r, formTimeout)
	post := r.Method == http.MethodPost
	if !post && r.Method != http.MethodGet && r.Method != http.MethodHead {
		body.CloseUnread(w.Header())
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	var v *visit
	var refused *refusal
	if err := guarded(func() { v, refused = l.visit(w, r) }); err != nil {
		l.config.Logger.Error("link: request", "err", err)
		refused = &refusal{reason: Unavailable}
	}
	body.CloseUnread(w.Header())
	l.write(w, r, v, refused, post)
}

// visit opens the link, and makes the reply of a POST.
func (l *Links) visit(w http.ResponseWriter, r *http.Request) (*visit, *refusal) {
	v, refused := l.open(r, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
	switch {
	case refused != nil:
	case r.Method != http.MethodPost:
		if refused = l.refuse(v); refused == nil {
			v.page = l.fullPage(v.claims)
		}
	case l.origin.Check(r) != nil: // another site's page sends the form for a person who is signed in here
		refused = &refusal{reason: NotAllowed}
	default:
		refused = l.accept(w, r, v)
	}
	return v, refused
}

// guarded calls f, which calls functions of the host's. The error says that one of them has panicked
// or ended its goroutine, which is therefore f's alone.
func guarded(f func()) error {
	err := errors.New("link: a function of the host's ended its goroutine")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("link: a function of the host's panicked: %v\n%s", p, debug.Stack())
			}
		}()
		f()
		err = nil
	}()
	<-done
	return err
}

// open finds out what the link is about. It changes nothing.
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
	v := &visit{claims: c, key: key, actor: lifecycle.Actor{ID: c.person}}
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
	return v, nil
}

// load reads the question, open or settled.
func (l *Links) load(ctx context.Context, v *visit) *refusal {
	record, err := v.client.Question(ctx, v.run, v.claims.question)
	if err != nil {
		return l.explain(v, err)
	}
	v.question = record.Question
	if record.Resolution != "" {
		v.record = &record
	}
	return nil
}

// refuse says why the person cannot answer now; nil if nothing speaks against it.
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

// notAsked tells a question that was put to others from one that never was the person's.
func (v *visit) notAsked() *refusal {
	if audienceOf(v.question.To) == v.audience {
		return &refusal{reason: WrongPerson}
	}
	return &refusal{reason: Reassigned, audience: v.question.To}
}

// accept makes the reply that the form says.
func (l *Links) accept(w http.ResponseWriter, r *http.Request, v *visit) *refusal {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &refusal{reason: Invalid}
	}
	reply := lifecycle.Reply{ID: v.claims.question, Text: strings.TrimSpace(r.PostForm.Get("text")),
		Decision: lifecycle.Decision(r.PostForm.Get("decision")), Key: v.replyKey(v.key), Seen: v.seen()}
	if option := r.PostForm.Get("option"); option != "" {
		offered := choices(&v.question)
		n, err := strconv.Atoi(option)
		if err != nil || n < 0 || n >= len(offered) {
			return &refusal{reason: Invalid}
		}
		reply.Text = offered[n].Value
	}
	_, err := v.client.Reply(r.Context(), v.run, reply)
	if err == nil {
		return nil
	}
	return l.explain(v, l.reload(r.Context(), v, err))
}

// reload reads the question once more after an answer was refused, so that the page shows what was
// there first. It returns the error that refused the answer.
func (l *Links) reload(ctx context.Context, v *visit, err error) error {
	if !errors.Is(err, lifecycle.ErrSettled) && !errors.Is(err, lifecycle.ErrKeyConflict) &&
		!errors.Is(err, lifecycle.ErrClaimed) && !errors.Is(err, lifecycle.ErrVoted) &&
		!errors.Is(err, lifecycle.ErrNotAsked) {
		return err
	}
	if l.load(ctx, v) != nil {
		return errors.New("link: the question was refused, and cannot be read now")
	}
	return err
}

// explain is the refusal for an error of the client's.
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
	case errors.Is(err, lifecycle.ErrInvalidArgument):
		return &refusal{reason: Invalid}
	}
	l.config.Logger.Error("link: answer or question unavailable", "run", v.run, "err", err)
	return &refusal{reason: Unavailable}
}

// choices are the answers that are offered as buttons beside a text of one's own.
func choices(q *lifecycle.Question) []lifecycle.Option {
	switch {
	case len(q.Options) > 0:
		return q.Options
	case q.Kind == lifecycle.Confirm:
		return []lifecycle.Option{{Label: "Yes", Value: "yes"}, {Label: "No", Value: "no"}}
	case q.Kind == lifecycle.RiskAck:
		return []lifecycle.Option{{Label: "I accept the risk", Value: "yes"},
			{Label: "No", Value: "no"}}
	}
	return nil
}
