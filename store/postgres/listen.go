package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlude-go/interlude/store"
)

// Watch implements store.Watcher: hints of this process's commits come with their run and events,
// those of other processes with the run's id, state and last event.
func (s *Store) Watch(fn func(store.Hint)) (stop func()) { return s.watchers.Watch(fn) }

// listen passes notifications of other processes on, over a connection of its own that is made
// again when it breaks.
func (s *Store) listen() {
	pause := 100 * time.Millisecond
	for s.live.Err() == nil {
		began := time.Now()
		s.listenOnce()
		if time.Since(began) > 10*time.Second {
			pause = 100 * time.Millisecond
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-s.live.Done():
		}
		wait.Stop()
		pause = min(2*pause, 5*time.Second)
	}
}

func (s *Store) listenOnce() {
	conn, err := s.listener()
	if err != nil {
		return
	}
	defer s.leave(conn)
	if _, err := conn.Exec(s.live, `LISTEN `+quoted(s.channel())); err != nil {
		return
	}
	s.watchers.Tell([]store.Hint{{}}) // what came before cannot be known
	for {
		n, err := s.next(conn, silence)
		if err != nil {
			return
		}
		if n != nil {
			s.hear(n.Payload)
		}
	}
}

// silence is how long nothing may be heard before the connection is tried: one that was cut on the
// way is as silent as a quiet night.
const silence = 30 * time.Second

// next waits for a notification; nil when there was none for a while, and the connection stands.
func (s *Store) next(conn *pgx.Conn, silence time.Duration) (*pgconn.Notification, error) {
	ctx, cancel := context.WithTimeout(s.live, silence)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	if err == nil || s.live.Err() != nil || !pgconn.Timeout(err) {
		return n, err
	}
	ctx, stop := context.WithTimeout(s.live, s.o.Timeout)
	defer stop()
	return nil, conn.Ping(ctx)
}

// leave ends a connection, politely if that is quick.
func (s *Store) leave(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.live), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // nothing was written
}

// listener connects to where notifications arrive.
func (s *Store) listener() (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
	defer cancel()
	if s.o.ListenDSN != "" {
		return pgx.Connect(ctx, s.o.ListenDSN)
	}
	config := s.pool.Config()
	if config.BeforeConnect != nil { // passwords of some hosts are good for some minutes
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config.ConnConfig)
}

// hear passes a notification on. One that cannot be read is of a version that knows more: anything
// may have changed.
func (s *Store) hear(payload string) {
	var note notice
	if err := json.Unmarshal([]byte(payload), &note); err != nil || len(note.Runs) == 0 {
		note.All = true
	}
	if note.From == s.instance {
		return
	}
	if note.All {
		s.watchers.Tell([]store.Hint{{}})
		return
	}
	hints := make([]store.Hint, len(note.Runs))
	for i, r := range note.Runs {
		hints[i] = store.Hint{RunID: r.ID, State: r.State, Seq: r.Seq}
	}
	s.watchers.Tell(hints)
}
