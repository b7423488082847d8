package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"

	"modernc.org/sqlite"
)

// conn is one connection on the driver's own interface: for short statements database/sql doubles
// the cost. It caches prepared statements and is for one goroutine at a time.
type conn struct {
	raw   connection
	stmts map[string]statement
	args  []driver.NamedValue // reused from statement to statement
	row   row                 // reused from query to query
}

// connection and statement are interfaces of the driver's types.
type connection interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
}

type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func dial(path, mode string, pragmas []string) (*conn, error) {
	keepPages()
	raw, err := (&sqlite.Driver{}).Open(dsn(path, mode, pragmas))
	if err != nil {
		return nil, err
	}
	c, ok := raw.(connection)
	if !ok {
		return nil, fmt.Errorf("sqlite: the driver's connections are %T, which cannot be used", raw)
	}
	return &conn{raw: c, stmts: make(map[string]statement)}, nil
}

func (c *conn) close() error {
	c.closeStatements()
	return c.raw.Close()
}

func (c *conn) closeStatements() {
	for _, s := range c.stmts {
		_ = s.Close()
	}
}

// maxStatements bounds a connection's prepared statements: listings have many filters.
const maxStatements = 128

var errNoRow = errors.New("sqlite: no row")

// stmt returns the prepared statement for a text. Texts use "LIMIT ? + 0" instead of "LIMIT ?":
// SQLite re-plans the latter each time the parameter is bound.
func (c *conn) stmt(text string) (statement, error) {
	if s := c.stmts[text]; s != nil {
		return s, nil
	}
	p, err := c.raw.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	s, ok := p.(statement)
	if !ok {
		return nil, fmt.Errorf("sqlite: the driver's statements are %T, which cannot be used", p)
	}
	for other := range c.stmts { // none is in use: no scan of a row executes another statement
		if len(c.stmts) < maxStatements {
			break
		}
		_ = c.stmts[other].Close() // after an error, it ends with the connection
		delete(c.stmts, other)
	}
	c.stmts[text] = s
	return s, nil
}

func (c *conn) bind(args []driver.Value) []driver.NamedValue {
	c.args = c.args[:0]
	for i, v := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return c.args
}

// exec executes a statement and returns the number of changed rows. Arguments are int64, string,
// []byte or nil.
func (c *conn) exec(text string, args ...driver.Value) (changed int64, err error) {
	r, err := c.result(text, args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// insert is exec for a statement that makes at most one row; it returns that row's number.
func (c *conn) insert(text string, args ...driver.Value) (n, changed int64, err error) {
	r, err := c.result(text, args)
	if err != nil {
		return 0, 0, err
	}
	if n, err = r.LastInsertId(); err != nil {
		return 0, 0, err
	}
	changed, err = r.RowsAffected()
	return n, changed, err
}

func (c *conn) result(text string, args []driver.Value) (driver.Result, error) {
	s, err := c.stmt(text)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), c.bind(args))
}

// run executes text that may hold several statements, once.
func (c *conn) run(text string) error {
	_, err := c.raw.ExecContext(context.Background(), text, nil)
	return err
}

// each calls scan for each row of a query. The row is valid during the call. When ctx ends, the
// query ends: at once before its first row, later at the next one.
func (c *conn) each(ctx context.Context, scan func(row) error, text string, args ...driver.Value) (err error) {
	s, err := c.stmt(text)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, c.bind(args))
	if err != nil {
		return err
	}
	defer func() {
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	r := c.rowOf(len(rows.Columns()))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := rows.Next(r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := scan(r); err != nil {
			return err
		}
	}
}

// one returns the first row of a query, or errNoRow. The row is valid until the connection's next
// query; its texts and blobs may be retained.
func (c *conn) one(text string, args ...driver.Value) (row, error) {
	s, err := c.stmt(text)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return nil, err
	}
	r := c.rowOf(len(rows.Columns()))
	err = rows.Next(r)
	closing := rows.Close()
	switch {
	case errors.Is(err, io.EOF) && closing == nil:
		return nil, errNoRow
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	return r, closing
}

func (c *conn) rowOf(columns int) row {
	c.row = slices.Grow(c.row[:0], columns)[:columns]
	return c.row
}

func (c *conn) exists(text string, args ...driver.Value) (bool, error) {
	_, err := c.one(text, args...)
	if errors.Is(err, errNoRow) {
		return false, nil
	}
	return err == nil, err
}

// row is one row. A column that is NULL or of another type reads as the zero value.
type row []driver.Value

func (r row) int(i int) int64 {
	v, _ := r[i].(int64)
	return v
}

func (r row) text(i int) string {
	v, _ := r[i].(string)
	return v
}

func (r row) blob(i int) []byte {
	v, _ := r[i].([]byte)
	return v
}
