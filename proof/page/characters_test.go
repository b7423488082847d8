package page_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// compared returns the ranges of characters that the next test compares.
func compared() [][2]rune {
	if !testing.Short() {
		return [][2]rune{{0, unicode.MaxRune}}
	}
	return [][2]rune{{0, 0x3ffff}, {0xdfff0, 0xe0fff}, {0x10fff0, unicode.MaxRune}} // other characters are unassigned
}

// N4: the page names exactly the characters that package interaction names, in values and in
// prose: for all of Unicode, or with -short for all assigned characters.
func TestN4ThePageNamesEveryHiddenCharacter(t *testing.T) {
	o := openWorld(t).open("ada", "")
	wrong := js[string](o, `(async () => {
		const { pieces } = await import("./visible.js"), { shown, prose } = await import("./dom.js");
		const strict = `+namedRanges(interaction.Visible)+`, inProse = `+namedRanges(interaction.VisibleProse)+`, wrong = [];
		const within = (ranges) => {
			let at = 0;
			return (c) => {
				while (at < ranges.length && ranges[at][1] < c) at++;
				return at < ranges.length && ranges[at][0] <= c;
			};
		};
		const wantStrict = within(strict), wantProse = within(inProse);
		for (const [from, to] of `+jsonOf(compared())+`) for (let c = from; c <= to; c++) {
			const text = "a" + String.fromCodePoint(c) + "b";
			const name = "U+" + c.toString(16).toUpperCase().padStart(4, "0");
			for (const [want, asProse] of [[wantStrict(c), false], [wantProse(c), true]]) {
				const got = pieces(text, asProse).map((p) => p.text).join("");
				if (got !== (want ? "a" + name + "b" : text)) wrong.push(name);
				if (!want || c % 61) continue;
				if ((asProse ? prose : shown)(text).textContent !== "a" + name + "b") wrong.push(name);
			}
		}
		return wrong.slice(0, 20).join(" ");
	})()`)
	require.Empty(t, wrong)
}

// namedRanges lists the ranges of characters that a function writes out between two letters.
func namedRanges(visible func(string) string) string {
	all := [][2]rune{}
	for _, part := range compared() {
		for r := part[0]; r <= part[1]; r++ {
			text := "a" + string(r) + "b"
			if utf8.ValidRune(r) && visible(text) == text {
				continue
			}
			if n := len(all); n > 0 && all[n-1][1] == r-1 {
				all[n-1][1] = r
			} else {
				all = append(all, [2]rune{r, r})
			}
		}
	}
	return jsonOf(all)
}

func jsonOf(ranges [][2]rune) string {
	body, _ := json.Marshal(ranges)
	return string(body)
}

// N4: the page and Go write texts of mixed characters the same.
func TestN4ThePageShowsMixedTextsAsGoDoes(t *testing.T) {
	o := openWorld(t).open("ada", "")
	alphabet := []string{"a", "1", " ", "\n", "\t", "    ", "\r\n", "\u200d", "\u200c", "\ufe0f", "\u20e3",
		"❤", "👩", "🏽", "\u00a0", "\u202f", "\u3000", "क", "\u094d", "র", "\u09cd", "ی", "ا", "\u064e", "\u202e",
		"\U000e0041", "日", "               "}
	random := rand.New(rand.NewPCG(1, 2))
	var texts [][3]string
	for range 4000 {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString(strings.Repeat(alphabet[random.IntN(len(alphabet))], 1+random.IntN(3)*random.IntN(9)))
		}
		s := b.String()
		texts = append(texts, [3]string{s, interaction.Visible(s), interaction.VisibleProse(s)})
	}
	body, err := json.Marshal(texts)
	require.NoError(t, err)
	wrong := js[string](o, fmt.Sprintf(`(async () => {
		const { visible } = await import("./visible.js");
		const wrong = %s.find(([text, strict, prose]) => visible(text) !== strict || visible(text, true) !== prose);
		return wrong ? JSON.stringify([...wrong, visible(wrong[0]), visible(wrong[0], true)]) : "";
	})()`, body))
	require.Empty(t, wrong)
}

