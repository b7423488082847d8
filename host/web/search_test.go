package web_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// N7: a search finds the caller's questions by their arguments, and says how many it has read.
func TestN7QuestionsAreFoundByTheirArguments(t *testing.T) {
	w := openFor(t)
	w.submit("pay", "approval", "ada")
	w.submit("more", "approval", "ada")
	for text, want := range map[string]int{"acme": 2, "pay": 2, "more": 1, "nobody": 0} {
		var inbox web.Inbox
		w.send("GET", "/inbox?q="+text, "bob", "").into(t, &inbox)
		require.Len(t, inbox.Questions, want, text)
		require.Equal(t, 2, inbox.Searched)
	}
	long := w.send("GET", "/inbox?q="+strings.Repeat("x", 257), "bob", "")
	require.Equal(t, http.StatusUnprocessableEntity, long.status)
}

// N7: a person's own answers are listed with their runs' results, other people's are not.
func TestN7OwnAnswersAreListed(t *testing.T) {
	w := openFor(t)
	w.submit("pay", "approval", "ada")
	a := w.send("POST", "/runs/pay/questions/1/reply", "bob", `{"decision":"approve"}`)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	_, err := w.lc.Wait(t.Context(), "pay")
	require.NoError(t, err)
	var bobs, adas web.Answers
	w.send("GET", "/answers", "bob", "").into(t, &bobs)
	w.send("GET", "/answers?limit=5", "ada", "").into(t, &adas)
	require.Empty(t, adas.Answers)
	require.Len(t, bobs.Answers, 1)
	got := bobs.Answers[0]
	require.Equal(t, "pay", got.RunID)
	require.Equal(t, "succeeded", got.State)
	require.NotEmpty(t, got.Result)
	require.Equal(t, "approve", got.Record.Decision)
	require.True(t, got.Record.Mine)
	require.Equal(t, 1, bobs.Searched)
}

// N7: runs are found by their text and the time of their creation, page by page.
func TestN7RunsAreFoundByTextAndTime(t *testing.T) {
	w := openFor(t)
	for _, id := range []string{"pay-1", "other", "pay-2"} {
		w.submit(id, "approval", "ada")
	}
	now := time.Now().UTC()
	list := func(query string) (ids []string, page web.Runs) {
		t.Helper()
		a := w.send("GET", "/runs?newest=true"+query, "bob", "")
		require.Equal(t, http.StatusOK, a.status, "%s", a.body)
		a.into(t, &page)
		for i := range page.Runs {
			ids = append(ids, page.Runs[i].ID)
		}
		return ids, page
	}
	ids, page := list("&q=PAY-")
	require.Equal(t, []string{"pay-2", "pay-1"}, ids)
	require.Equal(t, 3, page.Searched)
	first, page := list("&q=pay-&limit=1")
	second, _ := list("&q=pay-&limit=1&after=" + page.Next)
	require.Equal(t, ids, append(first, second...))
	hour := func(n int) string { return now.Add(time.Duration(n) * time.Hour).Format(time.RFC3339Nano) }
	ids, page = list("&from=" + hour(-1) + "&until=" + hour(1))
	require.Len(t, ids, 3)
	require.Zero(t, page.Searched, "a time is no search")
	for _, query := range []string{"&until=" + hour(-1), "&from=" + hour(1), "&q=nothing"} {
		ids, page = list(query)
		require.Empty(t, ids, query)
		require.Empty(t, page.Next)
	}
	long := w.send("GET", "/runs?q="+strings.Repeat("x", 257), "bob", "")
	require.Equal(t, http.StatusUnprocessableEntity, long.status)
}

// N7: a person has at most two searches at once; other people search all the same.
func TestN7SearchesOfAPersonAreBounded(t *testing.T) {
	begun, end := make(chan bool), make(chan bool)
	hold := func(_ context.Context, a lifecycle.Access) error {
		if a.Inbox != nil && a.Inbox.Text == "slow" {
			begun <- true
			<-end
		}
		return nil
	}
	w := open(t, lifecycle.Config{Authorize: hold}, web.Options{Identify: identify})
	done := make(chan int)
	for range 2 {
		go func() { done <- w.send("GET", "/inbox?q=slow", "bob", "").status }()
		<-begun
	}
	require.Equal(t, "TOO_MANY_SEARCHES", w.send("GET", "/inbox?q=x", "bob", "").code(t))
	require.Equal(t, "TOO_MANY_SEARCHES", w.send("GET", "/answers", "bob", "").code(t))
	require.Equal(t, "TOO_MANY_SEARCHES", w.send("GET", "/runs?q=x", "bob", "").code(t))
	require.Equal(t, http.StatusOK, w.send("GET", "/inbox", "bob", "").status, "a listing is no search")
	require.Equal(t, http.StatusOK, w.send("GET", "/inbox?q=x", "ada", "").status)
	close(end)
	require.Equal(t, []int{http.StatusOK, http.StatusOK}, []int{<-done, <-done})
	require.Equal(t, http.StatusOK, w.send("GET", "/inbox?q=x", "bob", "").status)
}

// N7: the page can be installed, knows where its person signs out, and has the host's name, logo
// and colors; colors that people could not read are refused.
func TestN7ThePageHasTheHostsBrandAndASignOut(t *testing.T) {
	logo := []byte("\x89PNG\r\n\x1a\n and a picture")
	w := open(t, lifecycle.Config{}, web.Options{Identify: identify, SignOut: "/sign-out",
		Brand: web.Brand{Name: `Acme "<&>" Desk`, Logo: logo, Color: "#7a1f5c", DarkColor: "#f0a6d8"}})
	var me web.Me
	w.send("GET", "/me", "bob", "").into(t, &me)
	require.Equal(t, "/sign-out", me.SignOut)
	read := func(name string) (string, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/interlude/"+name, nil)
		require.NoError(t, err)
		r.Header.Set("X-User", "bob")
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode, name)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.Header.Get("Content-Type"), string(body)
	}
	kind, body := read("manifest.webmanifest")
	require.Equal(t, "application/manifest+json", kind)
	var manifest struct{ Name, ThemeColor string }
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(body, "theme_color", "ThemeColor")), &manifest))
	require.Equal(t, `Acme "<&>" Desk`, manifest.Name)
	require.Equal(t, "#7a1f5c", manifest.ThemeColor)
	_, body = read("")
	require.Contains(t, body, "<title>Acme &#34;&lt;&amp;&gt;&#34; Desk</title>")
	require.NotContains(t, body, "interlude")
	kind, body = read("logo")
	require.Equal(t, "image/png", kind)
	require.Equal(t, string(logo), body)
	_, body = read("brand.css")
	require.Contains(t, body, "--accent: light-dark(#7a1f5c, #f0a6d8); --on-accent: light-dark(#ffffff, #101113);")

	for _, brand := range []web.Brand{{Color: "#ffcc00"}, {Color: "red"}, {Color: "#12345"}, {DarkColor: "#3454d1"},
		{Name: strings.Repeat("a", 101)}, {Logo: []byte("<html>")}, {Logo: make([]byte, 256<<10+1)}} {
		require.Error(t, brand.Validate(), "%.60v", brand)
		require.Panics(t, func() { web.Handler(w.lc.Client, web.Options{Brand: brand}) })
	}
	require.NoError(t, (&web.Brand{Color: "#3454d1", DarkColor: "#9db2ff"}).Validate(), "interlude's own")
	kind, _ = func() (string, string) {
		w = open(t, lifecycle.Config{}, web.Options{Identify: identify})
		return read("logo")
	}()
	require.Equal(t, "image/svg+xml", kind)
}
