package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of a webhook, as https://www.standardwebhooks.com has them.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Tolerance is how far the time of a webhook may be from the receiver's.
const Tolerance = 5 * time.Minute

var (
	// ErrSignature: the webhook was not signed with any of the secrets, or was changed since.
	ErrSignature = errors.New("notify: signature of webhook does not match")
	// ErrTimestamp: the webhook was signed too long ago, or not yet. Somebody may be sending it
	// again.
	ErrTimestamp = errors.New("notify: time of webhook is not now")
)

// Bounds of a secret, in bytes, as the specification has them.
const (
	minSecret = 24
	maxSecret = 64
)

// secretPrefix is what a secret's text begins with.
const secretPrefix = "whsec_"

// parseSecret returns the key in a secret's text, which the error does not have.
func parseSecret(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < minSecret || len(key) > maxSecret {
		return nil, fmt.Errorf("notify: a secret is %q and the base64 of %d to %d random bytes", secretPrefix,
			minSecret, maxSecret)
	}
	return key, nil
}

// sign returns the signature of a webhook: one for each key, the first one's first.
func sign(keys [][]byte, id, timestamp string, body []byte) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = "v1," + base64.StdEncoding.EncodeToString(sum(key, id, timestamp, body))
	}
	return strings.Join(all, " ")
}

func sum(key []byte, id, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(id + "." + timestamp + "."))
	h.Write(body)
	return h.Sum(nil)
}

// Verify checks a webhook for its receiver, and returns its id: the notice's ID. Body is what came,
// byte for byte; bound its length before reading it (http.MaxBytesReader). A webhook that was
// signed with any of the secrets is accepted, so that they can be rotated. ErrSignature,
// ErrTimestamp; any other error is about the secrets.
//
// A notice may come more than once, with the same id. Any other receiver of Standard Webhooks
// verifies these webhooks as well.
func Verify(header http.Header, body []byte, now time.Time, secrets ...string) (id string, err error) {
	keys := make([][]byte, len(secrets))
	for i, s := range secrets {
		if keys[i], err = parseSecret(s); err != nil {
			return "", err
		}
	}
	id, timestamp := header.Get(HeaderID), header.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	// What is signed is "id.timestamp.body": with a timestamp of digits alone, what is signed of a
	// notice, whose body is an object, is no other webhook with an object.
	if id == "" || err != nil || strconv.FormatInt(seconds, 10) != timestamp || !signed(header, body, keys) {
		return "", ErrSignature
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return "", ErrTimestamp
	}
	return id, nil
}

// signed reports whether one of the signatures in the header is by one of the keys.
func signed(header http.Header, body []byte, keys [][]byte) bool {
	for _, key := range keys {
		want := sum(key, header.Get(HeaderID), header.Get(HeaderTimestamp), body)
		for text := range strings.SplitSeq(header.Get(HeaderSignature), " ") {
			text, ok := strings.CutPrefix(text, "v1,")
			got, err := base64.StdEncoding.Strict().DecodeString(text)
			if ok && err == nil && hmac.Equal(got, want) {
				return true
			}
		}
	}
	return false
}
