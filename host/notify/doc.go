// Package notify pushes the events of runs to receivers: webhooks in the Standard Webhooks format,
// Slack, Teams, mail (notify/mail), and any other receiver through a host's Sender.
//
// A notice is an event for an endpoint. It is delivered at least once, with a constant ID
// ("run/seq"), and in order per run: it is sent after the endpoint has accepted the run's earlier
// notices, or these are dead letters. A failed attempt is repeated with growing pauses; after the
// last one the notice is a dead letter, which can be listed and resent.
//
// Storage: each endpoint has a feed (Client.Feed), so an endpoint that is down delays only itself.
// A feed has one cursor over all runs, so a refused notice would block all runs or be lost.
// Therefore notices between the cursor and their acceptance are stored in a Queue: a table of the
// host's database, or a separate file. A notice is added to the queue before its event is
// acknowledged, and removed after it was accepted; a crash in between only duplicates it. The queue
// is short: when it has notices of MaxRuns runs, the feed waits.
//
// Any number of processes may serve the same endpoints: one reads the feed, all deliver. Claims
// expire, so another process resends the notices of a process that died.
//
// engine/netguard restricts addresses. docs/notify.md is the page for users and for authors of
// receivers.
package notify
