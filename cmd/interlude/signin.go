package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/host/signin"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// signIn identifies people and programs: people by a provider of OpenID Connect or a proxy with a
// sign-in, and both by tokens.
type signIn struct {
	Tokens []tokenEntry `json:"tokens"`
	Proxy  *proxyEntry  `json:"proxy"`
	OpenID *openIDEntry `json:"openid"`
	// StoredTokens accepts the tokens of interlude token; implied by OpenID.
	StoredTokens bool `json:"stored_tokens"`

	people *signin.SignIn // nil without OpenID and StoredTokens

	byHash map[[sha256.Size]byte]*tokenEntry
}

type tokenEntry struct {
	User   string   `json:"user"`
	Groups []string `json:"groups"`
	// SHA256 is the hash of the token in hexadecimal digits. A token is random, so its hash needs
	// no salt.
	SHA256 string `json:"sha256"`
}

// proxyEntry is a proxy that signs people in, and sends their names in a header.
type proxyEntry struct {
	UserHeader   string `json:"user_header"`
	GroupsHeader string `json:"groups_header"` // comma-separated; empty: no groups
	// From are the addresses of the proxy. In requests from other addresses, the user and groups
	// headers are ignored.
	From []string `json:"from"`
	// Hosts are the Host values of requests through the proxy. They stop DNS rebinding: a page
	// whose name was changed to point to this machine sends that name as Host.
	Hosts []string `json:"hosts"`

	from []netip.Prefix
}

func (s *signIn) check(page string) error {
	switch {
	case len(s.Tokens) == 0 && s.Proxy == nil && s.OpenID == nil && !s.StoredTokens:
		return errors.New("sign_in has neither tokens nor a proxy, want at least one of them, openid or stored_tokens")
	case s.Proxy != nil && s.OpenID != nil:
		return errors.New("sign_in has a proxy and openid, want one of them")
	case s.OpenID != nil:
		if err := s.OpenID.check(page); err != nil {
			return err
		}
	}
	s.byHash = make(map[[sha256.Size]byte]*tokenEntry)
	for i := range s.Tokens {
		t := &s.Tokens[i]
		digits, err := hex.DecodeString(t.SHA256)
		switch {
		case t.User == "" || len(t.User) > lifecycle.MaxReplyActor || strings.Contains(t.User, ":"):
			return fmt.Errorf("sign_in.tokens[%d].user is %.80q, want a name without a colon", i, t.User)
		case hiddenIn(t.User) != "":
			return fmt.Errorf("sign_in.tokens[%d].user is %.80q, want a name without %s", i, t.User, hiddenIn(t.User))
		case err != nil || len(digits) != sha256.Size:
			return fmt.Errorf("sign_in.tokens[%d].sha256 is %.80q, want 64 hexadecimal digits: printf %%s TOKEN | "+
				"sha256sum", i, t.SHA256)
		}
		hash := [sha256.Size]byte(digits)
		if s.byHash[hash] != nil {
			return fmt.Errorf("sign_in.tokens[%d].sha256 is also another token's, want different tokens", i)
		}
		s.byHash[hash] = t
	}
	if s.Proxy == nil {
		return nil
	}
	return s.Proxy.check()
}

func (p *proxyEntry) check() (err error) {
	switch {
	case p.UserHeader == "":
		return errors.New("sign_in.proxy.user_header is empty, want the header in which the proxy names the person")
	case len(p.From) == 0:
		return errors.New(`sign_in.proxy.from is empty, want the addresses of the proxy, for example ["127.0.0.1/32"]`)
	case len(p.Hosts) == 0:
		return errors.New(`sign_in.proxy.hosts is empty, want the Host of requests, for example ["desk.example.com"]`)
	}
	p.from, err = parsePrefixes("sign_in.proxy.from", p.From)
	return err
}

func parsePrefixes(path string, texts []string) ([]netip.Prefix, error) {
	all := make([]netip.Prefix, 0, len(texts))
	for i, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%s[%d] is %.80q, want a range of addresses like 10.0.0.0/8", path, i, text)
		}
		all = append(all, prefix)
	}
	return all, nil
}

var errNobody = errors.New("no token, and not from a trusted proxy")

