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

// Headers of a webhook, as defined by https://www.standardwebhooks.com.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Tolerance is the maximum difference between a webhook's time and the receiver's clock.
const Tolerance = 5 * time.Minute

var (
	// ErrSignature: the webhook was signed with none of the secrets, or was changed later.
	ErrSignature = errors.New("notify: the webhook's signature does not match any secret")
	// ErrTimestamp: the webhook's time is too far in the past or future. It may be a replay.
	ErrTimestamp = errors.New("notify: the webhook's time differs from now by more than 5 minutes")
)

// Limits of a secret in bytes, from the specification.
const (
	minSecret = 24
	maxSecret = 64
)

const secretPrefix = "whsec_"

// parseSecret returns the key in a secret's text. The error does not contain the secret.
func parseSecret(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < minSecret || len(key) > maxSecret {
		return nil, fmt.Errorf("notify: the secret is invalid, want %q and the base64 of %d to %d random "+
			"bytes", secretPrefix,
			minSecret, maxSecret)
	}
	return key, nil
}

// sign returns the signatures of a webhook, one for each key in order.
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

// Verify checks a webhook for its receiver, and returns its id: the notice's ID. Pass the body byte
// for byte, and limit its length when reading it (http.MaxBytesReader). Any of the secrets may
// match, so that they can be rotated. ErrSignature, ErrTimestamp; any other error is about the
// secrets.
//
// A notice may arrive more than once, with the same id. Any other library for Standard Webhooks can
// verify these webhooks as well.
func Verify(header http.Header, body []byte, now time.Time, secrets ...string) (id string, err error) {
	keys := make([][]byte, len(secrets))
	for i, s := range secrets {
		if keys[i], err = parseSecret(s); err != nil {
			return "", err
		}
	}
	id, timestamp := header.Get(HeaderID), header.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	// The signed text is "id.timestamp.body". Requiring a timestamp of only digits makes it
	// unambiguous: no other webhook whose body is an object has the same signed text.
	if id == "" || err != nil || strconv.FormatInt(seconds, 10) != timestamp || !signed(header, body, keys) {
		return "", ErrSignature
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return "", ErrTimestamp
	}
	return id, nil
}

// signed reports whether any signature in the header is by any of the keys.
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