// N4: a call that hides a part of itself is shown completely, as a table and as JSON; so are the
// names and values of options.
func TestN4WhatIsApprovedIsShown(t *testing.T) {
	w := openWorld(t)
	tagged := "ls" + strings.Map(func(r rune) rune { return r + 0xe0000 }, " rm")
	arguments := fmt.Sprintf(`{"command":%s,"tagged":%s,"note":"a  b ","z":"\u003cb\u003e","a":1}`,
		quote("x"+strings.Repeat(" ", 4000)+"; rm -rf /"), quote(tagged))
	w.ask(lifecycle.Spec{ID: "r"}, approval(t, "May I?\u202e \u3164", "shell", arguments))
	ada := w.open("ada", "#/inbox/r/1")
	for range 2 {
		ada.sees("x[4000 white-space characters]; rm -rf /")
		ada.sees("lsU+E0020U+E0072U+E006D")
		ada.sees("May I?U+202E U+3164")
		ada.sees("a  b ")
		ada.sees("<b>")
		ada.press("JSON")
	}
	w.ask(lifecycle.Spec{ID: "n"}, approval(t, "Which?", "sort", `{"new":{"10":1,"9":[{"1":2,"0":1.10}]},"2":1,"1":2,"a":3}`))
	ada.run(`location.hash = "#/inbox/n/1"`)
	ada.sees("Which?")
	const names = `[...document.querySelectorAll(".call dt")].map((n) => n.innerText).join(" ")`
	ada.until(names + ` === "new 10 9 1 0 2 1 a"`) // decision 20: in the order of the writer
	ada.press("JSON")
	ada.until(`document.querySelector(".call pre").innerText.replace(/\s/g, "") ===
		'{"new":{"10":1,"9":[{"1":2,"0":1.10}]},"2":1,"1":2,"a":3}'`)
	w.ask(lifecycle.Spec{ID: "f"}, engine.Question{Kind: engine.FillFields, Prompt: "Which one?", Schema: []byte(
		`{"type":"object","required":["c"],"properties":{"c":{"enum":["a  b"," a","1","2","3","4","5","6","7","8","9"]}}}`)})
	ada.run(`location.hash = "#/inbox/f/1"`)
	ada.until(`[...document.querySelectorAll("option")].some((o) => o.text === "a\u00a0 b") &&
		[...document.querySelectorAll("option")].some((o) => o.text === "\u00a0a")`)
	w.ask(lifecycle.Spec{ID: "o"}, engine.Question{Kind: engine.ChooseOne, Prompt: "Which?", Options: []engine.Option{
		{Label: "Keep", Value: "delete\u200b"}, {Label: "stop", Value: "stop"}}})
	ada.run(`location.hash = "#/inbox/o/1"`)
	ada.sees("Keep deleteU+200B")
	ada.until(`![...document.querySelectorAll("label")].some((l) => /stop\s+stop/.test(l.innerText))`)
	w.ask(lifecycle.Spec{ID: "p"}, engine.Question{Kind: engine.ChooseOne, Prompt: "And which?",
		Options: []engine.Option{{Label: "a b"}, {Label: "a\u00a0b"}, {Label: "a b "}}})
	ada.run(`location.hash = "#/inbox/p/1"`)
	ada.sees("a\u00a0b aU+00A0b") // a label is prose, its value is not
	ada.until(`document.querySelectorAll(".cards code.value").length === 2`)
}

// N4: a list of options folds no blanks, which may be all in which two values differ.
func TestN4OptionsOfAListShowTheirBlanks(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, engine.Question{Kind: engine.FillFields, Prompt: "Which?", Schema: json.RawMessage(
		`{"type":"object","properties":{"a":{"enum":["a b","c","a  b","d","a b ","e","a\tb","f"]}},"required":["a"]}`)})
	ada := w.open("ada", "#/inbox/r/1")
	ada.until(`document.querySelectorAll("select option").length === 9`)
	require.Equal(t, 9, js[int](ada, `new Set([...document.querySelectorAll("select option")].map((o) => o.text
		.replaceAll("\u00a0", "_"))).size`))
	ada.picture("blanks")
}

// decision 13: the acknowledgement belongs to the option whose value agrees, wherever it is; if that
// is unclear, to each.
func TestN4TheRiskIsAcknowledgedByWhoAccepts(t *testing.T) {
	w := openWorld(t)
	risk := func(id string, options ...engine.Option) {
		w.ask(lifecycle.Spec{ID: id}, engine.Question{Kind: engine.RiskAck, Prompt: "Wipe it?", Options: options})
	}
	no, yes := engine.Option{Label: "No", Value: "no"}, engine.Option{Label: "Yes", Value: " YES"}
	risk("refuse", no, yes)
	risk("accept", no, yes)
	risk("unclear", engine.Option{Label: "Yes", Value: "1"}, no)
	ada := w.open("ada", "#/inbox/refuse/1")
	ada.press("No no")
	require.Equal(t, "no", w.answered("refuse")[0].Text)
	ada.run(`location.hash = "#/inbox/accept/1"`)
	ada.press("Yes  YES")
	ada.sees("Acknowledge the risk first.")
	ada.press("I have read this and accept the risk.")
	ada.press("Yes  YES")
	require.Equal(t, " YES", w.answered("accept")[0].Text)
	ada.run(`location.hash = "#/inbox/unclear/1"`)
	ada.press("Yes 1")
	ada.sees("Acknowledge the risk first.")
	ada.press("No no")
	ada.sees("Acknowledge the risk first.")
	ada.press("I have read this and accept the risk.")
	ada.press("Yes 1")
	require.Equal(t, "1", w.answered("unclear")[0].Text)
}
