package rehearsal

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// line is an event, and how long after the run's creation it came.
type line struct {
	after time.Duration
	event string
}

func (l line) String() string { return fmt.Sprintf("%s %s", l.after, l.event) }

func parseStory(text string) (story []line, err error) {
	for row := range strings.Lines(text) {
		words := strings.Fields(row)
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("story: %q: want a time and the type of an event", strings.TrimSpace(row))
		}
		after, err := time.ParseDuration(words[0])
		if err != nil {
			return nil, fmt.Errorf("story: %w", err)
		}
		story = append(story, line{after, words[1]})
	}
	return story, nil
}

// recovery is the allowed delay after a crash: the interrupted turn is repeated after a pause.
const recovery = 5 * time.Minute

// checkStory compares the story with the events of a run created at that time. They may be late by
// up to late.
func checkStory(story string, created time.Time, late time.Duration, events iter.Seq2[lifecycle.Event, error]) error {
	want, err := parseStory(story)
	if err != nil || want == nil {
		return err
	}
	var got []line
	for e, err := range events {
		if err != nil {
			return err
		}
		if slices.ContainsFunc(want, func(l line) bool { return l.event == e.Type }) {
			got = append(got, line{e.TS.Sub(created).Truncate(time.Second), e.Type})
		}
	}
	fits := func(g, w line) bool { return g.event == w.event && g.after >= w.after && g.after <= w.after+late }
	if !slices.EqualFunc(got, want, fits) {
		return fmt.Errorf("the story is\n%sand should be\n%s", page(got), page(want))
	}
	return nil
}

func page(story []line) string {
	var text strings.Builder
	for _, l := range story {
		fmt.Fprintf(&text, "\t%s\n", l)
	}
	return text.String()
}
