package link

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

type capability struct {
	run      string
	question int
	person   string
	until    time.Time // whole seconds
	asked    int64     // Question.AskedAt in microseconds: a run resubmitted under its id asks a different question
	digest   [sha256.Size]byte
	// audience identifies the audience when the link was made. It only distinguishes a reassigned
	// question from a question that the person could never answer.
	audience [8]byte
}

// A token is the base64 (URL alphabet, no padding) of the payload and its HMAC-SHA-256. The payload
// is: version, key id, until, asked, question, digest, audience, run, person. Texts are preceded by
// their length in one byte, or two for the person.
const (
	tokenVersion = 1
	fixedBytes   = 8 + 8 + 4 + sha256.Size + 8
	maxToken     = 1200 // characters; longer than every valid token
)

var (
	errDamaged = errors.New("link: token is damaged or forged")
	errForeign = errors.New("link: token is signed with an unknown key")
)

// purpose separates these signatures from others that a host makes with the same secret.
const purpose = "interlude link token\x00"

func (k *Key) sum(purpose string, payload []byte) []byte {
	mac := hmac.New(sha256.New, k.Secret)
	mac.Write([]byte(purpose))
	mac.Write(payload)
	return mac.Sum(nil)
}

func (k *Key) seal(c *capability) string {
	b := []byte{tokenVersion, byte(len(k.ID))}
	b = append(b, k.ID...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.until.Unix()))
	b = binary.BigEndian.AppendUint64(b, uint64(c.asked))
	b = binary.BigEndian.AppendUint32(b, uint32(c.question))
	b = append(b, c.digest[:]...)
	b = append(b, c.audience[:]...)
	b = append(append(b, byte(len(c.run))), c.run...)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(c.person))), c.person...)
	return base64.RawURLEncoding.EncodeToString(append(b, k.sum(purpose, b)...))
}

// open returns a token's capability and the key that signed it. Each token has exactly one
// spelling: base64 decoding ignores line breaks and trailing bits, so open encodes the bytes again
// and compares.
func open(keys []Key, token string) (*capability, *Key, error) {
	if len(token) > maxToken {
		return nil, nil, errDamaged
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || base64.RawURLEncoding.EncodeToString(raw) != token {
		return nil, nil, errDamaged
	}
	end := len(raw) - sha256.Size
	if end < 2 || raw[0] != tokenVersion {
		return nil, nil, errDamaged
	}
	payload, mac := raw[:end], raw[end:]
	idEnd := 2 + int(raw[1])
	if idEnd > end {
		return nil, nil, errDamaged
	}
	key := keyOf(keys, string(payload[2:idEnd]))
	if key == nil {
		return nil, nil, errForeign
	}
	if !hmac.Equal(mac, key.sum(purpose, payload)) {
		return nil, nil, errDamaged
	}
	c, ok := decode(payload[idEnd:])
	if !ok {
		return nil, nil, errDamaged
	}
	return c, key, nil
}

func keyOf(keys []Key, id string) *Key {
	for i := range keys {
		if keys[i].ID == id {
			return &keys[i]
		}
	}
	return nil
}

func decode(b []byte) (*capability, bool) {
	if len(b) < fixedBytes+1 {
		return nil, false
	}
	c := capability{until: time.Unix(int64(binary.BigEndian.Uint64(b)), 0).UTC(),
		asked: int64(binary.BigEndian.Uint64(b[8:])), question: int(binary.BigEndian.Uint32(b[16:]))}
	copy(c.digest[:], b[20:])
	copy(c.audience[:], b[20+sha256.Size:])
	b = b[fixedBytes:]
	n := int(b[0])
	if len(b) < 1+n+2 {
		return nil, false
	}
	c.run, b = string(b[1:1+n]), b[1+n:]
	if int(binary.BigEndian.Uint16(b)) != len(b)-2 {
		return nil, false
	}
	c.person = string(b[2:])
	return &c, true
}

// seen returns the digest in the form of interaction.Reply.Seen.
func (c *capability) seen() string { return hex.EncodeToString(c.digest[:]) }

// replyKey returns the reply's idempotency key: the same for all links of a Key to this question
// for this person. It is derived from the secret, so an attacker cannot use it first.
func (c *capability) replyKey(k *Key) string {
	body := binary.BigEndian.AppendUint32(nil, uint32(c.question))
	body = append(append(body, c.digest[:]...), c.run+"\x00"+c.person...)
	return "link/" + hex.EncodeToString(k.sum("interlude link reply\x00", body)[:16])
}

func audienceOf(to *lifecycle.Audience) (id [8]byte) {
	body, _ := json.Marshal(to) // encoding cannot fail
	sum := sha256.Sum256(body)
	copy(id[:], sum[:])
	return id
}
