package interaction

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrInvalidReply is matched by every error of Reply.Validate.
var ErrInvalidReply = errors.New("interaction: invalid reply")

// FieldError names an invalid field of a reply, its value, and the expected value.
type FieldError struct{ Field, Value, Want string }

func (e *FieldError) Error() string {
	return fmt.Sprintf("interaction: invalid reply: %s is %s, want %s", e.Field, e.Value, e.Want)
}

func (e *FieldError) Is(target error) bool { return target == ErrInvalidReply }

// Validate checks the reply without its question; the error is a *FieldError.
func (r Reply) Validate() error {
	size := func(s string) string { return fmt.Sprintf("%d bytes", len(s)) }
	switch {
	case r.ID < 1:
		return &FieldError{"ID", strconv.Itoa(r.ID), "the interaction's number, from 1"}
	case strings.TrimSpace(r.Text) == "" && (r.Text != "" || len(r.Value) == 0 && r.Decision == ""):
		return &FieldError{"Text", "blank", "a text"}
	case len(r.Text) > MaxReplyText:
		return &FieldError{"Text", size(r.Text), fmt.Sprintf("at most %d bytes", MaxReplyText)}
	case !utf8.ValidString(r.Text) || strings.IndexByte(r.Text, 0) >= 0:
		return &FieldError{"Text", "not text", "valid UTF-8 without NUL"}
	case len(r.Key) > MaxKey || !utf8.ValidString(r.Key) || strings.IndexByte(r.Key, 0) >= 0:
		return &FieldError{"Key", size(r.Key), fmt.Sprintf("at most %d bytes of UTF-8 without NUL", MaxKey)}
	}
	if err := r.Actor.Validate(); err != nil {
		return err
	}
	return r.validateForm()
}

// Digest identifies the reply's body: the interaction and the text, and, if set, the decision, the
// value and Remember without Until.
// Replies with one key and digest are the same. The author counts only in votes (DigestFor).
func (r Reply) Digest() string { return r.digest("") }

func (r Reply) digest(suffix string) string {
	body := strconv.Itoa(r.ID) + "\n" + r.Text
	if r.Decision != "" || len(r.Value) > 0 { // a text has no NUL
		body += "\x00" + string(r.Decision) + "\x00" + string(r.Value)
	}
	body += r.Remember.bound() + suffix
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// Answer converts the reply to the answer of a question that takes text; AnswerTo does for any
// question.
func (r Reply) Answer(now time.Time) Answer {
	return Answer{ID: r.ID, Resolution: UserReply, Text: r.Text, Actor: r.Actor.ID, Via: r.Actor.Via, AcceptedAt: now,
		For: r.Actor.For}
}

// Settle returns the history entry of an answered question, with the reply's key, if any, and
// digest. A deputy's answer claims the question, for Record.For.
func Settle(q Question, a Answer, key, digest string) Record {
	by := Actor{ID: a.Actor, Via: a.Via, For: a.For}
	switch c := q.Claim; {
	case q.DecidedBySeveral(): // its votes say for whom
	case a.For != "":
		q = q.ClaimedBy(by, a.AcceptedAt)
	case c != nil && c.For != "" && c.Actor == a.Actor:
		q = q.ClaimedBy(by, c.Until)
	}
	r := Record{Question: q, Resolution: a.Resolution, Response: a.Text, Actor: a.Actor, ResolvedAt: a.AcceptedAt}
	r.Value, r.Decision, r.Via = a.Value, a.Decision, a.Via
	if a.Decision == Edit {
		r.Value = a.Arguments
	}
	if a.Auto != nil {
		r.AutoDecideReason = a.Auto.Reason
	}
	if key != "" {
		r.Key, r.Digest = key, digest
	}
	return r
}

// For returns the person for whom the Actor, a deputy, has answered; empty if the actor has answered
// for themselves.
func (r *Record) For() string {
	if c := r.Question.Claim; r.Resolution == UserReply && c != nil && c.Actor == r.Actor {
		return c.For
	}
	if n := len(r.Question.Votes); n > 0 && r.Resolution == UserReply && r.Question.Votes[n-1].Actor == r.Actor {
		return r.Question.Votes[n-1].For
	}
	return ""
}

func Abandon(q Question, at time.Time) Record {
	return Record{Question: q, Resolution: Abandoned, ResolvedAt: at}
}
