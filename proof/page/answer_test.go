package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

// L1: waiting questions are listed, live, and answered in place; the agent gets the pressed choice.
func TestL1APersonAnswersWhatWaits(t *testing.T) {
	w := openWorld(t)
	ada := w.open("ada", "")
	ada.sees("No open questions for you.")
	ada.pictures("empty")
	w.ask(lifecycle.Spec{ID: "release-9", Labels: map[string]string{"team": "web"}},
		confirm("Shall version 2.4 go out today?"))
	w.ask(lifecycle.Spec{ID: "menu"}, engine.Question{Kind: engine.ChooseOne,
		Prompt:  "Which supplier shall I order from?",
		Context: "Both deliver by Friday. The northern mill is cheaper, the southern one delivers before noon.",
		Options: []engine.Option{{Label: "Northern mill", Value: "north"}, {Label: "Southern mill", Value: "south"}}})
	ada.sees("Shall version 2.4 go out today?")
	ada.with(`document.querySelector('a.row[data-key="release-9/1"]') ?? undefined`, "e.click()")
	ada.at("#/inbox/release-9/1")
	ada.sees("I have read what there is about release-9.")
	ada.pictures("confirm")
	ada.press("Yes")
	ada.sees("Your answer was recorded.")
	require.Equal(t, "yes", w.answered("release-9")[0].Text)
	ada.press("Next question")
	ada.at("#/inbox/menu/1")
	ada.press("Southern mill south")
	ada.pictures("choice")
	ada.press("Send answer")
	ada.sees("Your answer was recorded.")
	ada.sees("No open questions for you.")
	require.Equal(t, "south", w.answered("menu")[0].Text)
	require.Equal(t, "ada", w.answered("menu")[0].Actor)
}

// L1: two people answer at once; one wins, and the other learns that in place, with the winner's
// name, and loses no text.
func TestL1OfTwoWindowsOneWinsAndTheOtherLearnsWho(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, openText("What shall the headline be?"))
	ada, bob := w.open("ada", "#/inbox/r/1"), w.open("bob", "#/inbox/r/1")
	for o, text := range map[*window]string{ada: "Spring is here", bob: "Winter is over"} {
		o.sees("What shall the headline be?")
		o.write("Your answer", text)
	}
	ada.run(named("Send answer") + ".click()")
	bob.run(named("Send answer") + ".click()")
	won := w.answered("r")[0]
	winner, loser, lost := ada, bob, "Winter is over"
	if won.Actor == "bob" {
		winner, loser, lost = bob, ada, "Spring is here"
	}
	winner.sees("Your answer was recorded.")
	loser.sees("Answered by " + won.Actor)
	loser.sees("You had written:")
	loser.sees(lost)
	loser.pictures("lost")
}

// L1: a person who views a question that is answered elsewhere sees that immediately, without
// pressing anything.
func TestL1WhoLooksAtAQuestionSeesThatItIsSettled(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, confirm("Ship?"))
	ada := w.open("ada", "#/inbox/r/1")
	ada.sees("Ship?")
	bob := lifecycle.Actor{ID: "bob", Via: "phone"}
	_, err := w.lc.Reply(t.Context(), "r", lifecycle.Reply{ID: 1, Text: "no", Actor: bob})
	require.NoError(t, err)
	ada.sees("Answered by bob")
	ada.sees("via phone")
	ada.seesNot("Your answer was recorded.")
}

const order = `{"type":"object","required":["name","count","size","address"],"properties":{
	"name":{"type":"string","title":"Name on the order","minLength":3},
	"count":{"type":"integer","title":"How many","minimum":1},
	"size":{"title":"Size","enum":["small","medium","large"]},
	"gift":{"type":"boolean","title":"As a gift"},
	"limit":{"type":"number","title":"Limit in euro"},
	"address":{"type":"object","title":"Address","required":["city"],"properties":{
		"city":{"type":"string","title":"City","pattern":"^[A-Z]"}}},
	"notes":{"type":"array","title":"Notes","items":{"type":"string"}}}}`

