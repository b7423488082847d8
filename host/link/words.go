package link

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// words are the texts of the page in one language.
type words struct {
	Language string
	Months   [12]string
	Date     string // a layout of package time, in which MONTH is the month's name
	Ahead    string // how long until a moment, with NUMBER and UNIT
	Ago      string // how long since a moment
	// Units are minutes, hours and days: one, and several.
	Units   [3][2]string
	Reasons map[Reason][2]string
	// Thanks are the heading and the sentence after an answer.
	Thanks  [2]string
	Changes map[lifecycle.ChangeKind]string

	Yes, No, AcceptRisk                                                        string
	Abandoned, Superseded, Automatic, Default, Approved, Rejected, Replied     string // how a question was settled
	ClaimedBy, Until, AudienceNow, By, Notes, Host                             string
	EqualLines, NoLineBreak, ShowAll                                           string
	Differences, OneText, TwoTexts, Before, After                              string
	Arguments, Bytes, OnlyBeginning, FileMissing, FileChanged, FileUnavailable string
	Of, HaveApproved, YouAnswerAs, For, EndsOn                                 string
	Note, OrInstructions, RiskRead, Approve, Reject, TextOnly                  string
	OwnWords, YourAnswer, PleaseInclude, Send, FullPage                        string
	EditArguments, Review, ReviewEdit, Edited, ApproveEdited, Back, Discard    string
	Include, ArgumentsJSON, AnswerJSON, Schema, AsJSON, AsFields               string
	NotJSON, NotNumber, Missing, FaultsBelow, NothingChanged                   string
}

var english = words{
	Language: "en",
	Months: [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September",
		"October", "November", "December"},
	Date: "2 MONTH 2006, 15:04 UTC", Ahead: "in NUMBER UNIT", Ago: "NUMBER UNIT ago",
	Units: [3][2]string{{"minute", "minutes"}, {"hour", "hours"}, {"day", "days"}},
	Reasons: map[Reason][2]string{
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
	},
	Thanks: [2]string{"Thank you", "Your answer was accepted."},
	Yes:    "Yes", No: "No", AcceptRisk: "I accept the risk",
	Abandoned:  "Its run has ended; no answer is needed.",
	Superseded: "Other answers were sufficient.",
	Automatic:  "There was no answer in time, so it was decided automatically.",
	Default:    "There was no answer in time, so the default answer counts.",
	Approved:   "It was approved.", Rejected: "It was rejected.", Replied: "It was answered.",
	ClaimedBy: "Claimed by", Until: "until", AudienceNow: "Audience now:", By: "By",
	Notes: "Notes", Host: "the host",
	Changes: map[lifecycle.ChangeKind]string{lifecycle.ChangeCreate: "Creates", lifecycle.ChangeEdit: "Edits",
		lifecycle.ChangeDelete: "Deletes"},
	EqualLines: "equal lines", NoLineBreak: "(no line break at the end)", ShowAll: "Show all lines",
	Differences: "Show differences", OneText: "in one text", TwoTexts: "side by side", Before: "Before",
	After:     "After",
	Arguments: "Arguments", Bytes: "bytes",
	OnlyBeginning:   "Only the beginning is shown. Download the file to read all of it.",
	FileMissing:     "The file is missing here; it was attached on the machine",
	FileChanged:     "The file has changed since the question was asked.",
	FileUnavailable: "The file cannot be read now.",
	Of:              "of", HaveApproved: "people have approved.", YouAnswerAs: "You answer as", For: "for",
	EndsOn: "The question ends on",
	Note:   "Reason or note", OrInstructions: ", or instructions instead of a decision",
	RiskRead: "I have read this and accept the risk.", Approve: "Approve", Reject: "Reject",
	TextOnly: "Send the text only", OwnWords: "Or answer in your own words", YourAnswer: "Your answer",
	PleaseInclude: "Please include:", Send: "Send",
	FullPage:      "Open the full page",
	EditArguments: "Edit the arguments", Review: "Review the edit", ReviewEdit: "Please review your edit",
	Edited: "These arguments are executed:", ApproveEdited: "Approve the edited call", Back: "Back to the edit",
	Discard: "Discard the edit", Include: "Include",
	ArgumentsJSON: "Arguments, as JSON", AnswerJSON: "Your answer, as JSON", Schema: "Schema of the JSON",
	AsJSON: "Write it as JSON", AsFields: "Back to the fields",
	NotJSON: "This is not valid JSON:", NotNumber: "Please write a number, such as 12 or 3.5.",
	Missing:        "Please fill this in. Null and empty texts are written as JSON.",
	FaultsBelow:    "Please correct the marked fields.",
	NothingChanged: "Nothing is changed. Discard the edit to approve the call as it is.",
}

