package web_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

func TestL1ARunIsSubmittedAnsweredAndReadOverHTTP(t *testing.T) {
	w := openFor(t)
	run := w.submit("release-7", "Ship it?", "ada")
	require.Equal(t, "release-7", run.ID)

	var inbox web.Inbox
	w.send("GET", "/inbox", "bob", "").into(t, &inbox)
	require.Len(t, inbox.Questions, 1)
	require.Equal(t, "release-7", inbox.Questions[0].RunID)
	require.True(t, inbox.Questions[0].Question.MayReply)

	a := w.send("POST", "/runs/release-7/questions/1/reply", "bob", `{"text":"yes"}`, "Idempotency-Key", "k1")
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	again := w.send("POST", "/runs/release-7/questions/1/reply", "bob", `{"text":"yes"}`, "Idempotency-Key", "k1")
	require.Equal(t, http.StatusOK, again.status, "the same reply is known")
	_, err := w.lc.Wait(t.Context(), "release-7")
	require.NoError(t, err)

	var got web.Run
	w.send("GET", "/runs/release-7", "ada", "").into(t, &got)
	require.Equal(t, "succeeded", got.State)
	require.Equal(t, "You said: yes", got.FinalText)
	require.Empty(t, got.Questions)
	var history web.History
	w.send("GET", "/runs/release-7/history", "ada", "").into(t, &history)
	require.Len(t, history.Records, 1)
	require.Equal(t, "bob", history.Records[0].Actor)
	require.Equal(t, "web", history.Records[0].Via)
}

func TestL1ASubmissionIsNewOrKnownOrAConflict(t *testing.T) {
	w := openFor(t)
	w.submit("one", "Ship it?", "ada")
	known := w.send("POST", "/runs", "ada", `{"prompt":"Ship it?"}`, "Idempotency-Key", "one")
	require.Equal(t, http.StatusOK, known.status)
	require.Equal(t, "/interlude/api/runs/one", known.header.Get("Location"))
	known = w.send("POST", "/runs", "ada", `{"id":"one","prompt":"Ship it?"}`)
	require.Equal(t, http.StatusOK, known.status, "the body may have the id as well")
	other := w.send("POST", "/runs", "ada", `{"prompt":"Another."}`, "Idempotency-Key", "one")
	require.Equal(t, "SPEC_CONFLICT", other.code(t))
	other = w.send("POST", "/runs", "bob", `{"prompt":"Ship it?"}`, "Idempotency-Key", "one")
	require.Equal(t, "SPEC_CONFLICT", other.code(t), "another submitter makes it a different run")
	differ := w.send("POST", "/runs", "ada", `{"id":"one","prompt":"Ship it?"}`, "Idempotency-Key", "two")
	require.Equal(t, "INVALID_ARGUMENT", differ.code(t))
	stored, err := w.lc.Runs(t.Context(), lifecycle.Query{})
	require.NoError(t, err)
	require.Len(t, stored.Runs, 1)
}

// A session gives access to the agent's memory like a password, and a node's name is internal.
func TestL1ARunIsShownWithoutSessionOwnerAndEpoch(t *testing.T) {
	w := openFor(t)
	w.submit("one", "Ship it?", "ada")
	stored, err := w.lc.Get(t.Context(), "one")
	require.NoError(t, err)
	require.NotEmpty(t, stored.Owner)
	for _, path := range []string{"/runs/one", "/runs", "/runs/one/history", "/runs/one/questions", "/inbox"} {
		a := w.send("GET", path, "ada", "")
		require.Equal(t, http.StatusOK, a.status)
		require.NotContains(t, string(a.body), stored.Owner, path)
		for _, word := range []string{"session", "owner", "epoch", "spec_digest"} {
			require.NotContains(t, string(a.body), `"`+word, path)
		}
	}
}