// K3: a form comes from its schema; the server's rejection appears at its field, and can be
// corrected there.
func TestK3AFormIsRefusedAndCorrectedAtItsFields(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, engine.Question{Kind: engine.FillFields, Prompt: "What shall I order?",
		Schema: json.RawMessage(order)})
	ada := w.open("ada", "#/inbox/r/1")
	ada.sees("What shall I order?")
	ada.press("Send answer")
	ada.sees("Please fill this in.")
	ada.write("Name on the order", "Al")
	ada.write("How many", "0")
	ada.press("large")
	ada.write("Limit in euro", "90071992547409931.10")
	ada.write("City", "paris")
	ada.press("Add one")
	ada.write("No. 1", "ring twice")
	ada.press("Send answer")
	ada.sees("Some fields have errors.")
	fault := func(pointer string) string {
		return `document.querySelector('[data-pointer="` + pointer + `"] .fault').innerText`
	}
	ada.until(fault("/name") + ` !== "" && ` + fault("/count") + ` !== "" && ` + fault("/address/city") + ` !== ""`)
	ada.until(fault("/limit") + ` === "" && ` + fault("/size") + ` === ""`)
	ada.until(`document.activeElement.closest(".field").dataset.pointer === "/name"`)
	ada.pictures("form")
	ada.accessible("a form with faults")
	ada.write("Name on the order", "Alice")
	ada.write("How many", "3")
	ada.write("City", "Paris")
	ada.press("Send answer")
	ada.sees("Your answer was recorded.")
	require.JSONEq(t, `{"name":"Alice","count":3,"size":"large","limit":90071992547409931.10,"address":{"city":"Paris"},
		"notes":["ring twice"]}`, string(w.answered("r")[0].Value))
	require.Contains(t, string(w.answered("r")[0].Value), "90071992547409931.10", "no number is rounded")
}

// K4, N6: an approval shows its arguments unchanged, marks edits, and asks to acknowledge the risk.
// Its pictures approval-light and approval-dark are in the inbox's tutorial.
func TestN6AnApprovalIsEditedAndWhatDiffersIsShown(t *testing.T) {
	w := openWorld(t)
	q := approval(t, "Pay the invoice of ACME?", "payments.transfer", `{"to":"ACME Ltd.",
		"iban":"DE02 1203 0000 0000 2020 51","amount":9007199254740993,"currency":"EUR","urgent":false,
		"items":[{"what":"Consulting, May","cents":9007199254740000},{"what":"Travel","cents":993}]}`)
	q.Subject.Risk = "The money leaves the account at once and cannot be called back."
	w.ask(lifecycle.Spec{ID: "invoice-7", Labels: map[string]string{"customer": "acme"}}, q)
	ada := w.open("ada", "#/inbox/invoice-7/1")
	ada.sees("Pay the invoice of ACME?")
	ada.sees("9007199254740993")
	ada.pictures("approval")
	ada.accessible("an approval")
	ada.press("Approve")
	ada.sees("Acknowledge the risk first.")
	ada.until(`document.querySelector(".risk .fault").innerText !== ""`) // in view with the focused box
	ada.press("I have read this and accept the risk.")
	ada.press("Edit …")
	ada.sees("No differences from the proposal yet.")
	ada.write("to", "ACME GmbH")
	ada.sees("1 difference from the proposal")
	ada.until(`document.querySelector('[data-pointer="/to"]').classList.contains("changed")`)
	ada.until(`document.querySelector(".differences del").innerText === '"ACME Ltd."'`)
	ada.run(`document.querySelector(".edited-lines > summary").click();`)
	ada.until(`document.querySelector(".edited-lines .removed strong")?.innerText === "Ltd."`)
	require.Contains(t, js[string](ada, `document.querySelector(".edited-lines .added").closest("tr").innerText`), "GmbH")
	ada.run(`document.querySelector(".edited-lines button").click();`)
	ada.until(`document.querySelector(".edited-lines table.sides tr:has(.removed):has(.added)")`)
	ada.accessible("lines of an edit")
	ada.run(`document.querySelector(".edited-lines button").click();
		document.querySelector(".edited-lines > summary").click();`)
	ada.pictures("edit")
	ada.accessible("edited arguments")
	ada.press("Approve as edited")
	ada.sees("Your answer was recorded.")
	answer := w.answered("invoice-7")[0]
	require.Equal(t, lifecycle.Edit, answer.Decision)
	require.JSONEq(t, `{"to":"ACME GmbH","iban":"DE02 1203 0000 0000 2020 51","amount":9007199254740993,
		"currency":"EUR","urgent":false,
		"items":[{"what":"Consulting, May","cents":9007199254740000},{"what":"Travel","cents":993}]}`,
		string(answer.Arguments))
	require.Contains(t, string(answer.Arguments), `"amount":9007199254740993,`)
}

