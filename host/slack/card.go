package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdk "github.com/slack-go/slack"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// The ids of buttons. Options are numbered from 0, after actOption.
const (
	actApprove = "approve"
	actReject  = "reject"
	actOption  = "option-"
	actForm    = "form" // opens the modal
	actClaim   = "claim"
	actRelease = "release"
	actPage    = "page" // a link, which Slack reports as well
)

// card is a message about a question.
type card struct {
	blocks []sdk.Block
	text   string // for notifications
	seal   string // identifies the content
}

// cardOf renders the current state of a record. here reports whether the question is still posted
// to this place.
func (a *App) cardOf(run string, r *lifecycle.Record, here bool) card {
	q := &r.Question
	text := textOf(q)
	parts := split(text)
	var c card
	for _, part := range parts[:min(len(parts), maxSections)] {
		c.blocks = append(c.blocks, section(part))
	}
	page := ""
	if a.config.Page != nil {
		page = a.config.Page(run, q.ID)
	}
	if len(parts) > maxSections {
		c.blocks = append(c.blocks, note("The text is cut here: "+
			strconv.Itoa(len(text)-len(strings.Join(parts[:maxSections], "")))+" more bytes are not shown."))
	}
	switch {
	case r.Resolution != "":
		c.blocks = append(c.blocks, section(settledText(r)))
	case !here:
		c.blocks = append(c.blocks, note("The question was reassigned. It is for "+
			interaction.Visible(q.To.String())+" now."))
	default:
		c.blocks = append(c.blocks, note(a.status(run, q)))
		c.blocks = append(c.blocks, buttons(run, q, page)...)
	}
	asked := interaction.VisibleProse(firstLine(q.Prompt))
	if q.Subject != nil && q.Subject.Summary != "" {
		asked = interaction.Visible(q.Subject.Summary) + ": " + asked
	}
	c.text = escape.Replace(cut(asked, maxNotice))
	if r.Resolution != "" {
		c.text = escape.Replace(cut(settledText(r), maxNotice))
	}
	raw, err := json.Marshal(c.blocks)
	if err != nil {
		raw = []byte(err.Error()) // unreachable: blocks are texts
	}
	sum := sha256.Sum256(append(raw, c.text...))
	c.seal = hex.EncodeToString(sum[:16])
	return c
}

// textOf returns the part of the question that its digest covers, except the form.
func textOf(q *lifecycle.Question) string {
	text := front.Message(q)
	if listed := labels(q); listed != nil && !fitting(listed) {
		for i, label := range listed {
			text += fmt.Sprintf("\n%d. %s", i+1, label)
		}
	}
	return text
}

// answerable reports whether Slack can express the form of the question and shows everything that
// an answer may depend on. Only the text of a question without a call, a risk and listed options
// may be cut.
func answerable(q *lifecycle.Question) bool {
	decides := q.Subject != nil || q.Kind == lifecycle.RiskAck
	if _, ok := modalOf(q); !ok || decides && q.Files != nil {
		return false
	}
	return !decides && fitting(labels(q)) || len(split(textOf(q))) <= maxSections
}

// labels returns the texts of the options.
func labels(q *lifecycle.Question) (all []string) {
	if q.Subject != nil {
		return nil
	}
	for _, o := range q.Choices() {
		label, value := o.Shown()
		if value != "" && len(q.Options) > 0 {
			label += " (" + value + ")"
		}
		all = append(all, label)
	}
	return all
}

// fitting reports whether all labels fit on buttons. Otherwise the text lists the labels, and the
// buttons show their numbers.
func fitting(all []string) bool {
	for _, label := range all {
		if strings.TrimSpace(label) == "" || fit(label, maxButton) < len(label) {
			return false
		}
	}
	return true
}

// status describes the open question: who may answer, until when, who works on it.
func (a *App) status(run string, q *lifecycle.Question) string {
	text := "For " + interaction.Visible(q.To.String())
	if q.Claim.Lasts(a.config.Client.Now()) {
		text += " · " + interaction.Visible(q.Claim.Actor) + " works on it until " + moment(q.Claim.Until)
	}
	if !q.EndsAt.IsZero() {
		text += " · ends " + moment(q.EndsAt)
	}
	return text + " · run " + interaction.Visible(run) + ", question " + strconv.Itoa(q.ID)
}

