package postgres

import (
	"strings"
)

// query is a statement of this package, by its place in texts.
type query int

// texts are all statements, for the schema "interlude". Each is plain SQL that an operator can EXPLAIN.
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
