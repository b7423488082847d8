package front

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/interlude-go/interlude/lifecycle"
)

// Answer is a decoded answer of a protocol.
type Answer struct {
	// Exchange is the protocol's id of the answered exchange, for example a task, a call or a
	// message. An equal answer with the same Exchange is a repetition. Required.
	Exchange string
	// Question is the number of the answered question. 0: the protocol's answers name no question;
	// then exactly one question must be open for the caller.
	Question int
	// Seen is the digest of the question as it was shown; empty: not checked.
	Seen string

	Text       string
	Value      json.RawMessage
	Decision   lifecycle.Decision
	AcceptRisk bool
}

// ErrAmbiguous reports an answer without the number of a question while several questions are open.
var ErrAmbiguous = errors.New("front: several questions are open: name the answered one")

// Send answers the question, as a deputy if the caller may answer only for an absent person. An
// answer that is sent again returns its first receipt, in every later state of the run. A second,
// different answer to the question in the same exchange is a different reply: it fails with
// lifecycle.ErrSettled, and the history has the accepted answer.
//
// Other errors are ErrAmbiguous and the errors of lifecycle.Client.Reply.
func (c *Caller) Send(ctx context.Context, run string, a Answer) (lifecycle.Receipt, error) {
	reply := lifecycle.Reply{ID: a.Question, Text: a.Text, Value: a.Value, Decision: a.Decision, Seen: a.Seen,
		AcceptRisk: a.AcceptRisk, Key: c.key(&a)}
	if a.Question == 0 {
		n, err := c.meant(ctx, run, reply.Key)
		if err != nil {
			return lifecycle.Receipt{}, err
		}
		reply.ID = n
	}
	return c.client.As(c.answering(ctx, run, reply.ID)).Reply(ctx, run, reply)
}

// answering returns the caller as the one who answers the question. If the caller has answered it,
// as a deputy or not, that is repeated, since only the same reply gets its receipt again.
func (c *Caller) answering(ctx context.Context, run string, question int) lifecycle.Actor {
	actor := c.client.WithPrincipals(ctx, c.actor)
	if actor.For != "" || len(actor.Principals) == 0 {
		return c.actor
	}
	record, err := c.client.Question(ctx, run, question)
	if err != nil { // Reply reports it
		return c.actor
	}
	q := &record.Question
	for i := range q.Votes {
		if actor.Is(q.Votes[i].Actor) {
			actor.For = q.Votes[i].For
			return actor
		}
	}
	if record.Resolution != "" && actor.Is(record.Actor) {
		actor.For = record.For()
		return actor
	}
	by, _ := represents(q, actor, c.client.Now())
	return by
}

// meant returns the question of an answer without a number: the question that the same key has
// already answered, otherwise the only open question. If a concurrent call with the same answer
// wins, the key belongs to that call's question, and this call fails with ErrKeyConflict.
func (c *Caller) meant(ctx context.Context, run, key string) (int, error) {
	record, err := c.client.QuestionWithKey(ctx, run, key)
	if err == nil {
		return record.Question.ID, nil
	}
	if !errors.Is(err, lifecycle.ErrNotFound) {
		return 0, err
	}
	v, err := c.Load(ctx, run)
	switch {
	case err != nil:
		return 0, err
	case len(v.Asks) > 1:
		return 0, ErrAmbiguous
	case len(v.Asks) == 1:
		return v.Asks[0].ID, nil
	case len(v.Others) > 0: // Reply says who may answer
		return v.Others[0].ID, nil
	}
	return max(v.Run.Interactions, 1), nil // Reply says how it was settled
}

// key returns the idempotency key of an answer. It includes the answer itself: with only the
// exchange, a second and different answer would be a conflict of keys, where its author needs to know
// who has answered. It includes the actor, because votes of several people are several answers.
func (c *Caller) key(a *Answer) string {
	return c.actor.Via + "-" + digest(c.actor.ID, a.Exchange, strconv.Itoa(a.Question), string(a.Decision), a.Text,
		string(a.Value))
}

// digest returns a digest of the parts, in characters that every key and id may have.
func digest(parts ...string) string {
	var all []byte
	for _, p := range parts {
		all = append(strconv.AppendInt(all, int64(len(p)), 10), ':')
		all = append(all, p...)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:16])
}
