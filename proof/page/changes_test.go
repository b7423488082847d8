package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// N6: the page shows a call's changes unified and side by side, marks words, names hidden characters
// and folds long changes; the approval applies to the shown changes.
func TestN6ThePageShowsChanges(t *testing.T) {
	w := openWorld(t)
	q, err := engine.ApprovalOf("Write it?", "write", map[string]any{"path": "pay.sql"})
	require.NoError(t, err)
	var long strings.Builder
	for i := range 200 {
		fmt.Fprintln(&long, "row", i)
	}
	q.Subject.Changes = []engine.Change{
		{Path: "pay\u200b.sql", Kind: engine.ChangeEdit, Before: "a\npay 10 euros\nc\n",
			After: "a\npay 1000 euros\u202e\n<img src=x>\nc"},
		{Path: "rows.txt", Kind: engine.ChangeCreate, After: long.String()},
		{Path: "old.txt", Kind: engine.ChangeDelete, Before: "gone\n"},
	}
	w.ask(lifecycle.Spec{ID: "r"}, q)
	ada := w.open("ada", "#/inbox/r/1")
	ada.until(`document.querySelectorAll(".changes table").length === 3`)
	text := js[string](ada, `document.querySelector(".changes").innerText`)
	for _, part := range []string{"200B", "202E", "<img src=x>", "no line break", "deletes", "gone"} {
		require.Contains(t, text, part)
	}
	require.Equal(t, "10", js[string](ada, `document.querySelector(".diff .removed strong").innerText`))
	require.NotContains(t, text, "row 100")
	const folded = `[...document.querySelectorAll(".diff > button")].find((b) => b.innerText.includes("200"))`
	ada.run(folded + `.click();`)
	ada.until(`document.querySelector(".changes").innerText.includes("row 199")`)
	ada.accessible("changes")
	ada.run(`document.querySelector(".changes-head button").click();`)
	ada.until(`document.querySelectorAll(".changes table.sides").length === 3`)
	const row = `[...document.querySelectorAll(".sides tr")].find((r) => r.innerText.includes("pay 10 "))`
	require.Contains(t, js[string](ada, row+`.innerText`), "pay 1000 euros", "the two versions are in one row")
	ada.accessible("changes side by side")
}
