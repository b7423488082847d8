package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// start begins a sign-in: it sends the browser to the provider.
func (s *SignIn) start(w http.ResponseWriter, r *http.Request) {
	_, config, err := s.endpoints(r.Context())
	if err != nil {
		s.refuse(w, http.StatusBadGateway, "The sign-in service does not answer. Try again later.", err)
		return
	}
	p := pending{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		To: s.localPath(r.URL.Query().Get("to")), Ends: s.now().Add(signInLimit)}
	value, err := s.seal(r.Context(), pendingCookie, p)
	if err != nil {
		s.refuse(w, http.StatusServiceUnavailable, "The sign-in is not available. Try again later.", err)
		return
	}
	setCookie(w, pendingCookie, value, p.Ends, s.now())
	http.Redirect(w, r, config.AuthCodeURL(p.State, oidc.Nonce(p.Nonce), oauth2.S256ChallengeOption(p.Verifier)),
		http.StatusFound)
}

// localPath returns a path of this host; the page's if the text is anything else, such as another
// site.
func (s *SignIn) localPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsAny(to, "\\\r\n\t") || strings.HasPrefix(u.Path, path) || len(to) > 1024 {
		return s.page.EscapedPath()
	}
	return to
}

// callback ends a sign-in: the provider has sent the browser back.
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) {
	var p pending
	err := s.open(r, pendingCookie, &p)
	query := r.URL.Query()
	switch {
	case err != nil || !s.now().Before(p.Ends) ||
		subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(p.State)) != 1:
		if _, err := s.session(r); err == nil { // an old tab, or the back button
			http.Redirect(w, r, s.page.EscapedPath(), http.StatusFound)
			return
		}
		s.refuse(w, http.StatusBadRequest, "This sign-in has expired, or was begun in another browser.", err)
		return
	case query.Get("error") != "":
		s.refuse(w, http.StatusForbidden, "The sign-in service has refused: "+query.Get("error"),
			errors.New(query.Get("error_description")))
		return
	}
	setCookie(w, pendingCookie, "", time.Time{}, s.now())
	c, err := s.exchange(r.Context(), query.Get("code"), &p)
	if err != nil {
		s.refuse(w, http.StatusForbidden, "The sign-in failed.", err)
		return
	}
	// Record only sign-ins that the provider has confirmed: otherwise anyone could fill the
	// table.
	first, err := s.cfg.Store.end(r.Context(), "state:"+p.State, s.now(), p.Ends)
	if err != nil || !first {
		s.refuse(w, http.StatusBadRequest, "This sign-in was used already.", err)
		return
	}
	if err := s.cfg.Store.present(r.Context(), c.Person, s.now()); err != nil {
		s.refuse(w, http.StatusForbidden, "You may not sign in here any more.", err)
		return
	}
	value, err := s.seal(r.Context(), sessionCookie, c)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, "The sign-in failed.", err)
		return
	}
	setCookie(w, sessionCookie, value, c.Ends, s.now())
	http.Redirect(w, r, p.To, http.StatusFound)
}

func (s *SignIn) exchange(ctx context.Context, code string, p *pending) (*session, error) {
	provider, config, err := s.endpoints(ctx)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, s.cfg.Client)
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(p.Verifier))
	if err != nil {
		return nil, fmt.Errorf("signin: redeem the code: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: s.cfg.ClientID, Now: s.cfg.Now}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("signin: ID token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(p.Nonce)) != 1 {
		return nil, errors.New("signin: ID token: the nonce is of another sign-in")
	}
	claims := make(map[string]json.RawMessage)
	if err := id.Claims(&claims); err != nil {
		return nil, err
	}
	if claims[s.cfg.UserClaim] == nil || claims[s.cfg.GroupsClaim] == nil {
		info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		switch {
		case err != nil && claims[s.cfg.UserClaim] == nil:
			return nil, fmt.Errorf("signin: the ID token has no claim %s: %w", s.cfg.UserClaim, err)
		case err == nil && info.Subject != id.Subject:
			return nil, errors.New("signin: the provider's information is about another person")
		case err == nil:
			more := make(map[string]json.RawMessage)
			if err := info.Claims(&more); err != nil {
				return nil, err
			}
			for name, value := range more { // the ID token's claims are signed
				if claims[name] == nil {
					claims[name] = value
				}
			}
		}
	}
	return s.newSession(claims)
}

func (s *SignIn) newSession(claims map[string]json.RawMessage) (*session, error) {
	now := s.now()
	c := &session{ID: rand.Text(), Began: now, Sealed: now, Ends: now.Add(s.cfg.Lifetime)}
	if err := json.Unmarshal(claims[s.cfg.UserClaim], &c.Person); err != nil || !validID(c.Person) {
		return nil, fmt.Errorf("signin: the claim %s is %.80s, want a text without hidden characters", s.cfg.UserClaim,
			claims[s.cfg.UserClaim])
	}
	var verified bool
	err := json.Unmarshal(claims["email_verified"], &verified)
	if s.cfg.UserClaim == "email" && (err != nil || !verified) {
		return nil, fmt.Errorf("signin: the provider has not verified the address %s", c.Person)
	}
	if groups := claims[s.cfg.GroupsClaim]; groups != nil {
		if err := json.Unmarshal(groups, &c.Groups); err != nil {
			return nil, fmt.Errorf("signin: the claim %s is %.80s, want a list of texts", s.cfg.GroupsClaim, groups)
		}
	}
	return c, nil
}

// askOut shows the button that signs out: a link of another site must not.
func (s *SignIn) askOut(w http.ResponseWriter, _ *http.Request) {
	s.show(w, http.StatusOK, "Sign out", `<form method="post"><button>Sign out</button></form>`)
}

// out ends the session on all nodes. The session at the provider continues.
func (s *SignIn) out(w http.ResponseWriter, r *http.Request) {
	if err := s.sameSite.Check(r); err != nil {
		s.refuse(w, http.StatusForbidden, "A page of another site may not sign you out.", err)
		return
	}
	if c, err := s.session(r); err == nil {
		if _, err := s.cfg.Store.end(r.Context(), "session:"+c.ID, s.now(), c.Ends); err != nil {
			s.refuse(w, http.StatusServiceUnavailable, "You are still signed in: the database does not answer.", err)
			return
		}
	}
	setCookie(w, sessionCookie, "", time.Time{}, s.now())
	s.show(w, http.StatusOK, "Signed out", "You are signed out here. Your sign-in service may still know you.")
}

// refuse shows a text, and logs the reason.
func (s *SignIn) refuse(w http.ResponseWriter, status int, text string, reason error) {
	s.cfg.Logger.Warn("signin: refused", "status", status, "err", reason)
	s.show(w, status, "Sign-in", html.EscapeString(text))
}

// show writes a page with a link to sign in.
func (s *SignIn) show(w http.ResponseWriter, status int, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" `+
		`content="width=device-width"><title>%s</title></head><body><main><h1>%[1]s</h1><p>%s</p><p><a href="%s">`+
		"Continue to the page</a></p></main></body></html>\n", title, body, html.EscapeString(s.page.EscapedPath()))
}
