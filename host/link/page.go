package link

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/interlude-go/interlude/host/render"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var css string

// pages names invisible characters in untrusted text: exact is for names, values and ids.
var pages = template.Must(template.New("page").Funcs(template.FuncMap{"exact": interaction.Visible,
	"prose": interaction.VisibleProse}).Parse(pageSource))

// policyOf forbids all loading and scripts. The page's only style is allowed by its hash.
func policyOf(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// colors returns the rules that replace the colors of page.css.
func colors(b *render.Brand) (rules string) {
	light, dark := b.Palettes()
	if light.Accent != "" {
		rules = "@media (prefers-color-scheme: light) { :root { --act: " + light.Accent + "; } }\n"
	}
	if dark.Accent != "" {
		rules += "@media (prefers-color-scheme: dark) { :root { --act: " + dark.Accent + "; } }\n"
	}
	return rules
}

// writeLogo sends the host's logo, which is no secret. Scripts in an SVG are not run.
func (l *Links) writeLogo(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", l.config.Brand.LogoType())
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, max-age=3600")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	c := http.NewResponseController(w)
	_ = c.SetWriteDeadline(time.Now().Add(pageTimeout)) // fails in tests with a recorder
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(l.config.Brand.Logo))
	_ = c.Flush()
	_ = c.SetWriteDeadline(time.Time{})
}

type view struct {
	T   *words
	now time.Time

	Name, Heading, Text string
	Reason              Reason
	CSS                 template.CSS
	Logo                bool

	Question  *lifecycle.Question // nil: no question is shown
	Prompt    string              // empty if the heading says all of it
	Person    string              // the person who answers
	For       string              // the absent person whose deputy answers, or empty
	Arguments *excerpt
	Changes   []difference
	Choices   []choice
	Approval  bool
	Several   bool
	Respond   bool // an approval accepts a text instead of a decision
	Risk      bool // answers that accept a risk need a checked box
	Writable  bool // free text is accepted
	Form      *form
	Review    *review
	Full      string
	Ends      *moment
	Approved  int
	Files     []shownFile
	Notes     []shownNote

	Who  string // who settled, voted on or claimed it, or the audience
	How  string
	When *moment
}

// shownNote is a note on the question.
type shownNote struct {
	lifecycle.Note

	When *moment
}

// choice is an option as displayed (lifecycle.Option.Shown). Refuses marks an answer that accepts
// no risk.
type choice struct {
	Label, Value string
	Refuses      bool
}

