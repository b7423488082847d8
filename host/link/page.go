package link

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"time"

	"github.com/interlude-go/interlude/host/render"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var css string

// page names invisible characters in untrusted text: exact is for names, values and ids.
var page = template.Must(template.New("page").Funcs(template.FuncMap{"exact": interaction.Visible,
	"prose": interaction.VisibleProse, "markdown": render.Markdown}).Parse(pageSource))

// policy forbids all loading and scripts. The page's only style is allowed by its hash.
var policy = func() string {
	sum := sha256.Sum256([]byte(css))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// texts are the heading and the sentence of each page.
var texts = map[Reason][2]string{
	"": {"Please answer", ""},
	Damaged: {"This link is incomplete",
		"The address was cut off or changed. Copy the whole address from the message."},
	Invalid: {"This answer cannot be accepted", "It is empty or too long. Go back and answer again."},
	Risk: {"The risk is not accepted", "Your answer accepts a risk, and the box for it is not checked. Go back, " +
		"check the box, and answer with the button below it."},
	Foreign: {"This link is no longer accepted", "It was signed with a key that is no longer in use. Ask for a " +
		"new link."},
	WrongPerson: {"This link is for another person", "You are not the person that this link was sent to."},
	Reassigned:  {"The question was reassigned", "Other people were asked after you got this link."},
	NotAllowed:  {"You are not allowed to do this", "Nothing was changed."},
	Gone:        {"This question does not exist", "It was deleted, or was never asked."},
	Settled:     {"This question is settled", ""},
	Voted:       {"You have already voted", "Your vote counts and cannot be changed."},
	Claimed: {"Another person is working on this question",
		"You can answer when the claim ends. This link stays valid."},
	Expired: {"This link has expired", "Ask for a new link, or answer on the full page."},
	Changed: {"The question has changed", "It is not the question that this link was made for. Nothing was " +
		"answered."},
	Unavailable: {"The service is unavailable", "Try the same link again later. Your answer counts only once."},
}

type view struct {
	Name, Heading, Text string
	Reason              Reason
	CSS                 template.CSS

	Question  *lifecycle.Question // nil: no question is shown
	Person    string              // the person who answers
	For       string              // the absent person whose deputy answers, or empty
	Arguments string
	Choices   []choice
	Approval  bool
	Several   bool
	Respond   bool // an approval accepts a text instead of a decision
	Risk      bool // answers that accept a risk need a checked box
	Writable  bool // free text is accepted
	Full      string
	Ends      *moment
	Approved  int
	Files     []shownFile

	Who  string // who settled, voted on or claimed it, or the audience
	How  string
	When *moment
}

// choice is an option as displayed (lifecycle.Option.Shown). Refuses marks an answer that accepts
// no risk.
type choice struct {
	Label, Value string
	Refuses      bool
}

type moment struct{ Machine, Text string }

func momentOf(t time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &moment{t.Format(time.RFC3339), t.Format("2 January 2006, 15:04 UTC")}
}

func (l *Links) write(w http.ResponseWriter, r *http.Request, v *visit, refused *refusal, post bool) {
	shown := view{Name: l.config.Name, CSS: template.CSS(css)} //nolint:gosec // the embedded file
	status := http.StatusOK
	switch {
	case refused != nil:
		status = statuses[refused.reason]
		shown.refused(refused)
	case post:
		shown.Heading, shown.Text = "Thank you", "Your answer was accepted."
	default:
		shown.ask(v, v.page)
		shown.Files = l.preview(r.Context(), v)
	}
	var body bytes.Buffer
	if err := page.Execute(&body, &shown); err != nil {
		l.config.Logger.Error("link: page", "err", err)
		http.Error(w, "the page could not be rendered; try again later", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	if len(shown.Files) > 0 {
		h.Set("Content-Security-Policy", policy+"; img-src 'self'")
	}
	h.Set("Referrer-Policy", "same-origin") // the address is a secret, but the form's POST needs an Origin
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	if refused != nil {
		h.Set("Interlude-Reason", string(refused.reason))
	}
	// A browser that does not read its page must not hold the connection.
	c := http.NewResponseController(w)
	_ = c.SetWriteDeadline(time.Now().Add(pageTimeout)) // fails in tests with a recorder
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body.Bytes()) // the client may have left
	}
	_ = c.Flush()
	_ = c.SetWriteDeadline(time.Time{}) // the next request on this connection may belong to another handler
}

const pageTimeout = 10 * time.Second

func (s *view) refused(r *refusal) {
	s.Reason, s.Heading, s.Text = r.reason, texts[r.reason][0], texts[r.reason][1]
	switch {
	case r.record != nil:
		s.Who, s.How, s.When = r.record.Actor, howSettled(r.record), momentOf(r.record.ResolvedAt)
	case r.reason == Claimed && r.question != nil && r.question.Claim != nil:
		s.Who, s.When = r.question.Claim.Actor, momentOf(r.question.Claim.Until)
	case r.reason == Reassigned:
		s.Who = r.audience.String()
	}
}

// howSettled describes how a question was settled, without the answer.
func howSettled(r *lifecycle.Record) string {
	switch {
	case r.Resolution == lifecycle.Abandoned:
		return "Its run has ended; no answer is needed."
	case r.Resolution == lifecycle.Superseded:
		return "Other answers were sufficient."
	case r.Resolution == lifecycle.AutoDecideTimeout:
		return "There was no answer in time, so it was decided automatically."
	case r.Resolution == lifecycle.DefaultAnswer:
		return "There was no answer in time, so the default answer counts."
	case r.Decision == lifecycle.Approve, r.Decision == lifecycle.Edit:
		return "It was approved."
	case r.Decision == lifecycle.Reject:
		return "It was rejected."
	}
	return "It was answered."
}

func (s *view) ask(v *visit, full string) {
	q := &v.question
	s.Heading, s.Question, s.Full, s.Ends = texts[""][0], q, full, momentOf(q.EndsAt)
	s.Person, s.For = v.person, v.actor.For
	s.Approval, s.Several = q.Subject != nil, q.DecidedBySeveral()
	s.Respond = s.Approval && !s.Several
	s.Writable = !q.Only && (len(q.Schema) == 0 || q.AlsoText || s.Approval)
	s.Approved = q.Count(lifecycle.Approve)
	switch {
	case s.Approval:
		s.Risk = q.Subject.Risk != ""
		s.Arguments = interaction.VisibleJSON(q.Subject.Arguments, "  ")
	case s.Writable || q.Only:
		yes := q.YesOption()
		s.Risk = q.Kind == lifecycle.RiskAck && len(q.Options) > 0
		for i, o := range choices(q) {
			label, value := o.Shown()
			if len(q.Options) == 0 { // the labels are this package's
				value = ""
			}
			s.Choices = append(s.Choices, choice{label, value, yes >= 0 && i != yes})
		}
	}
}
