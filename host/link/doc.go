// Package link lets a person answer a question from a mail or a chat message: [Links.For] returns
// the address of a page for one question and one person, and [Links] is the http.Handler of these
// pages.
//
// A link is a signed capability: until it expires, its holder may answer as the person named in it.
// It is bound to the run, the question, the question's digest and the person, so it cannot answer
// anything else. Mail scanners follow links, so GET and HEAD only show the question; POST answers
// it. The reply goes through lifecycle.Client.As, and so through Authorize and the question's
// audience. Its idempotency key is fixed: pressing a button twice gives one reply.
//
// Each kind of failure has a page, a status and a value of the header Interlude-Reason: see
// [Reason]. Links are not stored; rotate keys by adding new ids.
//
// docs/links.md is the page for users, with the risks of mail.
package link
