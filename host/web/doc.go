// Package web serves runs and their questions over HTTP: the page for people, a JSON API with its
// OpenAPI document, and events as server-sent events.
//
//	http.Handle("/interlude/", web.Handler(client, web.Options{Identify: session}))
//
// Each request is one lifecycle.Client call on behalf of the actor that Options.Identify returns
// (lifecycle.Client.As), so lifecycle.Config.Authorize and the questions' audiences decide who may
// do what. If people answer a question through several front ends at once, exactly one wins. The
// handler keeps no state between requests.
//
// The types of the JSON (Run, Question, Problem and so on) are exported because they name the
// OpenAPI schemas; a Go program needs Handler and Options, and the Show functions for another API.
//
// Authentication is the host's job: without Identify, only requests from this machine are served.
//
// Start reading at routes.go; view.go selects the fields that are shown, access.go admits requests,
// and problem.go turns errors into problems (RFC 9457). docs/web.md is the page for users.
package web
