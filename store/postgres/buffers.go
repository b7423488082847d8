package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// buffers is the memory of one connection for the batches it sends. pgx encodes the arguments of a
// statement into one buffer and all messages of a batch into another. It drops a buffer that grew
// above 256 bytes or 1 KiB, so that each batch allocates both again, several times while they grow:
// more than half of all bytes that the store allocates.
//
// pgx uses both buffers only within SendBatch, or keeps them for the next batch of the same
// connection. A connection has one user at a time.
type buffers struct {
	arguments, messages []byte
	// described is whether pgx knows the types of a statement's parameters, which lentArgument needs.
	described bool
}

const (
	buffersKey = "interlude: buffers"
	// maxKept is the size above which a buffer is for one batch only.
	maxKept = 512 << 10
	// manyArguments is the number of arguments of a statement that may need a large buffer.
	manyArguments = 15
)

// sendBatch sends a batch, whose arguments have about size bytes.
func sendBatch(ctx context.Context, conn *pgx.Conn, b *pgx.Batch, size int) pgx.BatchResults {
	u := buffersOf(conn)
	if u.described {
		for _, q := range b.QueuedQueries {
			if len(q.Arguments) >= manyArguments {
				q.Arguments[0] = lentArgument{u, size, q.Arguments[0]}
			}
		}
	}
	const perStatement = 256 // names, formats and lengths
	lend(conn, u, size+perStatement*b.Len())
	return conn.SendBatch(ctx, b)
}

// lend has the connection encode its next messages, of about size bytes, into its kept buffer.
func lend(conn *pgx.Conn, u *buffers, size int) {
	conn.PgConn().Frontend().Send(lentBuffer(room(&u.messages, size)))
}

// buffersOf returns the buffers of a connection, which has them from the first call on.
func buffersOf(conn *pgx.Conn) *buffers {
	data := conn.PgConn().CustomData()
	u, known := data[buffersKey].(*buffers)
	if !known {
		u = new(buffers)
		switch conn.Config().DefaultQueryExecMode {
		case pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec:
			u.described = true
			types := conn.TypeMap()
			types.TryWrapEncodePlanFuncs = append(types.TryWrapEncodePlanFuncs, planLentArgument)
		}
		data[buffersKey] = u
	}
	return u
}

// room returns an empty buffer for size bytes: the kept one, if they fit in there.
func room(kept *[]byte, size int) []byte {
	switch {
	case size <= cap(*kept):
	case size > maxKept:
		return make([]byte, 0, size)
	default:
		*kept = make([]byte, 0, 1<<bits.Len(uint(size-1)))
	}
	return (*kept)[:0]
}

// lentBuffer is a message of no bytes. pgx appends it to its buffer of messages, which it thereby
// replaces.
type lentBuffer []byte

func (l lentBuffer) Encode(dst []byte) ([]byte, error) { return append(l, dst...), nil }
func (lentBuffer) Decode([]byte) error                 { return errors.New("postgres: not a message of a server") }
func (lentBuffer) Frontend()                           {}

// lentArgument is the first argument of a statement. pgx appends it to its buffer of arguments,
// which it thereby replaces.
type lentArgument struct {
	from  *buffers
	size  int // of all arguments of the statement, about
	value any
}

// planLentArgument has a pgtype.Map encode a lentArgument as its value. A plan is kept for each
// type of a parameter, and each of these types has values of one Go type in this package.
func planLentArgument(value any) (plan pgtype.WrappedEncodePlanNextSetter, next any, ok bool) {
	lent, ok := value.(lentArgument)
	return new(lentPlan), lent.value, ok
}

type lentPlan struct{ next pgtype.EncodePlan }

func (p *lentPlan) SetNext(next pgtype.EncodePlan) { p.next = next }

func (p *lentPlan) Encode(value any, buf []byte) ([]byte, error) {
	lent, ok := value.(lentArgument)
	if !ok {
		return nil, fmt.Errorf("postgres: %T is no lent argument", value)
	}
	return p.next.Encode(lent.value, append(room(&lent.from.arguments, lent.size), buf...))
}