// K5: votes are counted before everybody's eyes; who has voted is named, and votes once.
func TestK5SeveralVoteAndSeeWhoHas(t *testing.T) {
	w := openWorld(t)
	finance := &lifecycle.Audience{Groups: []string{"finance"}}
	w.ask(lifecycle.Spec{ID: "r", Ask: &lifecycle.AskPolicy{Need: 2, To: finance}},
		approval(t, "Buy the press?", "buy", `{"what":"press","price":120000}`))
	ada, bob := w.open("ada", "#/inbox/r/1"), w.open("bob", "#/inbox/r/1")
	ada.sees("0 of 2 approved")
	ada.press("Approve")
	ada.sees("You have approved. The question waits for more votes.")
	bob.sees("1 of 2 approved")
	bob.sees("ada approved")
	bob.pictures("votes")
	bob.press("Reject")
	bob.write("Reason", "Too dear.")
	bob.press("Reject")
	bob.sees("Your answer was recorded.")
	ada.sees("Rejected by bob")
	ada.sees("Too dear.")
}

// K5: a question is claimed, shown as claimed to others, released, and reassigned.
func TestK5AQuestionIsClaimedGivenBackAndPutToOthers(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r", Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{"finance"}}}},
		openText("How do we book this?"))
	ada, bob := w.open("ada", "#/inbox/r/1"), w.open("bob", "#/inbox/r/1")
	bob.write("Your answer", "As rent")
	ada.press("Claim for 15 minutes")
	ada.sees("Claimed: only you")
	bob.sees("ada has claimed this question. Your input is kept.")
	bob.pictures("claimed")
	ada.press("Reassign")
	ada.write("People", "eve")
	ada.press("Release")
	bob.until(`document.querySelector("textarea")?.value === "As rent"`)
	ada.sees("Claim for 15 minutes") // and the draft is kept
	ada.press("Reassign now")
	ada.sees("This question is not for you. Its audience: eve.")
	eve := w.open("eve", "")
	eve.sees("How do we book this?")
}

