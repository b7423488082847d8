package frontends_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/front/fronttest"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

// apiClient is a program that uses the API, as the page does.
type apiClient struct {
	fronttest.Config

	url string
}

func (a apiClient) Start(ctx context.Context, person, prompt string) (string, error) {
	s := a.Spec(person, prompt)
	s.ID = front.NewRunID(person, "api")
	run, err := a.Client.As(lifecycle.Actor{ID: person}).Submit(ctx, s)
	return run.ID, err
}

func (a apiClient) call(ctx context.Context, person, method, path, key, body string, result any) error {
	r, err := http.NewRequestWithContext(ctx, method, a.url+"/interlude/api/runs/"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + person}, "Content-Type": {"application/json"},
		"Idempotency-Key": {key}}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= http.StatusBadRequest {
		var p web.Problem
		_ = json.Unmarshal(raw, &p) // other bodies have no detail
		err = errors.New(p.Code + " " + p.Detail)
	}
	if err == nil && result != nil {
		err = json.Unmarshal(raw, result)
	}
	return err
}

func (a apiClient) See(ctx context.Context, person, run string) (s fronttest.Seen, _ error) {
	for range 10 {
		var r web.Run
		if err := a.call(ctx, person, http.MethodGet, run, "", "", &r); err != nil {
			return s, err
		}
		s = fronttest.Seen{Ended: lifecycle.State(r.State).Terminal(), Result: r.FinalText, Status: r.State}
		for _, q := range r.Questions {
			if q.MayReply {
				s.Questions = append(s.Questions, q.ID)
			}
		}
		if s.Ended {
			return s, nil
		}
		if len(s.Questions) > 0 {
			s.Status = ""
			return s, nil
		}
		cast.Pause(ctx, 20*time.Millisecond)
	}
	return s, ctx.Err()
}

func (a apiClient) Answer(ctx context.Context, person, run, id string, answer fronttest.Answer) error {
	path := fmt.Sprintf("%s/questions/%d", run, answer.Question)
	var record web.Record
	if err := a.call(ctx, person, http.MethodGet, path, "", "", &record); err != nil {
		return err
	}
	reply := map[string]any{"text": answer.Text, "for": record.Question.For}
	if answer.Decision != "" {
		reply["decision"] = answer.Decision
	}
	body, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	return a.call(ctx, person, http.MethodPost, path+"/reply", id+string(answer.Decision), string(body), nil)
}

// Dismiss does nothing: who closes the page has not answered.
func (a apiClient) Dismiss(context.Context, string, string, int) error { return nil }

// P2, P3, N1, N10: the API, and so the page, passes the table of traps of front ends.
func TestP2TheAPIPassesTheTraps(t *testing.T) {
	fronttest.Run(t, func(tb testing.TB, c fronttest.Config) fronttest.FrontEnd {
		tb.Helper()
		server := httptest.NewServer(web.Handler(c.Client, web.Options{Identify: identify,
			Logger: slog.New(slog.DiscardHandler)}))
		tb.Cleanup(server.Close)
		return apiClient{c, server.URL}
	})
}
