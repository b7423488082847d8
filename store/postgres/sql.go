package postgres

import (
	"strings"
)

// query is a statement of this package, by its place in texts.
type query int

// texts are all statements, for the schema "interlude". Each is plain SQL that an operator can
// EXPLAIN.
var texts []string

// sql registers a statement.
func sql(text string) query {
	texts = append(texts, text)
	return query(len(texts) - 1)
}

// namespaced are the statements for another schema, whose name is quoted here.
func namespaced(schema string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = inSchema(text, schema)
	}
	return all
}

// inSchema writes a statement for the schema.
func inSchema(text, schema string) string {
	return strings.ReplaceAll(text, "interlude.", quoted(schema)+".")
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// micros is the server's time as the tables keep it.
const micros = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// steady has the planner look up what is looked for, for the rest of the transaction. It would
// rather walk through a table that is small, and a plan once made stays while the table grows by
// thousands of rows a second; nor does a walk through the pages of a bitmap mark what is dead in
// the index, of which a queue leaves much behind. No session is changed, so that a pooler may stand
// between.
const steady = `set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
	set_config('plan_cache_mode', 'force_generic_plan', true)`

// nested has it look up each row that a list names, however few rows there are yet.
const nested = `set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// attended bounds how long a transaction of more than one exchange holds up others when its process
// is stopped in the middle.
const attended = `set_config('idle_in_transaction_session_timeout', '2s', true)`