func moment(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04 UTC") }

// note is a line in small letters.
func note(text string) sdk.Block {
	return sdk.NewContextBlock("", plain(cut(text, maxHint)))
}

// buttons returns the controls of an open question.
func buttons(run string, q *lifecycle.Question, page string) (blocks []sdk.Block) {
	value := valueOf(run, q)
	var all []sdk.BlockElement
	add := func(id, label string, style sdk.Style) {
		all = append(all, sdk.NewButtonBlockElement(id, value, plain(cut(label, maxButton))).WithStyle(style))
	}
	here := answerable(q)
	switch {
	case !here:
	case q.Subject != nil && q.Subject.Risk == "":
		add(actApprove, "Approve", sdk.StylePrimary)
		add(actReject, "Reject", sdk.StyleDanger)
		add(actForm, "With a comment…", sdk.StyleDefault)
	case q.Subject != nil: // the modal names the risk before the person approves
		add(actForm, "Decide…", sdk.StylePrimary)
		add(actReject, "Reject", sdk.StyleDanger)
	case len(q.Schema) == 0 && len(q.Choices()) > 0:
		listed := labels(q)
		numbered := !fitting(listed)
		for i, label := range listed {
			if numbered {
				label = strconv.Itoa(i + 1)
			}
			add(actOption+strconv.Itoa(i), label, sdk.StyleDefault)
		}
		if !q.Only {
			add(actForm, "Answer…", sdk.StyleDefault)
		}
	default:
		add(actForm, "Answer…", sdk.StylePrimary)
	}
	if !q.DecidedBySeveral() && here {
		add(actClaim, "Claim", sdk.StyleDefault)
		if q.Claim != nil {
			add(actRelease, "Release", sdk.StyleDefault)
		}
	}
	if page != "" {
		all = append(all, sdk.NewButtonBlockElement(actPage, "", plain("Open the page")).WithURL(page))
	}
	if !here && page == "" {
		blocks = append(blocks, note("Slack cannot show this question completely. Answer it on the host's page."))
	}
	const row = 25 // Slack's maximum for one block
	for len(all) > 0 {
		n := min(row, len(all))
		blocks = append(blocks, sdk.NewActionBlock("", all[:n]...))
		all = all[n:]
	}
	return blocks
}

// settledText says how the question was settled, and by whom.
func settledText(r *lifecycle.Record) string {
	who := interaction.Visible(r.Actor)
	if votes := r.Question.Votes; len(votes) > 0 {
		var names []string
		for _, v := range votes {
			if v.Decision == r.Decision {
				names = append(names, interaction.Visible(v.Actor))
			}
		}
		who = strings.Join(names, ", ")
	}
	if who == "" {
		who = "the host"
	}
	if absent := r.For(); absent != "" && len(r.Question.Votes) == 0 {
		who += " for " + interaction.Visible(absent)
	}
	if r.Via != "" && len(r.Question.Votes) == 0 {
		who += " (" + interaction.Visible(r.Via) + ")"
	}
	var text string
	switch r.Resolution {
	case lifecycle.UserReply:
		verb := map[lifecycle.Decision]string{lifecycle.Approve: "Approved", lifecycle.Edit: "Approved with changes",
			lifecycle.Reject: "Rejected"}[r.Decision]
		if verb == "" {
			verb = "Answered"
		}
		text = verb + " by " + who + ", " + moment(r.ResolvedAt)
		switch {
		case len(r.Value) > 0:
			text += ": " + interaction.VisibleJSON(r.Value, "")
		case r.Response != "":
			text += ": " + interaction.VisibleProse(r.Response)
		}
	case lifecycle.AutoDecideTimeout:
		text = "Decided automatically, because its time was over"
	case lifecycle.DefaultAnswer:
		text = "Its time was over, so its default answer was taken"
	case lifecycle.Superseded:
		text = "Closed: other answers were sufficient"
	default:
		text = "Closed: its run has ended"
	}
	return cut(text, maxSection)
}

// valueOf returns the value of a button: the question's number, the digest of the displayed
// question, and the run.
func valueOf(run string, q *lifecycle.Question) string {
	return strconv.Itoa(q.ID) + "." + q.Digest() + "." + run
}

// target is a decoded value of a button.
type target struct {
	run      string
	question int
	seen     string
}

func parseValue(value string) (t target, ok bool) {
	parts := strings.SplitN(value, ".", 3)
	if len(parts) != 3 || len(parts[1]) != sha256.Size*2 || parts[2] == "" {
		return target{}, false
	}
	n, err := strconv.Atoi(parts[0])
	return target{parts[2], n, parts[1]}, err == nil && n > 0
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