var german = words{
	Language: "de",
	Months: [12]string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
		"November", "Dezember"},
	Date: "2. MONTH 2006, 15:04 UTC", Ahead: "in NUMBER UNIT", Ago: "vor NUMBER UNIT",
	Units: [3][2]string{{"Minute", "Minuten"}, {"Stunde", "Stunden"}, {"Tag", "Tagen"}},
	Reasons: map[Reason][2]string{
		"": {"Bitte antworten Sie", ""},
		Damaged: {"Dieser Link ist unvollständig",
			"Die Adresse wurde abgeschnitten oder verändert. Kopieren Sie die ganze Adresse aus der Nachricht."},
		Invalid: {"Diese Antwort kann nicht angenommen werden", "Sie ist leer oder zu lang. Gehen Sie zurück, und " +
			"antworten Sie noch einmal."},
		Risk: {"Das Risiko ist nicht angenommen", "Ihre Antwort nimmt ein Risiko an, und das Kästchen dafür ist " +
			"nicht angekreuzt. Gehen Sie zurück, kreuzen Sie es an, und antworten Sie mit der Schaltfläche darunter."},
		Foreign: {"Dieser Link gilt nicht mehr", "Er wurde mit einem Schlüssel unterschrieben, der nicht mehr " +
			"verwendet wird. Bitten Sie um einen neuen Link."},
		WrongPerson: {"Dieser Link ist für eine andere Person", "Er wurde nicht an Sie geschickt."},
		Reassigned:  {"Die Frage wurde weitergegeben", "Nachdem Sie diesen Link bekamen, wurden andere gefragt."},
		NotAllowed:  {"Das dürfen Sie nicht", "Es wurde nichts geändert."},
		Gone:        {"Diese Frage gibt es nicht", "Sie wurde gelöscht oder nie gestellt."},
		Settled:     {"Diese Frage ist erledigt", ""},
		Voted:       {"Sie haben schon abgestimmt", "Ihre Stimme zählt und kann nicht geändert werden."},
		Claimed: {"Eine andere Person arbeitet an dieser Frage",
			"Sie können antworten, wenn die Reservierung endet. Dieser Link bleibt gültig."},
		Expired: {"Dieser Link ist abgelaufen", "Bitten Sie um einen neuen Link, oder antworten Sie auf der " +
			"vollständigen Seite."},
		Changed: {"Die Frage hat sich geändert", "Sie ist nicht mehr die Frage, für die dieser Link gemacht wurde. " +
			"Es wurde nichts beantwortet."},
		Unavailable: {"Der Dienst ist nicht verfügbar", "Versuchen Sie es später mit demselben Link noch einmal. " +
			"Ihre Antwort zählt nur einmal."},
	},
	Thanks: [2]string{"Vielen Dank", "Ihre Antwort wurde angenommen."},
	Yes:    "Ja", No: "Nein", AcceptRisk: "Ich nehme das Risiko an",
	Abandoned:  "Ihr Lauf ist beendet; es ist keine Antwort nötig.",
	Superseded: "Andere Antworten haben genügt.",
	Automatic:  "Es kam rechtzeitig keine Antwort, deshalb wurde automatisch entschieden.",
	Default:    "Es kam rechtzeitig keine Antwort, deshalb gilt die Vorgabe.",
	Approved:   "Sie wurde freigegeben.", Rejected: "Sie wurde abgelehnt.", Replied: "Sie wurde beantwortet.",
	ClaimedBy: "Reserviert von", Until: "bis", AudienceNow: "Jetzt gefragt:", By: "Von",
	Notes: "Notizen", Host: "das System",
	Changes: map[lifecycle.ChangeKind]string{lifecycle.ChangeCreate: "Legt an:", lifecycle.ChangeEdit: "Ändert",
		lifecycle.ChangeDelete: "Löscht"},
	EqualLines: "gleiche Zeilen", NoLineBreak: "(kein Zeilenumbruch am Ende)", ShowAll: "Alle Zeilen zeigen",
	Differences: "Unterschiede zeigen", OneText: "in einem Text", TwoTexts: "nebeneinander", Before: "Vorher",
	After:     "Nachher",
	Arguments: "Argumente", Bytes: "Byte",
	OnlyBeginning:   "Nur der Anfang ist zu sehen. Laden Sie die Datei herunter, um alles zu lesen.",
	FileMissing:     "Die Datei fehlt hier; sie wurde angehängt auf dem Rechner",
	FileChanged:     "Die Datei wurde geändert, nachdem die Frage gestellt war.",
	FileUnavailable: "Die Datei kann jetzt nicht gelesen werden.",
	Of:              "von", HaveApproved: "Personen haben zugestimmt.", YouAnswerAs: "Sie antworten als", For: "für",
	EndsOn: "Die Frage endet am",
	Note:   "Grund oder Bemerkung", OrInstructions: " oder Anweisungen statt einer Entscheidung",
	RiskRead: "Ich habe dies gelesen und nehme das Risiko an.", Approve: "Freigeben", Reject: "Ablehnen",
	TextOnly: "Nur den Text senden", OwnWords: "Oder antworten Sie in eigenen Worten", YourAnswer: "Ihre Antwort",
	PleaseInclude: "Bitte nennen Sie:", Send: "Senden",
	FullPage:      "Die vollständige Seite öffnen",
	EditArguments: "Argumente ändern", Review: "Änderung prüfen", ReviewEdit: "Bitte prüfen Sie Ihre Änderung",
	Edited: "Diese Argumente werden ausgeführt:", ApproveEdited: "Geänderten Aufruf freigeben",
	Back: "Zurück zur Änderung", Discard: "Änderung verwerfen", Include: "Angeben:",
	ArgumentsJSON: "Argumente als JSON", AnswerJSON: "Ihre Antwort als JSON", Schema: "Schema des JSON",
	AsJSON: "Als JSON schreiben", AsFields: "Zurück zu den Feldern",
	NotJSON: "Das ist kein gültiges JSON:", NotNumber: "Bitte schreiben Sie eine Zahl, etwa 12 oder 3.5.",
	Missing:        "Bitte füllen Sie dies aus. Null und leere Texte werden als JSON geschrieben.",
	FaultsBelow:    "Bitte berichtigen Sie die markierten Felder.",
	NothingChanged: "Es wurde nichts geändert. Verwerfen Sie die Änderung, um den Aufruf unverändert freizugeben.",
}

