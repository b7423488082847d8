// Package web serves runs and their questions over HTTP: a JSON API that is described by an OpenAPI
// document of its own, and the events of a run as server-sent events.
//
//	http.Handle("/interlude/", web.Handler(client, web.Options{Identify: whoIsIt}))
//
// Handler is a translation and nothing more. Each request is one call of a lifecycle.Client, made
// on behalf of the actor whom Options.Identify names (lifecycle.Client.As): so who may do what is
// decided where it is decided for every other caller, by lifecycle.Config.Authorize and by the
// questions' audiences. If people answer a question here and through other front ends at once,
// one of them wins, as everywhere. Nothing is kept here between two requests.
//
// It authenticates nobody: that is the host's. Without Identify only this machine is served.
//
// The routes are in routes.go, with the calls that they make in runs.go, questions.go and
// events.go; view.go has what is shown of a run, and what is not. Requests are admitted in
// access.go, and errors become problems (RFC 9457) in problem.go. docs/web.md is the page for those
// who use it.
package web
