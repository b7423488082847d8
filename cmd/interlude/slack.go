package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

// slackEntry is the app of a Slack workspace. People are found by their address "slack" in the directory.
type slackEntry struct {
	// TokenEnv, SecretEnv and AppTokenEnv name environment variables. They hold the bot's token,
	// the signing secret for requests to /slack, and the app-level token for Socket Mode.
	// SecretEnv or AppTokenEnv is required.
	TokenEnv    string `json:"token_env"`
	SecretEnv   string `json:"signing_secret_env"`
	AppTokenEnv string `json:"app_token_env"`
	// Channel is the id of the channel for questions; empty: direct messages to their audience.
	Channel string `json:"channel"`
	// API is the address of Slack's API; empty: slack.com.
	API string `json:"api"`
}

// checkSlack returns an error for an invalid app.
func (h *hostFile) checkSlack() error {
	s := h.Slack
	if s == nil {
		return nil
	}
	if h.Directory == "" && h.SCIM == nil {
		return errors.New("directory is empty, want the file of people with their addresses, which slack needs, " +
			"or scim")
	}
	if s.SecretEnv == "" && s.AppTokenEnv == "" {
		return errors.New("slack has neither signing_secret_env nor app_token_env, want one for the people's answers")
	}
	for field, name := range map[string]string{"signing_secret_env": s.SecretEnv, "app_token_env": s.AppTokenEnv} {
		if name != "" && os.Getenv(name) == "" {
			return fmt.Errorf("slack.%s: set $%s", field, name)
		}
	}
	if _, err := secretIn(s.TokenEnv); err != nil {
		return fmt.Errorf("slack.token_env: %w", err)
	}
	return nil
}

// newSlack returns the app; nil without one.
func (h *hostFile) newSlack(ctx context.Context, driver string, db *sql.DB, client *lifecycle.Client,
	directory lifecycle.Directory, log *slog.Logger) (*slack.App, error) {
	s := h.Slack
	if s == nil {
		return nil, nil //nolint:nilnil // no app
	}
	all, ok := directory.(people.Directory)
	if !ok {
		return nil, h.explain("directory", errors.New("it lists no people, want the file of people, which slack needs"))
	}
	messages, err := forDriver(driver, slack.OpenSQLite, slack.OpenPostgreSQL)(ctx, db)
	if err != nil {
		return nil, err
	}
	known := slack.Directory{Directory: all}
	cfg := slack.Config{Client: client, Messages: messages, Logger: log, Token: os.Getenv(s.TokenEnv),
		SigningSecret: os.Getenv(s.SecretEnv), AppToken: os.Getenv(s.AppTokenEnv), API: s.API, Places: known.Audience,
		Person: func(ctx context.Context, team, user string) (lifecycle.Actor, error) {
			actor, err := known.Who(ctx, team, user)
			if h.SignIn != nil {
				actor = h.SignIn.person(actor) // one person on every front end
			}
			return actor, err
		}}
	if s.Channel != "" {
		cfg.Places = slack.Channel(s.Channel)
	}
	if h.Page != "" {
		cfg.Page = h.pageOf
	}
	app, err := slack.New(cfg)
	if err != nil {
		return nil, h.explain("slack", err)
	}
	return app, nil
}

// slackEndpoint names the endpoint of notices for Slack. The prefix keeps it apart from a user's
// webhook.
const slackEndpoint = "slack-app"

// withSlack serves Slack's requests at /slack. Slack signs them, so they need no sign-in.
func (n *notices) withSlack(handler http.Handler) http.Handler {
	if n == nil || n.slack == nil {
		return handler
	}
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.Handle("/slack", n.slack)
	return mux
}

// serveSocket connects to Slack if the file has an app-level token.
func (n *notices) serveSocket(ctx context.Context, h *hostFile) error {
	if n.slack == nil || h.Slack.AppTokenEnv == "" {
		return nil
	}
	if err := n.slack.ServeSocket(ctx); err != nil {
		return h.explain("slack", err)
	}
	return nil
}
