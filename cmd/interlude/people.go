package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/host/signin"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

type openIDEntry struct {
	Issuer      string   `json:"issuer"`
	ClientID    string   `json:"client_id"`
	SecretEnv   string   `json:"client_secret_env"` // empty: a public client
	Scopes      []string `json:"scopes"`
	UserClaim   string   `json:"user_claim"`
	GroupsClaim string   `json:"groups_claim"`
	Hours       int      `json:"hours"` // of a session; 0: 12
}

func (o *openIDEntry) check(page string) error {
	switch {
	case o.Issuer == "" || o.ClientID == "":
		return errors.New("sign_in.openid needs issuer and client_id, the registration of this host at the provider")
	case page == "":
		return errors.New("page is empty, want the page's public address: the provider sends browsers back to it")
	case o.SecretEnv != "" && os.Getenv(o.SecretEnv) == "":
		return fmt.Errorf("sign_in.openid.client_secret_env is %.80q, which is not set", o.SecretEnv)
	case o.Hours < 0 || o.Hours > 720:
		return fmt.Errorf("sign_in.openid.hours is %d, want 1 to 720", o.Hours)
	}
	return nil
}

// scimEntry is a directory over HTTP.
type scimEntry struct {
	URL      string `json:"url"`
	TokenEnv string `json:"token_env"` // empty: no token
	// Allow are permitted addresses that are not public, and PlainHTTP permits http.
	Allow     []string `json:"allow"`
	PlainHTTP bool     `json:"plain_http"`
}

func (h *hostFile) checkSCIM() error {
	switch {
	case h.SCIM == nil:
		return nil
	case h.Directory != "":
		return errors.New("both directory and scim are set, want one")
	case h.SCIM.TokenEnv != "" && os.Getenv(h.SCIM.TokenEnv) == "":
		return fmt.Errorf("scim.token_env: set $%s", h.SCIM.TokenEnv)
	}
	_, err := h.SCIM.open(nil, nil)
	return err
}

func (e *scimEntry) open(fold func(string) string, log *slog.Logger) (*people.SCIM, error) {
	allow, err := parsePrefixes("scim.allow", e.Allow)
	if err != nil {
		return nil, err
	}
	directory, err := people.NewSCIM(people.SCIMConfig{URL: e.URL, Token: os.Getenv(e.TokenEnv), ID: fold, Logger: log,
		Network: netguard.Network{Allow: allow, PlainHTTP: e.PlainHTTP}})
	if err != nil {
		return nil, fmt.Errorf("scim.url: %w", err)
	}
	return directory, nil
}

// directory opens the directory of people; nil without one.
func (h *hostFile) directory(log *slog.Logger) (lifecycle.Directory, error) {
	if h.SCIM != nil {
		var fold func(string) string
		if h.SignIn != nil && h.SignIn.folds() {
			fold = signin.FoldID
		}
		return h.SCIM.open(fold, log)
	}
	if h.Directory == "" {
		return nil, nil //nolint:nilnil // there are no deputies
	}
	directory, err := people.Open(h.Directory, log)
	if err != nil {
		return nil, misusef("%w", err)
	}
	return directory, nil
}

// openPeople opens the tables of sessions, tokens and people who have left, if the configuration
// has people. Close the database at the end; it is nil without a store.
func (h *hostFile) openPeople(ctx context.Context, d *console.Database, log *slog.Logger) (*signin.Store, *sql.DB,
	error) {
	if h.SignIn == nil && h.Directory == "" && h.SCIM == nil {
		return nil, nil, nil
	}
	store, db, err := openPeople(ctx, d)
	if err != nil || h.SignIn == nil || h.SignIn.OpenID == nil && !h.SignIn.StoredTokens {
		return store, db, err
	}
	cfg := signin.Config{Store: store, Logger: log}
	if o := h.SignIn.OpenID; o != nil {
		cfg.Issuer, cfg.ClientID, cfg.ClientSecret = o.Issuer, o.ClientID, os.Getenv(o.SecretEnv)
		cfg.Scopes, cfg.UserClaim, cfg.GroupsClaim, cfg.Page = o.Scopes, o.UserClaim, o.GroupsClaim, h.Page
		cfg.Lifetime = time.Duration(o.Hours) * time.Hour
	}
	if h.SignIn.people, err = signin.New(cfg); err != nil {
		return nil, nil, errors.Join(misusef("%w", err), db.Close())
	}
	return store, db, nil
}

// openPeople opens the tables, on PostgreSQL in the database of the runs, on SQLite in the file of
// the notices.
func openPeople(ctx context.Context, d *console.Database) (*signin.Store, *sql.DB, error) {
	driver, name := d.Queue()
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, nil, err
	}
	store, err := forDriver(driver, signin.OpenSQLite, signin.OpenPostgreSQL)(ctx, db)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return store, db, nil
}

var tokenVerb = command.Verb{
	Name: "token", Args: "create PERSON|list|revoke ID|leave PERSON|return PERSON",
	Does: "manage the tokens of programs, and end everything of a person who leaves",
	More: "A token is printed once, and stored as a hash. serve accepts it if sign_in in its file has stored_tokens " +
		"or openid. leave ends all tokens, sessions, claims, deputyships and remembered decisions of a person, and " +
		"refuses new ones and every other call, until return. It reaches hosts within five seconds: repeat " +
		"it if the person was at work.",
	Prepare: func(f *flag.FlagSet) command.Action {
		t := &tokenCall{db: console.NewDatabase(f)}
		f.StringVar(&t.scope, "scope", string(signin.ScopeAnswer), "the `calls` that the token permits: view, answer or "+
			"operate")
		f.DurationVar(&t.lasts, "lasts", 0, "how long the token is valid, for example 720h; default: until it is "+
			"revoked")
		f.Func("group", "a `group` of the token's person (repeatable)", list(&t.groups))
		f.BoolVar(&t.json, "json", false, "print JSON, one object per line")
		return t.run
	},
}