// N7: people write notes on a question by keys alone, and see other people's notes at once, in the list, with
// every character, in both languages, also after the answer.
func TestN7NotesOnThePage(t *testing.T) {
	w := openWorldOf(t, lifecycle.Config{}, web.Options{Directory: directoryOf(t, `people:
  - {id: ada, name: "Ada\u202eByron"}
  - {id: eve, name: Eve Miller, groups: [evening]}
`)})
	w.ask(lifecycle.Spec{ID: "r"}, openText("How do we book this?"))
	ada, bob := w.open("ada", "#/inbox/r/1"), w.open("bob", "#/inbox/r/1")
	bob.sees("Write a note")
	ada.sees("Write a note")
	ada.strike("m", "KeyM", "m") // the page's shortcut writes no m into the field
	ada.until(`document.activeElement.closest(".notes") !== null && document.activeElement.value === ""`)
	ada.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	ada.sees("Write a text first.")
	call(ada, input.InsertText, input.InsertTextParams{Text: "Ask @ev"})
	ada.until(`[...document.querySelectorAll("[role=option]")].map((e) => e.innerText.trim()).join("|") ===
		"Eve Miller eve|evening"`)
	ada.do(chromedp.KeyEvent(kb.ArrowDown))
	ada.pictures("note-names")
	ada.accessibleInBoth("names in a note")
	call(ada, input.InsertText, input.InsertTextParams{Text: "e"}) // a window that lost the focus has closed the list
	ada.until(`document.activeElement.value === "Ask @eve" && document.querySelector("[aria-selected=true]") === null &&
		document.querySelector("[role=option]") !== null`)
	ada.do(chromedp.KeyEvent(kb.ArrowDown))
	ada.strike("Enter", "Enter", "\r") // which picks the name, and writes no line break
	ada.until(`document.activeElement.value === "Ask @eve "`)
	call(ada, input.InsertText, input.InsertTextParams{Text: "<b>Eve</b>\u202e,\nshe booked it last year. "})
	ada.run(`window.held = true;`) // a reload would lose it
	ada.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	const notes = `[...document.querySelectorAll(".note-list li")].map((e) => e.innerText).join("|")`
	for _, o := range []*window{ada, bob} {
		o.until(notes + `.includes("<b>Eve</b>U+202E,\nshe booked it last year.")`)
		o.until(`document.querySelector("a.row .noted")?.innerText === "1 note"`)
	}
	ada.until(`document.activeElement.closest(".notes") !== null && document.activeElement.value === "" && held`)
	ada.until(notes + `.startsWith("you")`)
	bob.until(notes + `.startsWith("AdaU+202EByron ada,")`)
	bob.write("Write a note", "I am not Eve.")
	bob.reload()
	bob.until(`document.querySelector(".notes textarea")?.value === "I am not Eve."`)
	bob.press("Add note")
	ada.until(notes + `.includes("I am not Eve.")`)
	ada.sees("bob wrote a note on question 1.")
	ada.pictures("notes")
	ada.accessibleInBoth("notes")
	bob.run(`localStorage["interlude-settings /desk/"] = JSON.stringify({ language: "de" })`)
	bob.reload()
	bob.until(`document.querySelector("a.row .noted")?.innerText === "2 Notizen"`)
	bob.press("Notiz hinzufügen")
	bob.sees("Schreiben Sie zuerst einen Text.")
	bob.pictures("notes-german")
	bob.accessibleInBoth("notes in German")
	run, err := w.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, run.Open[0].Notes.List, 2)
	require.Equal(t, "Ask @eve <b>Eve</b>\u202e,\nshe booked it last year.", run.Open[0].Notes.List[0].Text)
	_, err = w.lc.Reply(t.Context(), "r", lifecycle.Reply{ID: 1, Text: "As rent."})
	require.NoError(t, err)
	ada.until(`document.querySelector(".notes textarea").checkVisibility() === false`)
	ada.until(notes + `.includes("I am not Eve.")`)
}

