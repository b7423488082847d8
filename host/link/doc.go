// Package link lets a person answer a question from a mail or a chat: Links.For makes the address
// of a page for one question and one person, and Links is the http.Handler of these pages.
//
// A link is a signed capability: whoever has it may answer as the person whom it names, until it
// expires. It is bound to the run, the question, what the question shows (its digest), and the
// person, so that it answers nothing else. Programs that scan mail follow links, so GET and HEAD
// only show the question; POST decides. The reply goes through lifecycle.Client.As, hence
// through Authorize and the question's audience, as through every other front end. Its
// idempotency key is always the same, so pressing a button twice is one reply.
//
// What a link cannot do any more has a page, a status and a word in the header Interlude-Reason of
// its own: see Reason. Nothing is stored for a link; keys rotate by their ids.
//
// The package is a module and a front end: it calls lifecycle.Client, as a host does. docs/links.md
// shows how to use it, and what its owner must know about mail.
package link
