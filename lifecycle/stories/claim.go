package stories

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// person parses the arguments actor=NAME, for=NAME and groups=A,B.
func person(a *args) lifecycle.Actor {
	actor := lifecycle.Actor{ID: a.named["actor"], For: a.named["for"]}
	if groups := a.named["groups"]; groups != "" {
		actor.Groups = strings.Split(groups, ",")
	}
	return actor
}

// directory has the deputies of a story. Tests read it only in calls of the story.
type directory struct {
	of      map[string][]lifecycle.Principal // by deputy
	offline bool
}

func (d *directory) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	if d.offline {
		return nil, errors.New("the directory is offline")
	}
	return d.of[id], nil
}

// deputize makes a person the deputy of another, from now until a time after the beginning of the
// story; offline makes the directory unreadable from now on.
func deputize(w *world, a *args) (string, error) {
	if w.directory.offline = a.flags["offline"]; w.directory.offline {
		return "", nil
	}
	deputy := a.words["DEPUTY"]
	p := lifecycle.Principal{ID: a.words["PERSON"], From: time.Now()}
	if a.named["until"] != "" {
		p.Until = w.start.Add(a.duration("until"))
	}
	if groups := a.named["groups"]; groups != "" {
		p.Groups = strings.Split(groups, ",")
	}
	w.directory.of[deputy] = append(w.directory.of[deputy], p)
	return "", nil
}

// claim claims a question until a time after the beginning of the story.
func claim(w *world, a *args) (string, error) {
	until := w.start.Add(value(a, a.words["TIME"], time.ParseDuration))
	return changeQuestion(w, a, "claimed", func(ctx context.Context, c *lifecycle.Client, run string, q int) error {
		return c.Claim(ctx, run, q, until)
	})
}

func unclaim(w *world, a *args) (string, error) {
	return changeQuestion(w, a, "released", func(ctx context.Context, c *lifecycle.Client, run string, q int) error {
		return c.Release(ctx, run, q)
	})
}

func writeNote(w *world, a *args) (string, error) {
	text := lifecycle.Note{Text: a.body, Key: a.named["key"]}
	return changeQuestion(w, a, "noted", func(ctx context.Context, c *lifecycle.Client, run string, q int) error {
		_, err := c.Note(ctx, run, q, text)
		return err
	})
}

// reassign puts a question to others. The caller has seen who is asked when the command begins.
func reassign(w *world, a *args) (string, error) {
	to := audience(a.words["WHOM"])
	if to == nil {
		to = &interaction.Audience{Everybody: true}
	}
	r, err := w.base.Run(w.ctx, a.words["RUN"])
	if err != nil {
		return "", err
	}
	from := audience(a.named["from"])
	if q := r.OpenQuestion(value(a, a.words["QUESTION"], strconv.Atoi)); q != nil && a.named["from"] == "" {
		from = q.To
	}
	return changeQuestion(w, a, "reassigned", func(ctx context.Context, c *lifecycle.Client, run string, q int) error {
		return c.Reassign(ctx, run, q, from, *to)
	})
}

// changeQuestion makes a call about an open question as the named actor.
func changeQuestion(w *world, a *args, done string,
	call func(ctx context.Context, c *lifecycle.Client, run string, question int) error) (string, error) {
	question := value(a, a.words["QUESTION"], strconv.Atoi)
	c := w.client(a.named["as"])
	if a.err != nil {
		return "", a.err
	}
	as, run := person(a), a.words["RUN"]
	return w.call(c, a.flags["held"], func(ctx context.Context) string {
		if err := call(ctx, c.As(as), run, question); err != nil {
			return formatError(err)
		}
		return fmt.Sprintf("%s question %d of %s\n", done, question, run)
	})
}
