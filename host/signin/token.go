package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Scope limits the calls of a token. Each includes those before it.
type Scope string

// The scopes.
const (
	ScopeView    Scope = "view"    // read runs, questions, events and figures
	ScopeAnswer  Scope = "answer"  // also reply, claim, release and reassign
	ScopeOperate Scope = "operate" // also submit, cancel, resume, extend, fork, feeds and the rest
)

var levels = map[Scope]int{ScopeView: 1, ScopeAnswer: 2, ScopeOperate: 3}

// Token is the record of a token. The token itself is not stored, only its hash.
type Token struct {
	ID      string // names it for Revoke
	Person  string // Actor.ID of its calls
	Groups  []string
	Scope   Scope
	Created time.Time
	Expires time.Time // zero: never

	hash string
}

// tokenPrefix lets scanners of secrets find tokens.
const tokenPrefix = "interlude_"

// CreateToken stores a new token and returns it. It cannot be read again. Set Person, Scope, and
// optionally Groups and Expires.
func (s *Store) CreateToken(ctx context.Context, t Token, now time.Time) (token string, _ Token, _ error) {
	switch {
	case levels[t.Scope] == 0:
		return "", t, fmt.Errorf("signin: Token.Scope is %.80q, want view, answer or operate", t.Scope)
	case !validID(t.Person):
		return "", t, fmt.Errorf("signin: Token.Person is %.80q, want at most %d bytes without hidden characters",
			t.Person, lifecycle.MaxReplyActor)
	case !t.Expires.IsZero() && !t.Expires.After(now):
		return "", t, errors.New("signin: Token.Expires is in the past, want a future time or none")
	case strings.Contains(strings.Join(t.Groups, ""), "\n"):
		return "", t, errors.New("signin: Token.Groups has a name of several lines, want names")
	}
	s.forget()
	if err := s.present(ctx, t.Person, now); err != nil {
		return "", t, err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	t.ID, t.Created, t.hash = rand.Text()[:10], now, hashOf(token)
	expires := int64(0)
	if !t.Expires.IsZero() {
		expires = t.Expires.UnixMicro()
	}
	_, err := s.exec(ctx, `INSERT INTO interlude_signin_tokens (id, hash, person, groups_of, scope, created, expires)
	VALUES ($1, $2, $3, $4, $5, $6, $7)`, t.ID, t.hash, t.Person, strings.Join(t.Groups, "\n"), string(t.Scope),
		now.UnixMicro(), expires)
	s.forget()
	return token, t, err
}

// A token is random, so its hash needs no salt.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Tokens lists all tokens, oldest first, also expired ones.
func (s *Store) Tokens(ctx context.Context) (all []Token, _ error) {
	err := s.each(ctx, `SELECT id, hash, person, groups_of, scope, created, expires FROM interlude_signin_tokens
	ORDER BY created, id`, nil, func(scan func(...any) error) error {
		var t Token
		var groups, scope string
		var created, expires int64
		if err := scan(&t.ID, &t.hash, &t.Person, &groups, &scope, &created, &expires); err != nil {
			return err
		}
		t.Scope, t.Created = Scope(scope), time.UnixMicro(created)
		if groups != "" {
			t.Groups = strings.Split(groups, "\n")
		}
		if expires != 0 {
			t.Expires = time.UnixMicro(expires)
		}
		all = append(all, t)
		return nil
	})
	return all, err
}

// RevokeToken deletes a token by its ID; false if it does not exist.
func (s *Store) RevokeToken(ctx context.Context, id string) (bool, error) {
	n, err := s.exec(ctx, `DELETE FROM interlude_signin_tokens WHERE id = $1`, id)
	s.forget()
	return n > 0, err
}

var errToken = errors.New("signin: the token is unknown or expired")

// unknown is how old the rows may be if a token or key is not among them: invalid ones cause at most
// ten reads a second.
const unknown = 100 * time.Millisecond

// Token returns the record of a token that is valid now. A token that another process has created is
// refused for at most 100 ms.
func (s *Store) Token(ctx context.Context, token string, now time.Time) (t Token, err error) {
	hash, found := hashOf(token), false
	for _, age := range []time.Duration{fresh, unknown} { // another process may have made it just now
		if err = s.view(ctx, now, age, func() { t, found = s.tokens[hash] }); found || err != nil {
			break
		}
	}
	if err == nil && (!found || !t.Expires.IsZero() && !t.Expires.After(now)) {
		err = errToken
	}
	return t, err
}

type scopeKey struct{}

// Authorize is for lifecycle.Config.Authorize. It refuses calls beyond the scope of the request's
// token, which SignIn.Wrap has put into the context, and ActionOverrule of everybody except the host
// itself, as without an Authorize. Other calls are allowed. A host with its own rules calls it first.
// Store.Authorize also refuses people who have left.
func Authorize(ctx context.Context, access lifecycle.Access) error {
	if access.Action == lifecycle.ActionOverrule && !access.Actor.IsZero() {
		return errors.New("another person has claimed the question, or it is for others")
	}
	scope, limited := ctx.Value(scopeKey{}).(Scope)
	if !limited {
		return nil
	}
	needed := ScopeOperate
	switch access.Action {
	case lifecycle.ActionView, lifecycle.ActionList, lifecycle.ActionStats:
		needed = ScopeView
	case lifecycle.ActionReply, lifecycle.ActionClaim, lifecycle.ActionRelease, lifecycle.ActionReassign,
		lifecycle.ActionNote, lifecycle.ActionRemember, lifecycle.ActionForget:
		needed = ScopeAnswer
	}
	if levels[scope] < levels[needed] {
		return fmt.Errorf("the token has the scope %s, and this needs %s", scope, needed)
	}
	return nil
}

// bearer returns the token of a request; empty if it has none of this package.
func bearer(r *http.Request) string {
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found || !strings.HasPrefix(token, tokenPrefix) {
		return ""
	}
	return token
}

// attempts counts invalid tokens by address. Valid tokens pass in any case: behind a proxy all
// programs have one address.
type attempts struct {
	mu     sync.Mutex // guards the fields below
	minute int64
	failed map[netip.Prefix]int // in this minute
}

// maxAttempts is the number of invalid tokens that an address may send in a minute, and
// maxAddresses limits the memory; beyond it all addresses count as one.
const (
	maxAttempts  = 20
	maxAddresses = 10_000
)

// fail counts an invalid token; false if the address has sent too many.
func (a *attempts) fail(address string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if minute := now.Unix() / 60; a.failed == nil || minute != a.minute {
		a.minute, a.failed = minute, make(map[netip.Prefix]int)
	}
	var from netip.Prefix
	if peer, err := netip.ParseAddrPort(address); err == nil {
		bits := 32
		if peer.Addr().Unmap().Is6() {
			bits = 64 // of one customer
		}
		from, _ = peer.Addr().Unmap().Prefix(bits)
	}
	if _, known := a.failed[from]; !known && len(a.failed) >= maxAddresses {
		from = netip.Prefix{}
	}
	a.failed[from]++
	return a.failed[from] <= maxAttempts
}
