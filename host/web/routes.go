package web

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/interlude-go/interlude/host/reqbody"
)

// routes registers every route of the API. GET routes change nothing.
func (d *Server) routes() {
	a := d.newAPI()
	get(a, "who", "/me", "The caller of this request", d.who)
	get(a, "list-runs", "/runs", "List runs", d.list)
	get(a, "get-run", "/runs/{id}", "Read a run", d.get)
	get(a, "list-questions", "/runs/{id}/questions", "The open questions of a run", d.questions)
	get(a, "get-question", "/runs/{id}/questions/{question}", "One question, and how it was settled", d.question)
	get(a, "suggest-names", "/runs/{id}/questions/{question}/names", "People and groups, for reassigning the "+
		"question and for notes on it", d.names)
	get(a, "get-history", "/runs/{id}/history", "The questions of a run, and how they were settled", d.history)
	get(a, "get-inherited", "/runs/{id}/inherited", "The questions that a fork inherits from its source", d.inherited)
	get(a, "get-usage", "/runs/{id}/usage", "Usage of a run's turns", d.usage)
	get(a, "get-inbox", "/inbox", "The open questions of all runs, the oldest first", d.inbox)
	get(a, "list-answers", "/answers", "The caller's own answers, and what they led to", d.answers)
	get(a, "count-inbox", "/inbox/count", "Count the questions of an inbox", d.countInbox)
	get(a, "get-stats", "/stats", "Statistics of runs, pools and engines", d.stats)
	get(a, "list-nodes", "/nodes", "The nodes that execute runs, and nodes that left", d.nodes)
	get(a, "list-feeds", "/feeds", "The feeds and their backlog", d.feeds)
	get(a, "list-dead-letters", "/notices/dead", "Notices that are no longer sent", d.deadLetters)
	d.followRoute(a)
	d.watchRoute(a)
	d.nextRoute(a)
	d.fileRoute(a)
	get(a, "list-logs", "/runs/{id}/logs", "The logs of a run's turns", d.logs)
	d.logRoute(a)

	create(a, "submit-run", "/runs", "Submit a run", d.submit)
	create(a, "fork-run", "/runs/{id}/fork", "Start a new run from a settled question of this one, or from its "+
		"end", d.fork)
	create(a, "reply", "/runs/{id}/questions/{question}/reply", "Answer a question", d.reply)
	create(a, "note", "/runs/{id}/questions/{question}/notes", "Write a note on a question, without "+
		"deciding it", d.note)
	change(a, "claim", "/runs/{id}/questions/{question}/claim", "Reserve a question for the caller until a "+
		"time", d.claim)
	change(a, "release", "/runs/{id}/questions/{question}/release", "Release a claim", d.release)
	change(a, "reassign", "/runs/{id}/questions/{question}/reassign", "Reassign a question", d.reassign)
	change(a, "forget", "/runs/{id}/questions/{question}/forget", "End a remembered decision", d.forget)
	change(a, "extend", "/runs/{id}/questions/{question}/extend", "Move the end of a question's own wait", d.extend)
	change(a, "cancel-run", "/runs/{id}/cancel", "Cancel a run in any state", d.cancel)
	change(a, "resume-run", "/runs/{id}/resume", "Decide about a held run", d.resume)
	change(a, "set-pool", "/pools", "Change the size of a pool, or create it", d.setPool)
	change(a, "resend-notice", "/notices/resend", "Send a dead letter again", d.resend)
	register(a, a.operation(http.MethodPost, "render", "/render", "Parse Markdown for display"), d.render)
	register(a, a.operation(http.MethodPost, "diff", "/diff", "Compare texts for display"), d.diff)

	d.serveDocument(a.huma)
}

type api struct {
	*Server
	huma    huma.API
	problem map[string]*huma.MediaType
}

