package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// A listener that receives nothing for a while pings its connection, and goes on with it when it
// answers.
func TestListenerPingsSilentConnection(t *testing.T) {
	dsn, schema := pgtest.Schema(t)
	s, err := Open(t.Context(), dsn, Options{Schema: schema, NoListen: true, Timeout: 30 * time.Second})
	require.NoError(t, err)
	defer s.Close()
	conn, err := s.connectListener()
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `LISTEN `+quoted(s.channel()))
	require.NoError(t, err)
	for range 3 {
		n, err := s.waitForNotification(conn, 5*time.Millisecond)
		require.NoError(t, err)
		require.Nil(t, n)
	}
	_, err = s.pool.Exec(t.Context(), s.texts[notifyText], s.channel(), "hello")
	require.NoError(t, err)
	n, err := s.waitForNotification(conn, 30*time.Second)
	require.NoError(t, err)
	require.Equal(t, "hello", n.Payload)

	_, err = s.pool.Exec(t.Context(), `SELECT pg_terminate_backend($1)`, conn.PgConn().PID())
	require.NoError(t, err)
	_, err = s.waitForNotification(conn, 30*time.Second)
	require.Error(t, err)
}
