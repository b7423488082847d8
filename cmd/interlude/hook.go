package main

import (
	"context"
	"database/sql"
	"log/slog"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/lifecycle"
)

// notices are what serve sends to its webhook, with the database that keeps what was not accepted yet.
type notices struct {
	*notify.Notifier
	db *sql.DB
}

func (n *notices) close() { _ = n.db.Close() } // what is in it is stored

// notices prepares the webhook; nil without -webhook. The queue lies in the runs' own database, or beside
// its file.
func (s *serving) notices(ctx context.Context, client *lifecycle.Client, log *slog.Logger) (*notices, error) {
	secret := os.Getenv(hookSecret)
	switch {
	case s.hook == "":
		return nil, nil //nolint:nilnil // there is none, and no error
	case secret == "":
		return nil, misusef("-webhook needs a secret: export %s=whsec_$(openssl rand -base64 32)", hookSecret)
	}
	hook, err := notify.NewWebhook(notify.WebhookConfig{URL: s.hook, Secrets: []string{secret}})
	if err != nil {
		return nil, misusef("-webhook cannot be used: %w", err)
	}
	driver, name := s.db.Queue()
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, err
	}
	queue, err := openQueue(ctx, driver, db)
	if err == nil {
		var n *notify.Notifier
		n, err = notify.New(notify.Config{Client: client, Queue: queue, Logger: log,
			Endpoints: []notify.Endpoint{{Name: "webhook", Sender: hook}}})
		if err == nil {
			return &notices{n, db}, nil
		}
	}
	_ = db.Close() // err says why
	return nil, err
}

func openQueue(ctx context.Context, driver string, db *sql.DB) (*notify.SQL, error) {
	if driver == "pgx" {
		return notify.OpenPostgreSQL(ctx, db)
	}
	return notify.OpenSQLite(ctx, db)
}
