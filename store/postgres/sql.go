package postgres

import (
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/store/internal/entry"
)

// statement is a statement of this package, by its index in texts.
type statement int

// texts are all statements, for the schema "interlude". Each is plain SQL that an operator can
// EXPLAIN.
var texts []string

func sql(text string) statement {
	texts = append(texts, text)
	return statement(len(texts) - 1)
}

func textsIn(schema string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = inSchema(text, schema)
	}
	return all
}

func inSchema(text, schema string) string {
	return strings.ReplaceAll(text, "interlude.", quoted(schema)+".")
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// serverMicros is the server's time as the tables keep it.
const serverMicros = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// indexPlans makes the planner use indexes for the rest of the transaction. By default it would
// scan a small table, and keep that plan while the table grows by thousands of rows a second.
// Bitmap scans do not mark dead index entries, which a queue leaves in large numbers. The settings
// are per transaction, not per session, so that a pooler can be used.
const indexPlans = `set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
	set_config('plan_cache_mode', 'force_generic_plan', true)`

// nestedLoops has the planner look up each listed row, however small the table still is.
const nestedLoops = `set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// The values of delayed_until for runs that are held or wait for children: see package entry.
var (
	awaiting    = strconv.FormatInt(entry.Awaiting, 10)
	keptText    = strconv.FormatInt(entry.Kept, 10)
	heldRange   = strconv.FormatInt(entry.Held, 10)
	heldFrom    = strconv.FormatInt(entry.HeldFrom, 10)
	heldWaiting = strconv.FormatInt(entry.HeldWaiting, 10)
)

// addressed is added to asked_at of runs whose questions all name an audience.
var addressed = strconv.FormatInt(entry.Addressed, 10)

// askedSince is the time at which a run's questions were asked.
func askedSince(column string) string {
	return "CASE WHEN " + column + " >= " + addressed + " THEN " + column + " - " + addressed +
		" ELSE " + column + " END"
}

// idleTimeout bounds how long a transaction of several exchanges keeps its locks when its process
// is stopped.
const idleTimeout = `set_config('idle_in_transaction_session_timeout', '2s', true)`
