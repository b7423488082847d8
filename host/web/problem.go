package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Problem says why a request was refused, in the form of RFC 9457. Programs read Code, which also
// determines the members that are set.
type Problem struct {
	Type   string `json:"type" doc:"The code as a URN."`
	Title  string `json:"title" doc:"The status in words."`
	Status int    `json:"status"`
	Detail string `json:"detail" doc:"The reason, for people."`
	Code   string `json:"code" doc:"The reason, for programs; see the page on errors."`

	Faults   []Fault     `json:"faults,omitempty" nullable:"false" doc:"The invalid places of the request."`
	Settled  *Settlement `json:"settled,omitempty" doc:"SETTLED: how, and by whom."`
	Question *Question   `json:"question,omitempty" doc:"QUESTION_CHANGED: the current question."`
	Claim    *Claim      `json:"claim,omitempty" doc:"CLAIMED: by whom, until when."`
	Vote     *Vote       `json:"vote,omitempty" doc:"VOTED: the vote that counts."`
	To       *Audience   `json:"to,omitempty" doc:"NOT_ASKED and REASSIGNED: the audience; missing: everybody."`
	State    string      `json:"state,omitempty" doc:"RUN_TERMINAL and NOT_WAITING: the state of the run."`
	Open     int         `json:"open,omitempty" doc:"NOT_WAITING: the question that the run waits for."`
}

// Fault is one invalid place of a request: a JSON pointer into a form's value, or the name of a
// field.
type Fault struct {
	Where string `json:"where"`
	Want  string `json:"want"`
}

func newProblem(status int, code, detail string) *Problem {
	return &Problem{Type: "urn:interlude:problem:" + code, Title: http.StatusText(status), Status: status,
		Detail: detail, Code: code}
}

// Error, GetStatus and ContentType let huma answer with a Problem.
func (p *Problem) Error() string { return p.Detail }

