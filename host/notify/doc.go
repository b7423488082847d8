// Package notify sends the events of runs to those who wait for them, so that nobody has to poll:
// webhooks in the Standard Webhooks format, Slack, Teams, mail (notify/mail), and whatever a host's
// own Sender reaches.
//
// A notice is an event for an endpoint. It is delivered at least once, with a constant ID
// ("run/seq"), and in order per run: a notice is first sent when the endpoint has accepted the
// notices before it of the same run, or these are dead letters. What fails is tried again with
// growing pauses, and is a dead letter after the last attempt, to be listed and sent again.
//
// Where this is stored. Each endpoint has a feed of its own (Client.Feed), so that one that is down
// holds up its own feed alone. But a feed has one cursor over all runs: with the cursor alone, a
// notice that the receiver refuses would hold all runs, or be passed over, or be lost when the
// process dies. So what the cursor has passed and the receiver has not accepted stands in a Queue:
// a table of the host's database, or a file of its own. A notice is added to the queue before its
// event is acknowledged, and removed after it was accepted; between these, a crash can only double
// it. The queue is short: when it has notices of MaxRuns runs, the feed waits. All notices go this
// way, also those of endpoints that are well, since one way is simpler to prove than two.
//
// Runs as notices, with the library's own retries and holds, would need no table. They would
// appear among the host's runs and in the feed that they are made from, and cost six commits each.
//
// Any number of processes may serve the same endpoints: one reads the feed, all deliver. A claim of
// a notice ends by itself, so what a process that has died was sending is sent again.
//
// The package is above lifecycle, as every front end. engine/netguard decides which addresses may be
// reached. docs/notify.md shows how to use it, and what receivers must do.
package notify