// wordsFor returns the words in the language that the browser prefers, or else in English.
func wordsFor(r *http.Request) *words {
	found, best := &english, 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, quality, _ := strings.Cut(part, ";")
		language, _, _ := strings.Cut(strings.TrimSpace(tag), "-")
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.TrimSpace(quality), "q="); ok {
			weight, _ = strconv.ParseFloat(q, 64)
		}
		for _, w := range []*words{&english, &german} {
			if strings.EqualFold(language, w.Language) && weight > best {
				found, best = w, weight
			}
		}
	}
	return found
}

type moment struct{ Machine, Text string }

// moment also says how far the moment is from now: the page has no script that could show the reader's
// time zone.
func (w *words) moment(t, now time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	text := strings.Replace(t.Format(w.Date), "MONTH", w.Months[t.Month()-1], 1)
	return &moment{t.Format(time.RFC3339), text + " (" + w.distance(t.Sub(now)) + ")"}
}

func (w *words) distance(d time.Duration) string {
	text := w.Ahead
	if d < 0 {
		text, d = w.Ago, -d
	}
	const day = 24 * time.Hour
	unit, length := 0, time.Minute
	switch {
	case d >= 2*day:
		unit, length = 2, day
	case d >= 2*time.Hour:
		unit, length = 1, time.Hour
	}
	n := max(int(d.Round(length)/length), 1)
	name := w.Units[unit][min(n, 2)-1]
	return strings.NewReplacer("NUMBER", strconv.Itoa(n), "UNIT", name).Replace(text)
}