func (l *Links) write(w http.ResponseWriter, r *http.Request, v *visit, refused *refusal, post bool) {
	shown := view{T: wordsFor(r), now: l.now(), Name: l.config.Name, Logo: len(l.config.Brand.Logo) > 0,
		CSS: template.CSS(l.style)} //nolint:gosec // the embedded file and checked colors
	status := http.StatusOK
	switch {
	case refused == nil && v.form == nil && post:
		shown.Heading, shown.Text = shown.T.Thanks[0], shown.T.Thanks[1]
	case v != nil && v.form != nil:
		shown.ask(v, v.page)
		shown.Files = l.preview(r.Context(), v, shown.T)
		shown.edit(v, refused)
		if refused != nil {
			status = statuses[refused.reason]
		}
	case refused != nil:
		status = statuses[refused.reason]
		shown.refused(refused)
	default:
		shown.ask(v, v.page)
		shown.Files = l.preview(r.Context(), v, shown.T)
	}
	var body bytes.Buffer
	if err := pages.Execute(&body, &shown); err != nil {
		l.config.Logger.Error("link: page", "err", err)
		http.Error(w, "the page could not be rendered; try again later", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", l.policy)
	if len(shown.Files) > 0 || shown.Logo {
		h.Set("Content-Security-Policy", l.policy+"; img-src 'self'")
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
	s.Reason, s.Heading, s.Text = r.reason, s.T.Reasons[r.reason][0], s.T.Reasons[r.reason][1]
	switch {
	case r.record != nil:
		s.Who, s.How, s.When = r.record.Actor, s.T.howSettled(r.record), s.T.moment(r.record.ResolvedAt, s.now)
	case r.reason == Claimed && r.question != nil && r.question.Claim != nil:
		s.Who, s.When = r.question.Claim.Actor, s.T.moment(r.question.Claim.Until, s.now)
	case r.reason == Reassigned:
		s.Who = r.audience.String()
	}
}

// howSettled describes how a question was settled, without the answer.
func (w *words) howSettled(r *lifecycle.Record) string {
	switch {
	case r.Resolution == lifecycle.Abandoned:
		return w.Abandoned
	case r.Resolution == lifecycle.Superseded:
		return w.Superseded
	case r.Resolution == lifecycle.AutoDecideTimeout:
		return w.Automatic
	case r.Resolution == lifecycle.DefaultAnswer:
		return w.Default
	case r.Decision == lifecycle.Approve, r.Decision == lifecycle.Edit:
		return w.Approved
	case r.Decision == lifecycle.Reject:
		return w.Rejected
	}
	return w.Replied
}

func (s *view) ask(v *visit, full string) {
	q := &v.question
	s.Question, s.Prompt, s.Full, s.Ends = q, q.Prompt, full, s.T.moment(q.EndsAt, s.now)
	heading, whole := headingOf(q)
	if s.Heading = cmp.Or(heading, s.T.Reasons[""][0]); whole {
		s.Prompt = ""
	}
	s.Person, s.For = v.person, v.actor.For
	for _, n := range q.Notes.All() {
		s.Notes = append(s.Notes, shownNote{n, s.T.moment(n.NotedAt, s.now)})
	}
	s.Approval, s.Several = q.Subject != nil, q.DecidedBySeveral()
	s.Respond = s.Approval && !s.Several
	s.Writable = !q.Only && (len(q.Schema) == 0 || q.AlsoText || s.Approval)
	s.Form = formOf(q, argumentsOf(q), s.T)
	s.Approved = q.Count(lifecycle.Approve)
	switch {
	case s.Approval:
		s.Risk = q.Subject.Risk != ""
		if len(q.Subject.Arguments) > 0 {
			e := s.Excerpt(interaction.VisibleJSON(q.Subject.Arguments, "  "))
			e.Label, s.Arguments = s.T.Arguments, &e
		}
		s.Changes = s.changes(q.Subject.Changes)
	case s.Writable || q.Only:
		yes := q.YesOption()
		s.Risk = q.Kind == lifecycle.RiskAck && len(q.Options) > 0
		for i, o := range choices(q, s.T) {
			label, value := o.Shown()
			if len(q.Options) == 0 { // the labels are this package's
				value = ""
			}
			s.Choices = append(s.Choices, choice{label, value, yes >= 0 && i != yes})
		}
	}
}

// maxHeading bounds the question in the page's heading and title, in bytes.
const maxHeading = 200

// headingOf returns the question as one line of text: the first line of its prompt, or the title or
// summary of a call if that line is missing or too long. whole reports whether the line is the entire
// prompt.
func headingOf(q *lifecycle.Question) (heading string, whole bool) {
	heading = firstLine(q.Prompt)
	whole = heading == strings.TrimSpace(q.Prompt) && len(heading) <= maxHeading
	if s := q.Subject; s != nil && (heading == "" || len(heading) > maxHeading) {
		heading, _, _ = strings.Cut(cmp.Or(s.Title, s.Summary, heading), "\n")
	}
	if len(heading) > maxHeading {
		heading = heading[:interaction.Break(heading, maxHeading)] + " …"
	}
	return interaction.VisibleProse(heading), whole
}

// firstLine returns the first line of a text in Markdown without its marks. It is empty if the text
// begins with a list, a table or other block.
func firstLine(source string) string {
	blocks := render.Markdown(source)
	if len(blocks) == 0 || blocks[0].Kind != render.Paragraph && blocks[0].Kind != render.Heading &&
		blocks[0].Kind != render.Source {
		return ""
	}
	line, _, _ := strings.Cut(plain(blocks[:1]), "\n")
	return strings.TrimSpace(line)
}

// plain returns the text of elements without their form.
func plain(all []render.Element) string {
	var b strings.Builder
	for i := range all {
		if all[i].Kind == render.Break {
			b.WriteByte('\n')
		}
		b.WriteString(all[i].Text + plain(all[i].Children))
	}
	return b.String()
}

// edit shows a form with what the person has typed, or the review of edited arguments.
func (s *view) edit(v *visit, refused *refusal) {
	v.form.Open = true
	s.Form, s.Prompt = v.form, v.question.Prompt
	switch {
	case v.reviewed != nil:
		before := interaction.VisibleJSON(argumentsOf(&v.question), "  ")
		after := interaction.VisibleJSON(v.reviewed, "  ")
		s.Heading, s.Changes = s.T.ReviewEdit, nil // the changes are the proposal's
		s.Review = &review{string(v.reviewed), s.Excerpt(after), s.difference(before+"\n", after+"\n")}
	case refused != nil:
		s.Reason, s.Heading = refused.reason, s.T.Reasons[refused.reason][0]
	}
}