// N7: with a directory, the page shows names for claims, votes and answers, live in the list, in the history
// and in both languages, also for an absent person.
func TestN7NamesOfClaimsVotesAndAnswersOnThePage(t *testing.T) {
	directory := directoryOf(t, `people:
  - {id: ada, name: "Ada\u202eByron"}
  - {id: bob, name: Bob Ray}
  - {id: eve, name: Eve Miller, deputies: [{id: bob}]}
`)
	w := openWorldOf(t, lifecycle.Config{Directory: directory}, web.Options{Directory: directory})
	to := &lifecycle.Audience{Users: []string{"ada", "eve"}}
	w.ask(lifecycle.Spec{ID: "r", Ask: &lifecycle.AskPolicy{To: to}}, confirm("Ship?"))
	w.ask(lifecycle.Spec{ID: "votes", Ask: &lifecycle.AskPolicy{To: to, Need: 2}}, approval(t, "Pay?", "pay", `{}`))
	ada, bob := w.open("ada", "#/inbox/r/1"), w.open("bob", "#/inbox/r/1")
	bob.sees("Eve Miller eve") // for whom bob answers
	bob.press("Claim for 15 minutes")
	ada.sees("Bob Ray bob for Eve Miller eve, until")
	ada.sees("Bob Ray (bob) has claimed this question. Your input is kept.")
	ada.until(`document.querySelector("a.row .claim")?.innerText === "with Bob Ray (bob)"`)
	ada.pictures("claim-names")
	ada.accessibleInBoth("names of a claim")
	bob.press("Yes")
	ada.sees("Answered by Bob Ray (bob)")
	ada.sees("for Eve Miller eve")
	ada.run(`location.hash = "#/runs/r"`)
	ada.until(`document.querySelector(".entry.answered .label")?.innerText === "Answered by Bob Ray (bob)"`)
	ada.run(`location.hash = "#/inbox/votes/1"`)
	bob.run(`location.hash = "#/inbox/votes/1"`)
	bob.press("Approve")
	ada.sees("Bob Ray bob for Eve Miller eve approved")
	ada.press("Approve")
	bob.run(`location.hash = "#/answers"`)
	bob.sees("Approved by AdaU+202EByron (ada)")
	bob.run(`localStorage["interlude-settings /desk/"] = JSON.stringify({ language: "de" })`)
	bob.run(`location.hash = "#/inbox/votes/1"`)
	bob.reload()
	bob.sees("Freigegeben von AdaU+202EByron (ada)")
	ada.sees("Bob Ray bob for Eve Miller eve approved")
	bob.until(`document.querySelector(".voters")?.innerText.includes("für Eve Miller eve") === true`)
}

// directoryOf returns the directory of a file with this content.
func directoryOf(t *testing.T, content string) people.Directory {
	t.Helper()
	name := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	directory, err := people.Open(name, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return directory
}

// N7: people who may answer a question but not view its run read its notes on the page.
func TestN7NotesOfAQuestionWhoseRunIsHidden(t *testing.T) {
	w := openWorldOf(t, lifecycle.Config{Authorize: func(_ context.Context, a lifecycle.Access) error {
		if a.Action == lifecycle.ActionView && a.Actor.ID == "bob" {
			return errors.New("not you")
		}
		return nil
	}}, web.Options{})
	w.ask(lifecycle.Spec{ID: "r"}, openText("How do we book this?"))
	_, err := w.lc.As(lifecycle.Actor{ID: "ada"}).Note(t.Context(), "r", 1, lifecycle.Note{Text: "As in May."})
	require.NoError(t, err)
	bob := w.open("bob", "#/inbox/r/1")
	bob.sees("As in May.")
	bob.write("Write a note", "No, as in June.")
	bob.press("Add note")
	bob.until(`[...document.querySelectorAll(".note-list .said")].at(-1)?.innerText === "No, as in June."`)
	bob.write("Your answer", "As in June.")
	bob.press("Send answer")
	require.Equal(t, "As in June.", w.answered("r")[0].Text)
}

// N7: a person who reassigns a question picks people and groups from the directory by keys alone, or types
// names that it does not have.
func TestN7NamesArePickedFromTheDirectory(t *testing.T) {
	w := openWorldOf(t, lifecycle.Config{}, web.Options{Directory: directoryOf(t, `people:
  - {id: u-17, name: "Eve Ada\u202eLee", groups: [tax office, finance]}
  - {id: u-18, name: Eve Miller, groups: [sales]}
  - {id: u-19, name: Carl Evers}
`)})
	w.ask(lifecycle.Spec{ID: "r"}, openText("How do we book this?"))
	ada := w.open("ada", "#/inbox/r/1")
	ada.press("Reassign")
	ada.write("People", "eve")
	const options = `[...document.querySelectorAll("[role=option]")].map((e) => e.innerText.trim()).join("|")`
	ada.until(options + ` === "Eve AdaU+202ELee u-17|Eve Miller u-18|Carl Evers u-19"`)
	ada.do(chromedp.KeyEvent(kb.ArrowDown + kb.ArrowDown))
	ada.until(`document.activeElement.getAttribute("aria-activedescendant") ===
		document.querySelector("[role=option][aria-selected=true]").id`)
	ada.pictures("names")
	ada.accessibleInBoth("suggested names")
	ada.do(chromedp.KeyEvent(kb.Enter))
	ada.until(`document.querySelector(".names .chip")?.innerText === "Eve Miller ×"`)
	ada.do(chromedp.KeyEvent("mallory" + kb.Enter + "zoe" + kb.Enter + kb.Backspace))
	ada.write("Groups", "off")
	ada.until(options + ` === "tax office"`)
	ada.run(`document.querySelector("[role=option]").dispatchEvent(new MouseEvent("mousedown", { bubbles: true,
		cancelable: true }))`)
	ada.until(`[...document.querySelectorAll(".names .chip")].map((e) => e.innerText).join() ===
		"Eve Miller ×,mallory ×,tax office ×"`)
	ada.pictures("names-picked")
	ada.accessibleInBoth("picked names")
	ada.press("Reassign now")
	ada.sees("This question is not for you.")
	run, err := w.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, &lifecycle.Audience{Users: []string{"u-18", "mallory"}, Groups: []string{"tax office"}},
		run.Open[0].To)
}

