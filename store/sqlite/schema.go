package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// describe lists what makes a schema, one line for each column and each index. Tables that SQLite
// makes for itself are left out.
func (c *conn) describe() (lines []string, _ error) {
	collect := func(r row) error {
		lines = append(lines, strings.Join(strings.Fields(r.text(0)), " "))
		return nil
	}
	for _, query := range []string{
		`SELECT 'column ' || t.name || '.' || c.name || ' ' || c.type || CASE WHEN c."notnull" THEN ' NOT NULL' ELSE '' END
			|| CASE WHEN c.pk > 0 THEN ' PRIMARY KEY ' || c.pk ELSE '' END || coalesce(' DEFAULT ' || c.dflt_value, '')
			FROM sqlite_schema AS t JOIN pragma_table_xinfo(t.name) AS c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'`,
		`SELECT coalesce(sql, 'index ' || name || ' of table ' || tbl_name) FROM sqlite_schema WHERE type = 'index'`,
	} {
		if err := c.each(context.Background(), collect, query); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

var schemas sync.Map // version → the lines of schemaOf, which never change

// schemaOf describes what the migrations up to the version make, in an empty database.
func schemaOf(version int) ([]string, error) {
	if lines, ok := schemas.Load(version); ok {
		return lines.([]string), nil //nolint:forcetypeassert // there is nothing else in it
	}
	c, err := dial("/schema", "memory", nil)
	if err != nil {
		return nil, err
	}
	defer c.close() //nolint:errcheck // it is gone with the connection
	for v := range version {
		if err := apply(c, v); err != nil {
			return nil, err
		}
	}
	lines, err := c.describe()
	if err == nil {
		schemas.Store(version, lines)
	}
	return lines, err
}

// checkSchema refuses a file whose schema is not the one that its version stands for. What somebody
// added is no fault.
func (c *conn) checkSchema(version int) error {
	want, err := schemaOf(version)
	if err != nil {
		return err
	}
	have, err := c.describe()
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return slices.Contains(have, line) })
	if len(missing) == 0 {
		return nil
	}
	const named = 3
	more := ""
	if len(missing) > named {
		missing, more = missing[:named], fmt.Sprintf(" and %d more", len(missing)-named)
	}
	return fmt.Errorf("%w: schema version %d lacks: %s%s: %s", ErrSchema, version, strings.Join(missing, "; "), more,
		otherSchema)
}

// otherSchema says what to do with a file whose schema no release has made.
const otherSchema = "a development version from before the first release made the file, or its tables were changed " +
	"by hand; " +
	"open it with the version that made it and let its runs end, or move it away and start with a new file"