func TestL1AListingIsPagedAndFiltered(t *testing.T) {
	w := openFor(t)
	for _, id := range []string{"a", "b", "c"} {
		a := w.send("POST", "/runs", "ada", `{"id":"`+id+`","prompt":"Ship?","labels":{"team":"`+id+`"}}`)
		require.Equal(t, http.StatusCreated, a.status)
		w.untilAsked(id)
	}
	var seen []string
	for after := ""; ; {
		var page web.Runs
		w.send("GET", "/runs?limit=2&after="+after, "ada", "").into(t, &page)
		for _, r := range page.Runs {
			seen = append(seen, r.ID)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	require.ElementsMatch(t, []string{"a", "b", "c"}, seen)
	var page web.Runs
	w.send("GET", "/runs?label=team%3Db&state=waiting_user&state=queued", "ada", "").into(t, &page)
	require.Len(t, page.Runs, 1)
	require.Equal(t, "b", page.Runs[0].ID)
	var inbox web.Inbox
	w.send("GET", "/inbox?limit=2", "ada", "").into(t, &inbox)
	require.Len(t, inbox.Questions, 2)
	w.send("GET", "/inbox?limit=2&after="+inbox.Next, "ada", "").into(t, &inbox)
	require.Len(t, inbox.Questions, 1)
	var count web.InboxCount
	w.send("GET", "/inbox/count?label=team%3Dc", "ada", "").into(t, &count)
	require.Equal(t, web.InboxCount{Questions: 1}, count)
	require.Equal(t, "INVALID_REQUEST", w.send("GET", "/runs?limit=0", "ada", "").code(t))
	require.Equal(t, "INVALID_REQUEST", w.send("GET", "/runs?colour=red", "ada", "").code(t))
	require.Equal(t, "INVALID_ARGUMENT", w.send("GET", "/runs?after=%21", "ada", "").code(t))
	require.Equal(t, "INVALID_ARGUMENT", w.send("GET", "/inbox?label=team", "ada", "").code(t))
}

func TestL1AnUnchangedRunIsNotSentAgain(t *testing.T) {
	w := openFor(t)
	w.submit("one", "Ship it?", "ada")
	first := w.send("GET", "/runs/one", "ada", "")
	tag := first.header.Get("ETag")
	require.NotEmpty(t, tag)
	same := w.send("GET", "/runs/one", "ada", "", "If-None-Match", `"other", W/`+tag)
	require.Equal(t, http.StatusNotModified, same.status)
	require.Empty(t, same.body)
	require.Equal(t, tag, same.header.Get("ETag"))
	require.NoError(t, w.lc.Cancel(t.Context(), "one", "enough"))
	changed := w.send("GET", "/runs/one", "ada", "", "If-None-Match", tag)
	require.Equal(t, http.StatusOK, changed.status)
	require.Contains(t, string(changed.body), "enough")
}

func TestL1ARunIsCanceledForkedAndCounted(t *testing.T) {
	w := openFor(t)
	w.submit("one", "Ship it?", "ada")
	var stats web.Stats
	w.send("GET", "/stats", "ada", "").into(t, &stats)
	require.Equal(t, 1, stats.Waiting)
	require.NotEmpty(t, stats.Pools)
	require.Equal(t, "NOT_HELD", w.send("POST", "/runs/one/resume", "ada", `{"choice":"repeat"}`).code(t))
	require.Equal(t, "CANNOT_FORK", w.send("POST", "/runs/one/fork", "ada", `{}`).code(t))
	require.Equal(t, http.StatusNoContent, w.send("POST", "/runs/one/cancel", "ada", `{"reason":"no more"}`).status)
	a := w.send("POST", "/runs/one/cancel", "ada", "")
	require.Equal(t, "RUN_TERMINAL", a.code(t))
	require.Contains(t, string(a.body), `"state":"canceled"`)

	a = w.send("POST", "/runs", "ada", `{"id":"later","prompt":"x","not_before":"2040-01-01T00:00:00Z"}`)
	require.Equal(t, http.StatusCreated, a.status)
	require.Equal(t, http.StatusNoContent, w.send("POST", "/runs/later/cancel", "ada", "").status)
	fork := w.send("POST", "/runs/later/fork", "ada", `{}`, "Idempotency-Key", "two")
	require.Equal(t, http.StatusCreated, fork.status, "%s", fork.body)
	fork = w.send("POST", "/runs/later/fork", "ada", `{}`, "Idempotency-Key", "two")
	require.Equal(t, http.StatusOK, fork.status, "%s", fork.body)
	var run web.Run
	fork.into(t, &run)
	require.Equal(t, &web.ForkPoint{RunID: "later"}, run.ForkedFrom)
}

// Of simultaneous equal requests, exactly one gets 201.
func TestL1OneOfEqualRequestsAtOnceHasCreated(t *testing.T) {
	w := openFor(t)
	w.submit("r", "Ship?", "ada")
	require.Equal(t, http.StatusCreated, w.send("POST", "/runs/r/questions/1/reply", "ada", `{"text":"yes"}`).status)
	for path, body := range map[string]string{"/runs": `{"prompt":"x"}`, "/runs/r/fork": `{"question":1}`} {
		statuses, key := make(chan int, 8), strings.ReplaceAll("new"+path, "/", "-")
		for range cap(statuses) {
			go func() {
				statuses <- w.send("POST", path, "ada", body, "Idempotency-Key", key).status
			}()
		}
		count := make(map[int]int)
		for range cap(statuses) {
			count[<-statuses]++
		}
		require.Equal(t, map[int]int{http.StatusCreated: 1, http.StatusOK: 7}, count, path)
	}
}

func TestL1TheSpecificationIsTheHostsToPrepare(t *testing.T) {
	w := open(t, lifecycle.Config{}, web.Options{Identify: identify,
		Prepare: func(r *http.Request, s *lifecycle.Spec) error {
			if s.Pool != "" {
				return os.ErrPermission
			}
			s.Key = r.Header.Get("X-User") + "'s"
			return nil
		}})
	require.Equal(t, "NOT_ALLOWED", w.send("POST", "/runs", "ada", `{"prompt":"x","pool":"gpu"}`).code(t))
	var run web.Run
	w.send("POST", "/runs", "ada", `{"prompt":"x","not_before":"2040-01-02T03:04:05Z"}`).into(t, &run)
	require.Equal(t, "ada's", run.Key)
	require.Equal(t, time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC), run.NotBefore)
	a := w.send("POST", "/runs", "ada", `{"prompt":"x","work_dir":"/etc"}`)
	require.Equal(t, "INVALID_REQUEST", a.code(t), "a request cannot name a folder of the host")
}

func TestL2RefusalsSayWhy(t *testing.T) {
	w := openFor(t)
	w.submit("one", "form", "ada")
	a := w.send("POST", "/runs/one/questions/1/reply", "ada", `{"value":{"count":0}}`)
	require.Equal(t, "INVALID_REPLY", a.code(t))
	var p web.Problem
	a.into(t, &p)
	require.Equal(t, "/count", p.Faults[0].Where)
	require.Equal(t, "NOT_WAITING", w.send("POST", "/runs/one/questions/7/reply", "ada", `{"text":"x"}`).code(t))
	require.Equal(t, "NOT_FOUND", w.send("GET", "/runs/nobodys", "ada", "").code(t))
	require.Equal(t, "NOT_FOUND", w.send("GET", "/runs/%20", "ada", "").code(t))
	require.Equal(t, "INVALID_SPEC", w.send("POST", "/runs", "ada", `{}`).code(t))
	require.Equal(t, "UNKNOWN_POOL", w.send("POST", "/runs", "ada", `{"prompt":"x","pool":"nobodys"}`).code(t))
	require.Equal(t, "NO_SUCH_PATH", w.send("GET", "/nowhere", "ada", "").code(t))
	wrong := w.send("DELETE", "/runs/one", "ada", "")
	require.Equal(t, "METHOD_NOT_ALLOWED", wrong.code(t))
	require.Equal(t, "GET, HEAD", wrong.header.Get("Allow"))
}

func TestL2HostileBodiesAreRefused(t *testing.T) {
	w := open(t, lifecycle.Config{}, web.Options{Identify: identify, MaxBody: 1000})
	for body, code := range map[string]string{
		`{"prompt":"` + strings.Repeat("x", 1000) + `"}`: "BODY_TOO_LARGE",
		`{"prompt":`:                         "INVALID_REQUEST",
		`{"prompt":"x","admin":true}`:        "INVALID_REQUEST",
		`{"prompt":7}`:                       "INVALID_REQUEST",
		`[]`:                                 "INVALID_REQUEST",
		`null`:                               "INVALID_REQUEST",
		strings.Repeat("[", 999):             "INVALID_REQUEST",
		"{\"prompt\":\"\xff\"}":              "",
		`{"prompt":"x","mode":"dictator"}`:   "INVALID_REQUEST",
		`{"prompt":"x","priority":99999999}`: "INVALID_SPEC",
	} {
		a := w.send("POST", "/runs", "ada", body)
		if code == "" {
			require.Less(t, a.status, 500)
			continue
		}
		require.Equal(t, code, a.code(t), "%.60q: %s", body, a.body)
	}
	a := w.send("POST", "/runs", "ada", `{"prompt":"x"}`, "Content-Type", "text/plain")
	require.Equal(t, "UNSUPPORTED_MEDIA_TYPE", a.code(t))
	a = w.send("GET", "/runs", "ada", "", "X-Large", strings.Repeat("x", 40_000))
	require.Equal(t, "HEADERS_TOO_LARGE", a.code(t))
	a = w.send("GET", "/runs?pool="+strings.Repeat("x", 9000), "ada", "")
	require.Equal(t, "URL_TOO_LONG", a.code(t))
}

// N5: a text becomes a tree of elements, whose texts are as written; requests are bounded.
func TestN5TextsAreParsedForDisplay(t *testing.T) {
	w := openFor(t)
	a := w.send("POST", "/render", "ada", `{"texts":["*a* <b>","",""]}`)
	require.Equal(t, http.StatusOK, a.status)
	require.JSONEq(t, `{"documents":[[{"kind":"p","children":[{"kind":"em","children":[{"kind":"text","text":"a"}]},
		{"kind":"text","text":" <b>"}]}],[],[]]}`, string(a.body))
	for _, body := range []string{`{}`, `{"texts":[]}`, `{"texts":[1]}`, `{"texts":["` + strings.Repeat(`x","`, 32) + `"]}`} {
		require.Equal(t, "INVALID_REQUEST", w.send("POST", "/render", "ada", body).code(t), body)
	}
}

// N6: pairs of texts are compared for display, and an approval is shown with its changes; requests are
// bounded.
func TestN6TextsAreComparedForDisplay(t *testing.T) {
	w := openFor(t)
	a := w.send("POST", "/diff", "ada", `{"pairs":[{"before":"a\n","after":"b\n"},{"before":"","after":""}]}`)
	require.Equal(t, http.StatusOK, a.status)
	require.JSONEq(t, `{"diffs":[[{"change":"removed","before":1,"parts":[{"kind":"token","class":"changed","text":"a"}]},
		{"change":"added","after":1,"parts":[{"kind":"token","class":"changed","text":"b"}]}],[]]}`, string(a.body))
	for _, body := range []string{`{}`, `{"pairs":[]}`, `{"pairs":[{"before":1,"after":""}]}`,
		`{"pairs":[` + strings.Repeat(`{"before":"","after":""},`, 32) + `{"before":"","after":""}]}`} {
		require.Equal(t, "INVALID_REQUEST", w.send("POST", "/diff", "ada", body).code(t), body)
	}
	shown := web.ShowRun(&lifecycle.Run{Open: []lifecycle.Question{{ID: 1, Kind: lifecycle.Approval,
		Subject: &lifecycle.Subject{Tool: "write", Changes: []lifecycle.Change{{Path: "a", Kind: lifecycle.ChangeEdit,
			Before: "1\n", After: "2\n3\n"}}}}}}, lifecycle.Actor{}, time.Now())
	require.Equal(t, []web.Change{{Path: "a", Kind: "edit", Before: "1\n", After: "2\n3\n", Removed: 1, Added: 2}},
		shown.Questions[0].Subject.Changes)
}

// L1: the OpenAPI document and docs/web.md have the same routes.
func TestL1TheOpenAPIDocumentDescribesEveryRoute(t *testing.T) {
	w := openFor(t)
	a := w.send("GET", "/openapi.json", "ada", "")
	require.Equal(t, http.StatusOK, a.status)
	var doc struct {
		OpenAPI string                                `json:"openapi"`
		Paths   map[string]map[string]json.RawMessage `json:"paths"`
	}
	a.into(t, &doc)
	require.Regexp(t, `^3\.1\.`, doc.OpenAPI)
	var operations, shown []string
	for path, methods := range doc.Paths {
		for method := range methods {
			route := strings.NewReplacer("{question}", "{n}", "{file}", "{i}").Replace(path)
			operations = append(operations, strings.ToUpper(method)+" "+route)
		}
	}
	page, err := os.ReadFile("../../docs/web.md")
	require.NoError(t, err)
	for _, row := range regexp.MustCompile("(?m)^\\| `(?:GET|POST) /[^|]*").FindAllString(string(page), -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
			shown = append(shown, m[1])
		}
	}
	require.ElementsMatch(t, operations, shown)
}