// K7: the page shows what happens without an answer, and counts down.
func TestK7WhatHappensWithoutAnAnswerCountsDown(t *testing.T) {
	w := openWorld(t)
	q := confirm("Close the shop tonight?")
	q.Wait = &lifecycle.Wait{End: 40 * time.Minute, Then: lifecycle.ThenFail,
		Steps: []lifecycle.WaitStep{{After: 20 * time.Minute, Do: lifecycle.Remind}}}
	w.ask(lifecycle.Spec{ID: "r"}, q)
	ada := w.open("ada", "#/inbox/r/1")
	ada.sees("Without an answer, the run fails")
	ada.sees("Reminder")
	ada.sees("Within the hour")
	ada.until(`/^in 39 min$/.test(document.querySelector(".deadline").innerText)`)
	ada.press("Extend by one hour")
	ada.until(`/^in 1 h 39 min$/.test(document.querySelector(".deadline").innerText)`)

	q = confirm("Order the usual?")
	q.Wait = &lifecycle.Wait{End: time.Hour, Then: lifecycle.ThenDefault,
		Default: &lifecycle.DefaultReply{Text: "no, ask again tomorrow"}}
	w.ask(lifecycle.Spec{ID: "usual"}, q)
	ada.run(`location.hash = "#/inbox/usual/1"`)
	ada.sees("Without an answer, the default counts")
	ada.sees("no, ask again tomorrow")

	w.ask(lifecycle.Spec{ID: "policy", AutoDecide: true, SessionTimeout: time.Hour}, confirm("Which way?"))
	ada.run(`location.hash = "#/inbox/policy/1"`)
	ada.sees("Without an answer, the agent decides")
	ada.until(`![...document.querySelectorAll("button")].some((b) => b.innerText.includes("Extend by"))`)
}

// K1: the questions of a turn are shown together, and can be stepped through.
func TestK1QuestionsOfOneRunStandTogether(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, confirm("Is the hall booked?"), openText("Who speaks first?"))
	ada := w.open("ada", "#/inbox/r/1")
	ada.sees("2 open together")
	ada.press("Yes")
	ada.sees("Your answer was recorded.")
	ada.press("Next question")
	ada.at("#/inbox/r/2")
	ada.write("Your answer", "Grace")
	ada.press("Send answer")
	ada.sees("Your answer was recorded.")
	require.Equal(t, "Grace", w.answered("r")[1].Text)
}