type tokenCall struct {
	db     *console.Database
	scope  string
	lasts  time.Duration
	groups []string
	json   bool
}

func (t *tokenCall) run(ctx context.Context, c command.Call) (status int, err error) {
	task, arg := "", ""
	if len(c.Args) > 0 {
		task, arg = c.Args[0], strings.Join(c.Args[1:], " ")
	}
	wanted := map[string]int{"create": 2, "list": 1, "revoke": 2, "leave": 2, "return": 2}[task]
	if wanted == 0 || len(c.Args) != wanted || wanted == 2 && arg == "" {
		return misused, misusef("want token create PERSON, list, revoke ID, leave PERSON or return PERSON")
	}
	st, err := t.db.OpenExisting(ctx) // a wrong -db must not create a file
	if err != nil {
		return failed, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	store, db, err := openPeople(ctx, t.db)
	if err != nil {
		return failed, err
	}
	defer db.Close()
	now := time.Now()
	switch task {
	case "create":
		record := signin.Token{Person: arg, Groups: t.groups, Scope: signin.Scope(t.scope)}
		if t.lasts != 0 {
			record.Expires = now.Add(t.lasts)
		}
		token, record, err := store.CreateToken(ctx, record, now)
		if errors.Is(err, signin.ErrLeft) {
			return failed, command.Refusef("%w; interlude token return %s admits the person again", err,
				command.Quote(arg))
		}
		if err != nil {
			return misused, misusef("%w", err)
		}
		if err := t.print(c, record, token); err != nil { // the token cannot be printed later
			_, revoked := store.RevokeToken(ctx, record.ID)
			return failed, errors.Join(fmt.Errorf("the token could not be printed, and is revoked: %w", err), revoked)
		}
	case "list":
		all, err := store.Tokens(ctx)
		if err != nil {
			return failed, err
		}
		for _, record := range all {
			if err := t.print(c, record, ""); err != nil {
				return failed, err
			}
		}
	case "revoke":
		if known, err := store.RevokeToken(ctx, arg); err != nil || !known {
			return failed, cmp.Or(err, command.Refusef("there is no token %.80q; interlude token list lists them", arg))
		}
	case "leave":
		client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st})
		if err != nil {
			return failed, err
		}
		defer client.Close()
		return succeeded, errors.Join(store.Leave(ctx, arg, now), endClaims(ctx, client, arg),
			endMemories(ctx, client, arg))
	case "return":
		if known, err := store.Return(ctx, arg); err != nil || !known {
			return failed, cmp.Or(err, command.Refusef("%.80q has not left", arg))
		}
	}
	return succeeded, nil
}

// endClaims releases all claims by a person, in any spelling, and by deputies for that person.
func endClaims(ctx context.Context, client *lifecycle.Client, person string) error {
	is := func(id string) bool { return id != "" && signin.FoldID(id) == signin.FoldID(person) }
	for q := (lifecycle.InboxQuery{}); ; {
		page, err := client.Inbox(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Questions {
			o := &page.Questions[i]
			c := o.Question.Claim
			if !c.Lasts(client.Now()) || !is(c.Actor) && !is(c.For) {
				continue
			}
			err := client.Release(ctx, o.RunID, o.Question.ID)
			if err != nil && !errors.Is(err, lifecycle.ErrSettled) && !errors.Is(err, lifecycle.ErrNotFound) {
				return err
			}
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
}

// endMemories ends all decisions by a person, in any spelling, that runs remember.
func endMemories(ctx context.Context, client *lifecycle.Client, person string) error {
	states := []lifecycle.State{lifecycle.StateQueued, lifecycle.StateRunning, lifecycle.StateWaitingUser}
	for q := (lifecycle.Query{States: states}); ; {
		page, err := client.Runs(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Runs {
			for _, m := range page.Runs[i].Remembered {
				if signin.FoldID(m.Actor) != signin.FoldID(person) {
					continue
				}
				err := client.Forget(ctx, page.Runs[i].ID, m.ID)
				if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
					return err
				}
			}
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
}

// print prints a token's record, with the token itself when it is new.
func (t *tokenCall) print(c command.Call, r signin.Token, token string) error {
	if t.json {
		line, _ := json.Marshal(struct {
			ID      string       `json:"id"`
			Person  string       `json:"person"`
			Groups  []string     `json:"groups,omitempty"`
			Scope   signin.Scope `json:"scope"`
			Created time.Time    `json:"created"`
			Expires time.Time    `json:"expires,omitzero"`
			Token   string       `json:"token,omitempty"`
		}{r.ID, r.Person, r.Groups, r.Scope, r.Created.UTC(), r.Expires.UTC(), token})
		_, err := fmt.Fprintln(c.Out, terminal.JSON(line))
		return err
	}
	expires := "never expires"
	if !r.Expires.IsZero() {
		expires = "expires " + r.Expires.Format(time.DateTime)
	}
	if token != "" {
		token += "\n"
	}
	_, err := fmt.Fprintf(c.Out, "%s  %-8s %s %s  %s\n%s", r.ID, r.Scope, terminal.Name(r.Person),
		terminal.Names(r.Groups), expires, token)
	return err
}