func (d *Server) newAPI() *api {
	prefix := d.opts.Prefix + "/api"
	c := huma.DefaultConfig("interlude", "1")
	c.Info.Description = "Runs of agents, and the questions that they ask people. Errors are problems (RFC 9457)."
	c.Servers = []*huma.Server{{URL: prefix}}
	c.OpenAPIPath, c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", "", nil
	strict := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: reqbody.Unmarshal}
	c.Formats = map[string]huma.Format{"application/json": strict, "json": strict}
	c.RejectUnknownQueryParameters = true
	c.Transformers = []huma.Transformer{fromHuma}
	a := &api{Server: d, huma: humago.NewWithPrefix(d.mux, prefix, c)}
	a.problem = map[string]*huma.MediaType{"application/problem+json": {
		Schema: c.Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem"),
	}}
	return a
}

func (a *api) operation(method, id, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		MaxBodyBytes: a.opts.MaxBody, BodyReadTimeout: a.opts.Timeout,
		Responses: map[string]*huma.Response{"default": {Description: "A problem", Content: a.problem}},
	}
}

type call[I, O any] func(context.Context, *caller, *I) (*O, error)

func register[I, O any](a *api, op huma.Operation, fn call[I, O]) {
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, a.opts.Timeout)
		defer cancel()
		c := callerOf(ctx)
		if op.Method == http.MethodPost && op.OperationID != "render" && op.OperationID != "diff" {
			if fault := a.countChange(c); fault != nil {
				return nil, fault
			}
		}
		out, err := fn(ctx, c, in)
		if err != nil {
			return nil, a.Server.problem(c, err)
		}
		return out, nil
	})
}

func get[I, O any](a *api, id, path, summary string, fn call[I, O]) {
	op := a.operation(http.MethodGet, id, path, summary)
	op.Parameters = []*huma.Param{{Name: "If-None-Match", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "The ETag of an earlier response: 304 if nothing has changed since."}}
	op.Responses["200"] = &huma.Response{Description: "OK", Headers: map[string]*huma.Param{
		"ETag": {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
	op.Responses["304"] = &huma.Response{Description: "Nothing has changed since the If-None-Match."}
	register(a, op, fn)
}

// created is a response with status 201 for something new, and 200 if it existed before.
type created[B any] struct {
	Status   int
	Location string `header:"Location"`
	Body     B
}

func newOrKnown[B any](known bool, location string, body B) *created[B] {
	if known {
		return &created[B]{http.StatusOK, location, body}
	}
	return &created[B]{http.StatusCreated, location, body}
}

func create[I, B any](a *api, id, path, summary string, fn call[I, created[B]]) {
	op := a.operation(http.MethodPost, id, path, summary)
	op.DefaultStatus = http.StatusCreated
	op.Responses["200"] = &huma.Response{Description: "Known: an equal request was made before, and this one " +
		"changed nothing.", Content: map[string]*huma.MediaType{"application/json": {
		Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[B](), true, id),
	}}}
	register(a, op, fn)
}

// done is a response without a body: 204.
type done struct{}

func change[I any](a *api, id, path, summary string, fn func(context.Context, *caller, *I) error) {
	register(a, a.operation(http.MethodPost, id, path, summary),
		func(ctx context.Context, c *caller, in *I) (*done, error) { return &done{}, fn(ctx, c, in) })
}

func (d *Server) serveDocument(a huma.API) {
	schemas := a.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel") // huma's type, replaced by fromHuma
	delete(schemas, "ErrorDetail")
	document, err := json.Marshal(a.OpenAPI())
	if err != nil {
		panic("web: the OpenAPI document: " + err.Error()) // a type above cannot be described
	}
	d.mux.HandleFunc("GET "+d.opts.Prefix+"/api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oai.openapi+json;version=3.1")
		_, _ = w.Write(document)
	})
}

// RunPath is the path of a run.
type RunPath struct {
	ID string `path:"id" doc:"The run's id."`
}

// QuestionPath is the path of a question.
type QuestionPath struct {
	RunPath
	Question int `path:"question" minimum:"1" doc:"The question's number."`
}

func (p *QuestionPath) url(d *Server) string {
	return d.runURL(p.ID) + "/questions#" + strconv.Itoa(p.Question)
}

// Paging are the parameters of a listing. It is exported, like RunPath and QuestionPath, because
// huma fills only exported embedded structs.
type Paging struct {
	After string `query:"after" doc:"The next of the previous page; missing: the first page."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}