// GetStatus returns the response's status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the response's media type.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// problemOf maps the library's errors to problems; an error precedes the errors that it wraps.
// docs/errors.md lists the same statuses.
var problemOf = []struct {
	err    error
	status int
	code   string
}{
	{lifecycle.ErrFileMissing, http.StatusNotFound, "FILE_MISSING"},
	{lifecycle.ErrFileChanged, http.StatusGone, "FILE_CHANGED"},
	{lifecycle.ErrNotFound, http.StatusNotFound, "NOT_FOUND"},
	{lifecycle.ErrNotAllowed, http.StatusForbidden, "NOT_ALLOWED"},
	{lifecycle.ErrNotAsked, http.StatusForbidden, "NOT_ASKED"},
	{lifecycle.ErrNotDeputy, http.StatusForbidden, "NOT_DEPUTY"},
	{lifecycle.ErrSettled, http.StatusConflict, "SETTLED"},
	{lifecycle.ErrNotWaiting, http.StatusConflict, "NOT_WAITING"},
	{lifecycle.ErrQuestionChanged, http.StatusConflict, "QUESTION_CHANGED"},
	{lifecycle.ErrClaimed, http.StatusConflict, "CLAIMED"},
	{lifecycle.ErrReassigned, http.StatusConflict, "REASSIGNED"},
	{lifecycle.ErrVoted, http.StatusConflict, "VOTED"},
	{lifecycle.ErrKeyConflict, http.StatusConflict, "KEY_CONFLICT"},
	{lifecycle.ErrSpecConflict, http.StatusConflict, "SPEC_CONFLICT"},
	{lifecycle.ErrTerminal, http.StatusConflict, "RUN_TERMINAL"},
	{lifecycle.ErrNotHeld, http.StatusConflict, "NOT_HELD"},
	{lifecycle.ErrRunChanged, http.StatusConflict, "RUN_CHANGED"},
	{lifecycle.ErrPoolChanged, http.StatusConflict, "POOL_CHANGED"},
	{lifecycle.ErrInvalidReply, http.StatusBadRequest, "INVALID_REPLY"}, // also in ErrCannotFork
	{lifecycle.ErrCannotFork, http.StatusConflict, "CANNOT_FORK"},
	{lifecycle.ErrFeedTaken, http.StatusConflict, "FEED_TAKEN"},
	{lifecycle.ErrFeedLost, http.StatusGone, "FEED_LOST"},
	{lifecycle.ErrTooMany, http.StatusTooManyRequests, "TOO_MANY"},
	{lifecycle.ErrCursorBeyondEnd, http.StatusGone, "CURSOR_BEYOND_END"},
	{lifecycle.ErrUnknownPool, http.StatusBadRequest, "UNKNOWN_POOL"},
	{lifecycle.ErrInvalidSpec, http.StatusBadRequest, "INVALID_SPEC"},
	{lifecycle.ErrInvalidArgument, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{store.ErrInvalid, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{lifecycle.ErrFull, http.StatusInsufficientStorage, "FULL"},
	{lifecycle.ErrUnavailable, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{context.Canceled, http.StatusServiceUnavailable, "UNAVAILABLE"},
}

const outcomeUnknown = "The server cannot say whether this was stored. Repeat the request: with the same " +
	"Idempotency-Key it takes effect at most once."

func internalProblem() *Problem {
	return newProblem(http.StatusInternalServerError, "INTERNAL", outcomeUnknown)
}

// problem returns the problem that the caller is shown for an error. The text of an unknown error
// is logged but not shown, because it may name files and hosts.
func (d *Server) problem(c *caller, err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	i := slices.IndexFunc(problemOf, func(known struct {
		err    error
		status int
		code   string
	}) bool {
		return errors.Is(err, known.err)
	})
	if i < 0 {
		d.log.Error("web: a request failed", "method", c.request.Method, "path", c.request.URL.Path, "err", err)
		return internalProblem()
	}
	known := problemOf[i]
	if known.code == "NOT_FOUND" || known.code == "NOT_ALLOWED" && hidden(c, err) {
		return notFound()
	}
	p = newProblem(known.status, known.code, strings.TrimPrefix(err.Error(), "lifecycle: "))
	if known.code == "NOT_DEPUTY" { // the directory's error may name files and hosts
		d.log.Info("web: refused a deputy", "path", c.request.URL.Path, "err", err)
		p.Detail = "You are not the deputy of this person now, or the directory cannot be read."
	}
	if known.status >= http.StatusInternalServerError {
		d.log.Warn("web: a request failed", "method", c.request.Method, "path", c.request.URL.Path, "err", err)
		p.Detail = outcomeUnknown
	}
	p.describe(err, c)
	d.addNames(c.request.Context(), p.people)
	return p
}

// hidden reports whether the refused call was about a run that its caller may not view. The answer
// is then as for an unknown run, since run ids may be guessed and may be confidential.
func hidden(c *caller, err error) bool {
	var refused *lifecycle.NotAllowedError
	if !errors.As(err, &refused) || refused.RunID == "" || refused.Action == lifecycle.ActionSubmit {
		return false
	}
	if refused.Action == lifecycle.ActionView {
		return true
	}
	_, err = c.client.Get(c.request.Context(), refused.RunID)
	return err != nil
}

// notFound does not reveal whether the run exists.
func notFound() *Problem {
	return newProblem(http.StatusNotFound, "NOT_FOUND", "There is no run or question with this id, or you may not "+
		"view it.")
}

func (p *Problem) describe(err error, c *caller) {
	var (
		value      *lifecycle.ValueError
		argument   *lifecycle.ArgumentError
		spec       *lifecycle.SpecError
		settled    *lifecycle.SettledError
		changed    *lifecycle.ChangedError
		claimed    *lifecycle.ClaimedError
		voted      *lifecycle.VotedError
		notAsked   *lifecycle.NotAskedError
		reassigned *lifecycle.ReassignedError
		ended      *lifecycle.TerminalError
		wait       *lifecycle.WaitError
	)
	switch {
	case errors.As(err, &value):
		for _, f := range value.Faults {
			p.Faults = append(p.Faults, Fault{f.Pointer, f.Want})
		}
	case errors.As(err, &argument):
		p.Faults = []Fault{{argument.Argument, argument.Want}}
	case errors.As(err, &spec):
		p.Faults = []Fault{{spec.Field, spec.Want}}
	case errors.As(err, &settled):
		p.Settled = &Settlement{Resolution: string(settled.Resolution), State: string(settled.State)}
	case errors.As(err, &changed):
		q := showQuestion(&changed.Question, c.actor, c.client.Now())
		p.Question = &q
	case errors.As(err, &claimed):
		p.Claim = showClaim(&claimed.Claim, c.actor)
	case errors.As(err, &voted):
		v := showVote(&voted.Vote, c.actor)
		p.Vote = &v
	case errors.As(err, &notAsked):
		p.To = showAudience(&notAsked.To)
	case errors.As(err, &reassigned):
		p.To = showAudience(reassigned.To)
	case errors.As(err, &ended):
		p.State = string(ended.State)
	case errors.As(err, &wait):
		p.State, p.Open = string(wait.State), wait.Pending
	}
}

// fromHuma turns huma's error for a request that violates the schema into a problem.
func fromHuma(_ huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	code := "INVALID_REQUEST"
	switch model.Status {
	case http.StatusRequestEntityTooLarge:
		code = "BODY_TOO_LARGE"
	case http.StatusUnsupportedMediaType:
		code = "UNSUPPORTED_MEDIA_TYPE"
	case http.StatusRequestTimeout:
		code = "BODY_TIMEOUT"
	case http.StatusInternalServerError:
		return internalProblem(), nil
	}
	p := newProblem(model.Status, code, model.Detail)
	for _, e := range model.Errors {
		p.Faults = append(p.Faults, Fault{e.Location, e.Message})
	}
	return p, nil
}
