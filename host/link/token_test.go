package link

import (
	"encoding/base64"
	"flag"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var mutations = flag.Int("mutations", 50_000, "the number of random mutations of tokens to try")

// L2: links stay valid after a new key is prepended, and end when their key is removed.
func TestL2KeysRotate(t *testing.T) {
	h := newHost(t, confirm, nil)
	old := h.link("r", h.asked("r", nil), To("ada"))
	keyB := Key{ID: "b", Secret: []byte(strings.Repeat("b", MinSecret))}
	for _, c := range []struct {
		keys   []Key
		status int
	}{{[]Key{keyB, keyA}, http.StatusOK}, {[]Key{keyB}, http.StatusForbidden}} {
		cfg := h.links.config
		cfg.Keys = c.keys
		var err error
		h.links, err = New(cfg)
		require.NoError(t, err)
		require.Equal(t, c.status, h.call("GET", old, nil).Code)
	}
}

// sampleToken returns a token with every field set.
func sampleToken() string {
	c := capability{run: "run-7", question: 3, person: "ada@example.com", until: time.Unix(1_900_000_000, 0), asked: 17}
	return keyA.seal(&c)
}

// L2: every changed token is rejected. -mutations tries more.
func TestL2NoMutationOfATokenIsAccepted(t *testing.T) {
	token := sampleToken()
	_, _, err := open([]Key{keyA}, token)
	require.NoError(t, err)
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=\n\r+/ "
	r := rand.New(rand.NewPCG(1, 2))
	for range *mutations {
		b := []byte(token)
		for range 1 + r.IntN(3) {
			i := r.IntN(len(b))
			switch r.IntN(5) {
			case 0:
				b = append(b[:i], b[i+1:]...)
			case 1:
				b = append(b[:i], append([]byte{letters[r.IntN(len(letters))]}, b[i:]...)...)
			case 2: // one bit of the signed bytes
				if raw, err := base64.RawURLEncoding.DecodeString(string(b)); err == nil {
					raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
					b = []byte(base64.RawURLEncoding.EncodeToString(raw))
				}
			default:
				b[i] = letters[r.IntN(len(letters))]
			}
		}
		if string(b) == token {
			continue
		}
		_, _, err := open([]Key{keyA}, string(b))
		require.Error(t, err, "%q", b)
	}
}

// L2: a forged length before the key's id is rejected, and no slice is allocated from it.
func TestL2NoLengthInATokenIsTrusted(t *testing.T) {
	for n := range 256 {
		for _, size := range []int{2, 64, 300, 800} {
			raw := make([]byte, size)
			raw[0], raw[1] = tokenVersion, byte(n)
			_, _, err := open([]Key{keyA}, base64.RawURLEncoding.EncodeToString(raw))
			require.Error(t, err, "%d of %d bytes", n, size)
		}
	}
}

// L2: any input that is not a token of these keys is rejected without a panic, and an accepted
// token has one spelling.
func FuzzOpen(f *testing.F) {
	f.Add(sampleToken())
	f.Add("")
	f.Add("AQFh")
	f.Add("Af8" + strings.Repeat("A", 400)) // the longest key id
	f.Fuzz(func(t *testing.T, token string) {
		c, key, err := open([]Key{keyA}, token)
		if err == nil {
			require.Equal(t, token, key.seal(c))
		}
	})
}