// identify is web.Options.Identify. A token is a bearer token, or the password of its user in basic
// authentication.
func (s *signIn) identify(r *http.Request) (lifecycle.Actor, error) {
	user, token, basic := r.BasicAuth()
	if !basic {
		token, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	if s.people != nil && (token == "" && s.OpenID != nil || strings.HasPrefix(token, "interlude_") && !basic) {
		a, err := s.people.Identify(r)
		return s.person(a), err
	}
	if token != "" {
		t := s.byHash[sha256.Sum256([]byte(token))]
		switch {
		case t == nil || basic && t.User != user:
			return lifecycle.Actor{}, errors.New("the token is unknown, or belongs to another user")
		case basic:
			return s.person(lifecycle.Actor{ID: t.User, Groups: t.Groups}), nil
		}
		return s.person(lifecycle.Actor{ID: t.User, Groups: t.Groups, Via: "api"}), nil
	}
	if s.Proxy == nil {
		return lifecycle.Actor{}, errNobody
	}
	a, err := s.Proxy.identify(r)
	if err != nil {
		return lifecycle.Actor{}, err
	}
	return s.person(a), nil
}

// folds reports whether IDs are folded: if there is a proxy or a provider. Many of them send a name
// as typed, and one person with two spellings would count as two approvers.
func (s *signIn) folds() bool { return s.Proxy != nil || s.OpenID != nil }

// person folds the actor's ID. Users of tokens are folded too, because the same person may also
// come through the proxy.
func (s *signIn) person(a lifecycle.Actor) lifecycle.Actor {
	if s.folds() && a.ID != "" {
		a.ID, a.Fold = signin.FoldID(a.ID), signin.FoldID
	}
	return a
}

// prepare is web.Options.Prepare. It stores audiences with folded IDs, which inboxes look up.
func (s *signIn) prepare(_ *http.Request, spec *lifecycle.Spec) error {
	if s.folds() && spec.Ask != nil {
		ask := *spec.Ask
		ask.To = ask.To.Folded(signin.FoldID)
		spec.Ask = &ask
	}
	return nil
}

var errID = errors.New("the sign-in sent an invalid name")

// hiddenIn returns the name of the first invisible character in an ID, or an empty string.
func hiddenIn(id string) string {
	for _, r := range id {
		if r == utf8.RuneError || r == '\n' || r == '\t' || interaction.CharacterOf(r)&interaction.Hidden != 0 {
			return fmt.Sprintf("the character U+%04X", r)
		}
	}
	return ""
}

func (p *proxyEntry) identify(r *http.Request) (lifecycle.Actor, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	from := func(known netip.Prefix) bool { return known.Contains(peer.Addr().Unmap()) }
	if err != nil || !slices.ContainsFunc(p.from, from) {
		return lifecycle.Actor{}, errNobody
	}
	host := func(known string) bool { return strings.EqualFold(known, r.Host) }
	if !slices.ContainsFunc(p.Hosts, host) {
		return lifecycle.Actor{}, fmt.Errorf("the host is %.80q, want one of sign_in.proxy.hosts", r.Host)
	}
	names := r.Header.Values(p.UserHeader)
	if len(names) != 1 || names[0] == "" { // two: the proxy did not remove the browser's header
		return lifecycle.Actor{}, fmt.Errorf("%s is present %d times or empty, want one name", p.UserHeader, len(names))
	}
	if hidden := hiddenIn(names[0]); hidden != "" || len(names[0]) > lifecycle.MaxReplyActor {
		return lifecycle.Actor{}, fmt.Errorf("%w: %s is %.300q, want at most %d bytes of UTF-8 without hidden "+
			"characters", errID, p.UserHeader, names[0], lifecycle.MaxReplyActor)
	}
	a := lifecycle.Actor{ID: names[0]}
	if p.GroupsHeader == "" {
		return a, nil
	}
	lists := r.Header.Values(p.GroupsHeader)
	if len(lists) > 1 {
		return lifecycle.Actor{}, fmt.Errorf("%s is present %d times, want it once", p.GroupsHeader, len(lists))
	}
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				a.Groups = append(a.Groups, name)
			}
		}
	}
	return a, nil
}

// ask makes browsers ask for a name and a token if there are tokens and the request has no valid
// one.
func (s *signIn) ask(frontEnd http.Handler) http.Handler {
	handler := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := s.identify(r)
		if errors.Is(err, errID) {
			_, body := reqbody.Limit(w, r, 0)
			body.CloseUnread(w.Header())
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err != nil && len(s.Tokens) > 0 && s.OpenID == nil {
			w.Header().Set("WWW-Authenticate", `Basic realm="interlude", charset="UTF-8"`)
			if !strings.Contains(r.URL.Path, "/api/") { // frontEnd would serve the page itself to everyone
				w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
				_, body := reqbody.Limit(w, r, 0)
				body.CloseUnread(w.Header())
				http.Error(w, "Sign in with your name, and your token as the password.", http.StatusUnauthorized)
				return
			}
		}
		frontEnd.ServeHTTP(w, r)
	}))
	if s.people != nil {
		handler = s.people.Wrap(handler)
	}
	return handler
}
