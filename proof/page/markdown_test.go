package page_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// N5: the page draws Markdown in questions, messages and results, with code and tables, and no part
// of the source is an element of HTML, an address that runs a script, or hidden.
func TestN5ThePageDrawsMarkdown(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, engine.Question{Kind: engine.OpenText,
		Prompt: "Deploy **api** to `prod`?\n\n| step | state |\n|---|---|\n| build | *ok* |\n| test | <b>late</b> |",
		Context: "# Plan\n\n1. build\n5. test\n\n```go\nfunc main() {} // \u202e\n```\n\n" +
			"[docs](https://example.com/a 'pay') [x](javascript:alert(1)) ![i](https://example.com/i.png)\n\n" +
			"<img src=x onerror=alert(1)>"})
	ada := w.open("ada", "#/inbox/r/1")
	for colored, end := false, time.Now().Add(patience); !colored; { // a busy machine has no time for colors
		require.True(t, time.Now().Before(end), "no colors")
		ada.reload()
		ada.until(`document.querySelector("#question-title strong")?.innerText === "api"`)
		colored = js[bool](ada, `document.querySelector(".context figure .token-keyword")?.innerText === "func"`)
	}
	require.Equal(t, "Deploy api to prod?", js[string](ada, `document.querySelector("#question-title").innerText`))
	require.Equal(t, "late", js[string](ada, `(() => { const cells = document.querySelectorAll(".written td");
		return cells[3].innerText.replace(/<.?b>/g, ""); })()`), "HTML is text")
	require.Equal(t, "https://example.com/a", js[string](ada,
		`[...document.querySelectorAll("#question-title ~ * a[href], .context a[href]")].map((a) => a.href).join(" ")`),
		"the only link")
	text := js[string](ada, `document.querySelector(".context").innerText`)
	for _, part := range []string{"1.", "build", "5.", "test", "go", "U+202E", "(https://example.com/a", "pay",
		"(javascript:alert(1))", "![i](https://example.com/i.png)", "<img src=x onerror=alert(1)>"} {
		require.Contains(t, text, part)
	}
	require.Zero(t, js[int](ada, `document.querySelectorAll("main img, main b").length`))
	ada.pictures("markdown")
	ada.accessible("markdown")
}
