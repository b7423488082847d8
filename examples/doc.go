// Package examples has hosts to start from, one idea each. Every Example of its tests is run by CI,
// and what it prints is compared.
//
// A run and its end:
//
//	Example_parkAndResume     a run is parked by one process and goes on in another
//	Example_idempotentReply   a reply that is sent twice settles once
//	Example_cancel            a waiting run is canceled; a late reply is refused
//	Example_fork              a canceled run goes on from one of its questions, with another answer
//
// Questions, and who answers them:
//
//	Example_inbox             all open questions, whoever asked them
//	Example_form              a question is a form; a value that does not fit is refused
//	Example_approval          a call of a tool is approved with edited arguments, and made with these
//	Example_calls             three calls at once, each decided about by itself
//	Example_several           three people are asked at once, and two answers are enough
//	Example_audience          some people may answer, others may not
//	Example_votes             two people must approve, each of them once
//	Example_claim             one person works on a question alone, and then puts it to another
//	Example_link              a link in a mail answers one question for one person
//
// When nobody answers:
//
//	Example_deadline          nobody answers in time: the agent decides
//	Example_wait              people are reminded, others are asked, and a default answer counts
//
// Following what happens:
//
//	Example_feed              the events of all runs, from a cursor that the store keeps
//	Example_feedForAPerson    only what one person is asked
//	Example_trace             a turn is a span, with a link to the turn before in another process
//
// Engines:
//
//	Example_engine            an engine of your own
//	Example_flow              straight-line Go charges, asks, ships and sleeps, and survives crashes
//
// PostgreSQL:
//
//	Example_transaction       a run and the host's own rows, together or not at all
//	Example_twoNodes          two nodes share a database; either is replied to
//
// host_test.go has what they share. rehearsal_test.go shows how a host is tested: days without an
// answer and a crash at every commit, on each store.
//
// The folders below are programs: hello is the README's, quickstart asks on the terminal, people
// asks three people at once and may be killed between their answers, desk serves the page, the API,
// links and webhooks, and prometheus serves metrics and has a dashboard for them.
package examples
