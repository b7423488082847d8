package signin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// The cookies. The prefix lets browsers accept them only from this origin, over TLS, for all paths,
// so that no other host of the domain can set one.
const (
	sessionCookie = "__Host-interlude"
	pendingCookie = "__Host-interlude-signin"
)

// session is the content of a session's cookie.
type session struct {
	ID     string    `json:"id"`
	Person string    `json:"person"`
	Groups []string  `json:"groups,omitempty"`
	Began  time.Time `json:"began"`
	Sealed time.Time `json:"sealed"` // when this cookie was made
	Ends   time.Time `json:"ends"`
}

// pending is the content of the cookie of a sign-in in progress.
type pending struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	To       string    `json:"to"` // the path to return to
	Ends     time.Time `json:"ends"`
}

// maxCookie is the largest value that all browsers keep, with the name and attributes.
const maxCookie = 3900

var (
	errCookie   = errors.New("signin: the cookie was not made by this host, or its key has expired")
	errTooLarge = errors.New("signin: the person has too many groups for a cookie: request fewer from the provider")
)

// seal encrypts and authenticates a cookie's content under the newest key. The name is bound to it,
// so that one cookie cannot be used as the other.
func (s *SignIn) seal(ctx context.Context, name string, content any) (string, error) {
	k, err := s.cfg.Store.newestKey(ctx, s.now(), s.cfg.Lifetime)
	if err != nil {
		return "", err
	}
	aead, err := newAEAD(k.secret)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	sealed := aead.Seal(nil, nil, plain, []byte(name+" "+k.id)) //nolint:gosec // the AEAD draws its nonce
	value := k.id + "." + base64.RawURLEncoding.EncodeToString(sealed)
	if len(value) > maxCookie {
		return "", errTooLarge
	}
	return value, nil
}

func (s *SignIn) open(r *http.Request, name string, content any) error {
	cookie, err := r.Cookie(name)
	if err != nil {
		return err
	}
	id, sealed, _ := strings.Cut(cookie.Value, ".")
	body, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return errCookie
	}
	k, known, err := s.cfg.Store.keyOf(r.Context(), id, s.now())
	if err != nil || !known {
		return errors.Join(err, errCookie)
	}
	aead, err := newAEAD(k.secret)
	if err != nil {
		return err
	}
	plain, err := aead.Open(nil, nil, body, []byte(name+" "+id))
	if err != nil || json.Unmarshal(plain, content) != nil {
		return errCookie
	}
	return nil
}

func newAEAD(secret []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// setCookie sets a cookie until that time; the zero time deletes it.
func setCookie(w http.ResponseWriter, name, value string, until, now time.Time) {
	c := &http.Cookie{Name: name, Value: value, Path: "/", Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, MaxAge: -1} // lax: the provider's redirect is from another site
	if !until.IsZero() {
		c.MaxAge = max(1, int(until.Sub(now).Seconds()))
	}
	http.SetCookie(w, c)
}
