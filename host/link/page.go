package link

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var css string

// page shows texts of others by the table of characters: exact is for names, values and ids.
var page = template.Must(template.New("page").Funcs(template.FuncMap{"exact": interaction.Visible,
	"prose": interaction.VisibleProse}).Parse(pageSource))

// policy lets the page load nothing and execute nothing; its one style is named by its hash.
var policy = func() string {
	sum := sha256.Sum256([]byte(css))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// texts are what each page says: a heading and a sentence.
var texts = map[Reason][2]string{
	"": {"Please answer", ""},
	Damaged: {"This link is not complete",
		"It was cut or changed on its way. Copy the whole address from the message."},
	Invalid:     {"This answer cannot be taken", "It is empty or too long. Go back, and answer once more."},
	Foreign:     {"This link is no longer accepted", "It was signed with a key that is not in use here."},
	WrongPerson: {"This link is for somebody else", "You are not the person who is asked."},
	Reassigned:  {"Somebody else is asked now", "The question was put to others since you got the link."},
	NotAllowed:  {"You may not do this", "Nothing was changed."},
	Gone:        {"This question does not exist", "It was deleted, or was never asked."},
	Settled:     {"This question is settled", ""},
	Voted:       {"You have voted", "Your vote counts, and cannot be changed."},
	Claimed:     {"Somebody works on it", "Until then nobody else can answer. The link goes on working."},
	Expired:     {"This link has expired", "Ask for a new one, or answer in another way."},
	Changed:     {"The question has changed", "What you were asked is not what is asked now. Nothing was answered."},
	Unavailable: {"This does not work at the moment", "Try the same link a little later. An answer counts once."},
}

// view is what the template shows.
type view struct {
	Name, Heading, Text string
	Reason              Reason
	CSS                 template.CSS

	Question  *lifecycle.Question // nil: none is shown
	Person    string              // who answers
	Arguments string
	Choices   []choice
	Approval  bool
	Several   bool
	Respond   bool // an approval takes a text in place of a decision
	Risk      bool // the answers that accept a risk need a tick
	Writable  bool // a text may be written
	Full      string
	Ends      *moment
	Approved  int

	Who  string // who settled it, has voted, works on it, or is asked
	How  string
	When *moment
}

// choice is an option as it is shown (lifecycle.Option.Shown). One that refuses accepts no risk.
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

// write sends the page.
func (l *Links) write(w http.ResponseWriter, r *http.Request, v *visit, refused *refusal, post bool) {
	shown := view{Name: l.config.Name, CSS: template.CSS(css)} //nolint:gosec // it is the file beside this one
	status := http.StatusOK
	switch {
	case refused != nil:
		status = statuses[refused.reason]
		shown.refused(refused)
	case post:
		shown.Heading, shown.Text = "Thank you", "Your answer was accepted."
	default:
		shown.ask(v, v.page)
	}
	var body bytes.Buffer
	if err := page.Execute(&body, &shown); err != nil {
		l.config.Logger.Error("link: page", "err", err)
		http.Error(w, "the page cannot be made", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin") // the address is a secret; the form's own origin must be known
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	if refused != nil {
		h.Set("Interlude-Reason", string(refused.reason))
	}
	// A browser that does not read its page must not hold the connection.
	c := http.NewResponseController(w)
	_ = c.SetWriteDeadline(time.Now().Add(pageTimeout)) // a recorder of a test has no connection
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body.Bytes()) // who has gone needs no page
	}
	_ = c.Flush()
	_ = c.SetWriteDeadline(time.Time{}) // the next request on this connection may be for another handler
}

// pageTimeout limits the time that a page may take on its way.
const pageTimeout = 10 * time.Second

// refused shows why there is no question.
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

// howSettled says in words how a question was settled. What was answered is not shown.
func howSettled(r *lifecycle.Record) string {
	switch {
	case r.Resolution == lifecycle.Abandoned:
		return "Its run has ended; nobody needs to answer."
	case r.Resolution == lifecycle.Superseded:
		return "Other answers were enough."
	case r.Resolution == lifecycle.AutoDecideTimeout:
		return "Nobody answered in time, so it was decided automatically."
	case r.Resolution == lifecycle.DefaultAnswer:
		return "Nobody answered in time, so the default answer counts."
	case r.Decision == lifecycle.Approve, r.Decision == lifecycle.Edit:
		return "It was approved."
	case r.Decision == lifecycle.Reject:
		return "It was rejected."
	}
	return "It was answered."
}

// ask shows the question with its controls.
func (s *view) ask(v *visit, full string) {
	q := &v.question
	s.Heading, s.Question, s.Full, s.Ends = texts[""][0], q, full, momentOf(q.EndsAt)
	s.Person = v.person
	s.Approval, s.Several = q.Subject != nil, q.DecidedBySeveral()
	s.Respond = s.Approval && !s.Several
	s.Writable = len(q.Schema) == 0 || q.AlsoText || s.Approval
	s.Approved = q.Count(lifecycle.Approve)
	switch {
	case s.Approval:
		s.Risk = q.Subject.Risk != ""
		s.Arguments = interaction.VisibleJSON(q.Subject.Arguments, "  ")
	case s.Writable:
		yes := accepting(q.Options)
		s.Risk = q.Kind == lifecycle.RiskAck && len(q.Options) > 0
		for i, o := range choices(q) {
			label, value := o.Shown()
			if len(q.Options) == 0 { // the labels are ours
				value = ""
			}
			s.Choices = append(s.Choices, choice{label, value, yes >= 0 && i != yes})
		}
	}
}

// accepting returns the index of the option whose value agrees; -1 if it is not exactly one. A label
// never decides.
func accepting(options []lifecycle.Option) int {
	yes := -1
	for i, o := range options {
		switch strings.ToLower(strings.TrimSpace(o.Value)) {
		case "yes", "true", "accept":
			if yes >= 0 {
				return -1
			}
			yes = i
		}
	}
	return yes
}
